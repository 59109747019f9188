package traveltime

import "math"

// LeastSpeed is the least phase velocity, in m/s, in any direction of a medium with the
// velocity v0 along its symmetry axis and Thomsen's parameters ε and δ. No slope of a
// traveltime is steeper than 1 over it. With s the squared sine of the angle from the axis,
// w = (V/v0)² is the larger root of w² - (1 + 2εs) w + 2 (ε - δ) s (1 - s) = 0, and it is
// least on or normal to the axis, or where its derivative by s is zero.
func LeastSpeed(v0, epsilon, delta float64) float64 {
	least := min(1, 1+2*epsilon)
	a, b, c := 4*(epsilon-delta)+2*epsilon*epsilon, 2*delta-epsilon, -delta // a s² + 2 b s + c = 0
	q := -(b + math.Copysign(math.Sqrt(max(0, b*b-a*c)), b))
	for _, s := range []float64{q / a, c / q} {
		if s > 0 && s < 1 {
			linear := 1 + 2*epsilon*s
			w := (linear + math.Sqrt(max(0, linear*linear-8*(epsilon-delta)*s*(1-s)))) / 2
			least = min(least, w*(1-1e-12)) // s is rounded
		}
	}
	return v0 * math.Sqrt(max(0, least))
}
