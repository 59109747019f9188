package butterfly

import (
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
		truth := *p
		truth.Finer = 16
		wantD, wantM, _ := both(t, &truth, 3)
		for _, tolerance := range []float64{1e-2, 1e-3} {
			q := *p
			share := factorise(t, &q, tolerance)
			d, m, dot := both(t, &q, 3)
			e := max(off(d, wantD), off(m, wantM))
			t.Logf("%s, aperture %g m, tolerance %g: %.0f %% factorised, off by %.1e, dot test %.1e", medium.name, c.aperture, tolerance, 100*share, e, dot)
			if !(e <= tolerance) || !(dot <= 1e-6) || tolerance == 1e-2 && share < c.least {
				t.Errorf("%s, aperture %g m, tolerance %g: %.2f factorised, off by %.2e, dot test %.2e", medium.name, c.aperture, tolerance, share, e, dot)
			}
		}
	}
}
