package traveltime

import (
	"math"
	"testing"
)

// The least phase velocity is that of a scan of all directions, and not above it.
func TestLeastSpeed(t *testing.T) {
	for epsilon := -0.3; epsilon < 0.61; epsilon += 0.05 {
		for delta := -0.3; delta < 0.61; delta += 0.05 {
			m, least := newTilted(2000, epsilon, delta, []float64{0, 1}), math.Inf(1)
			for k := range 20001 {
				c := math.Cos(math.Pi / 2 * float64(k) / 20000)
				least = min(least, 1/math.Sqrt(m.phaseAt(c*c)))
			}
			if got := LeastSpeed(2000, epsilon, delta); !(got <= least*(1+1e-15) && got > least*(1-1e-8)) {
				t.Errorf("ε %.2f, δ %.2f: %.9g m/s, a scan finds %.9g", epsilon, delta, got, least)
			}
		}
	}
	if got := LeastSpeed(1500, 0, 0); got != 1500 {
		t.Errorf("isotropic: %g m/s", got)
	}
}
