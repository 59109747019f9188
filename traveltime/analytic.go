package traveltime

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// NewAnalytic returns the method for a constant velocity v, in m/s, on the grid g:
// T = |x - x_s| / v and ∇T = (x - x_s) / (v |x - x_s|), in float64 without further
// approximation. Positions may lie anywhere, outside the grid too. At the position itself
// the gradient, which has no direction there, is the zero vector.
func NewAnalytic(v float64, g grid.Grid) (Method, error) {
	if !(v > 0) || math.IsInf(v, 0) {
		return nil, fmt.Errorf("traveltime: constant velocity is %g m/s, must be positive", v)
	}
	if err := g.Validate(); err != nil {
		return nil, fmt.Errorf("traveltime: image: %w", err)
	}
	return &placewise{name: "analytic", g: g, velocity: v, fill: func(f *Field, r *room, p *survey.Positions, place int) error {
		straightField(*f, g, v, p.At(place))
		if f.Spreading != nil {
			f.spread(r.opt.Spreading, nil, f.Window, g, p.At(place))
		}
		if f.Takeoff != nil {
			f.leave(nil, f.Window, g, p.At(place))
		}
		return nil
	}}, nil
}

// straightField sets the field of a position for a constant velocity on a window of g.
func straightField(f Field, g grid.Grid, velocity float64, at []float64) {
	dim, n := g.Dim(), g.Shape[g.Dim()-1]
	var x, d [3]float64
	deep := make([]float64, n) // along the last axis
	for k := range deep {
		deep[k] = g.Coord(dim-1, k) - at[dim-1]
	}
	row := 0
	for first := range f.Window.Columns(g) {
		g.Point(x[:dim], first)
		outer := 0.0
		for a := range dim - 1 {
			d[a] = x[a] - at[a]
			outer += d[a] * d[a]
		}
		for k, t := range deep {
			r := math.Sqrt(outer + t*t)
			f.Time[row+k] = r / velocity
			d[dim-1] = t
			for a := range f.Gradient {
				if r == 0 {
					f.Gradient[a][row+k] = 0
				} else {
					f.Gradient[a][row+k] = d[a] / (r * velocity)
				}
			}
		}
		row += n
	}
}
