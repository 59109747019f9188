package traveltime

import "math"

// LeastSpeed returns the least phase velocity, in m/s, of acoustic qP waves in any direction
// of a transversely isotropic medium: v0 along the axis, epsilon and delta of Thomsen.
//
// With a = v_h², b = v0², n = v_n² and x = sin²φ the squared velocity λ is the larger root of
// λ² − λ (b + (a − b) x) + b (a − n) x (1 − x) = 0 (Alkhalifah 2000, An acoustic wave equation
// for anisotropic media, Geophysics 65). Its least value lies at an end, x = 0 or 1, or where x
// is a double root for the same λ.
func LeastSpeed(v0, epsilon, delta float64) float64 {
	a, n := 1+2*epsilon, 1+2*delta // in units of b
	least := min(1, a)
	if a > n {
		inner := (a - n) / (a + 1 - 2*math.Sqrt(n))
		if x := 0.5 * (1 - inner*(a-1)/(a-n)); x > 0 && x < 1 {
			least = min(least, inner)
		}
	}
	return v0 * math.Sqrt(least)
}
