package traveltime

import (
	"context"
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Coarse tables of a smooth model differ little from the full ones: sources on
// and off the nodes, on grids that the factor divides and on others.
func TestCoarseIsCloseToFull(t *testing.T) {
	for _, shape := range [][]int{{81, 61}, {82, 60}, {25, 22, 27}} {
		dim := len(shape)
		g := grid.Grid{Origin: make([]float64, dim), Spacing: make([]float64, dim), Shape: shape}
		for a := range dim {
			g.Spacing[a] = 10
		}
		v := make([]float64, g.Len())
		x := make([]float64, dim)
		for i := range v {
			g.Point(x, i)
			v[i] = 1500 + 0.6*x[dim-1] + 100*math.Sin(x[0]/150)
		}
		m, err := NewEikonal(v, g, g)
		if err != nil {
			t.Fatal(err)
		}
		s := &survey.Survey{Dim: dim, Fixed: true}
		for _, at := range [][]float64{{0, 0}, {100, 0}, {103.7, 4}, {95, 55}} {
			p := make([]float64, dim)
			p[0], p[dim-1] = at[0], at[1]
			if dim == 3 {
				p[1] = 71
			}
			s.Sources = append(s.Sources, p...)
		}
		s.Receivers = s.Sources[:dim]
		p := s.Distinct(true)
		full := Solved(t, m, p, Options{Gradient: true})
		for factor, limit := range map[int]float64{1: 1e-6, 2: 3e-5, 3: 3e-4} {
			c, err := NewCoarse(context.Background(), m, p, factor, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for place, f := range Solved(t, c, p, Options{Gradient: true}) {
				worst, slope := 0.0, 0.0
				for i := range f.Time {
					worst = math.Max(worst, math.Abs(f.Time[i]-full[place].Time[i]))
					g.Point(x, i)
					near := 0.0
					for a, at := range p.At(place) {
						near += (x[a] - at) * (x[a] - at)
					}
					if near < 900 {
						continue
					}
					for a := range f.Gradient {
						slope = math.Max(slope, math.Abs(f.Gradient[a][i]-full[place].Gradient[a][i])*v[i])
					}
				}
				if worst > limit {
					t.Errorf("%v, factor %d, place %d: times differ by up to %.2g s, want at most %.0g", shape, factor, place, worst, limit)
				}
				if slope > 0.03*float64(factor) {
					t.Errorf("%v, factor %d, place %d: directions differ by up to %.2g", shape, factor, place, slope)
				}
			}
			if got, want := c.Bytes(), int64(4*len(c.tau)); got != want {
				t.Errorf("%v, factor %d: %d bytes estimated, %d kept", shape, factor, got, want)
			}
		}
		if _, err := NewCoarse(context.Background(), m, p, 0, Options{}); err == nil {
			t.Error("factor 0 was accepted")
		}
	}
}
