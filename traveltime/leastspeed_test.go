package traveltime

import (
	"math"
	"testing"
)

// The least velocity is that of a scan through all directions, or a little less.
func TestLeastSpeedIsThatOfAScan(t *testing.T) {
	for epsilon := -0.4; epsilon <= 1; epsilon += 0.05 {
		for delta := -0.4; delta <= 1; delta += 0.05 {
			const v0 = 2500
			h, n := 1+2*epsilon, 1+2*delta
			scan := math.Inf(1)
			for i := range 2001 {
				s := float64(i) / 2000 // sin²
				b := h*s + 1 - s
				scan = min(scan, v0*math.Sqrt(0.5*(b+math.Sqrt(max(0, b*b-4*(h-n)*s*(1-s))))))
			}
			if v := LeastSpeed(v0, epsilon, delta); v > scan*(1+1e-12) || v < scan*(1-1e-5) {
				t.Errorf("epsilon %.2f, delta %.2f: %g m/s, a scan finds %g", epsilon, delta, v, scan)
			}
		}
	}
}
