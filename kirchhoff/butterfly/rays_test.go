package butterfly

import (
	"fmt"
	"testing"
)

// TestDynamic: with dynamic weights parts are within the tolerance, also over the taper of an aperture and
// where the medium is not smooth, and the directions are adjoint.
func TestDynamic(t *testing.T) {
	for _, c := range []struct {
		medium   int
		aperture float64
		least    float64 // that is factorised at 1e-2
	}{{0, 0, 0.9}, {0, 250, 0.9}, {2, 0, 0}} {
		medium := media[c.medium]
		p := over(t, medium.at)
		p.Dynamic, p.Velocity = true, medium.at(p.Grid)
		if c.aperture > 0 {
			p.Aperture, p.ApertureTaper = []float64{c.aperture, c.aperture}, []float64{60, 60}
		}
		want, name := truthOf(t, p), fmt.Sprintf("%s, aperture %g m", medium.name, c.aperture)
		want.holds(t, name, 1e-2, c.least, 1)
		want.holds(t, name, 1e-3, 0, 1)
	}
}
