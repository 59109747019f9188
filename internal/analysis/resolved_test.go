package analysis

import (
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Knots are no finer than the stations of a line of low fold, nor than its Fresnel zone.
func TestKnotsAreResolved(t *testing.T) {
	t.Parallel()
	s := &survey.Survey{Dim: 2, NT: 500, DT: 0.004, Sources: []float64{0, 0}, Wavelet: survey.Wavelet{DT: 0.004}}
	for i := range 101 { // a Ricker wavelet of 25 Hz
		a := math.Pow(math.Pi*25*float64(i-50)*s.DT, 2)
		s.Wavelet.Samples = append(s.Wavelet.Samples, (1-2*a)*math.Exp(-a))
	}
	for i := range 33 {
		s.Receivers = append(s.Receivers, 67*float64(i), 0)
	}
	for _, c := range []struct {
		domain  grid.Domain
		z, want float64 // m or s; m
	}{{grid.Depth, 1000, 200}, {grid.Time, 1, 200}, {grid.Depth, 50, 67}} {
		g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{401, 201}, Domain: c.domain}
		if c.domain == grid.Time {
			g.Spacing[1] = 0.01
		}
		r := resolved(s, []moveout.Pick{{Z: c.z}, {Z: c.z}, {Z: c.z}}, g, []float64{2000, 2000, 2000})
		if math.Abs(r.Along()-c.want) > 0.03*c.want {
			t.Errorf("%v, picks at %g: resolved %g m (%+v), want %g", c.domain, c.z, r.Along(), r, c.want)
		}
		// A 48th of the line, 83 m, where that is coarser.
		if got, want := defaultKnots(g, r.Along())[0], max(r.Along(), 4000./48); got != want {
			t.Errorf("knots %g m apart, want %g", got, want)
		}
	}
}
