package butterfly

import (
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// TestWays: parts are factorised where anti-aliasing smooths all their traces alike and limits of angles
// leave all alone, within the tolerance, and the directions are adjoint.
func TestWays(t *testing.T) {
	const tolerance = 1e-2
	for _, c := range []struct {
		name        string
		with        func(p *kirchhoff.Problem)
		least, most float64 // that is factorised
	}{
		{"one band", func(p *kirchhoff.Problem) { p.Antialias = []float64{10, 10} }, 0.9, 1},
		{"many bands", func(p *kirchhoff.Problem) { p.Antialias = []float64{40, 40} }, 0, 0.9},
		{"band of a triangle", func(p *kirchhoff.Problem) {
			r := rand.New(rand.NewPCG(1, 2))
			s := survey.Survey{Dim: 3, Fixed: true, Sources: lattice(r, -900, 80, 6, 6, 25, 25), Receivers: lattice(r, -890, 70, 6, 6, 25, 25)}
			p.Antialias, p.Positions, p.NT = []float64{25, 25}, s.Distinct(true), 450
			p.Times, _ = traveltime.NewAnalytic(1800, p.Grid)
		}, 0.3, 1},
		{"dip limit beyond", func(p *kirchhoff.Problem) { p.DipLimit = []float64{85, 95} }, 0.9, 1},
		{"dip limit within", func(p *kirchhoff.Problem) { p.DipLimit = []float64{30, 50} }, 0, 0.9},
		{"opening", func(p *kirchhoff.Problem) { p.Opening = kirchhoff.Window{Fall0: 110, Fall1: 120} }, 0.5, 1},
		{"all, dynamic", func(p *kirchhoff.Problem) {
			p.Antialias, p.DipLimit, p.Opening = []float64{10, 10}, []float64{85, 95}, kirchhoff.Window{Fall0: 110, Fall1: 120}
			p.Dynamic, p.Velocity = true, media[0].at(p.Grid)
		}, 0.5, 1},
	} {
		p := over(t, media[0].at)
		p.Slowest = 1800
		c.with(p)
		truthOf(t, p).holds(t, c.name, tolerance, c.least, c.most)
	}
}
