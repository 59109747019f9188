package traveltime

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/grid"
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
	return &placewise{name: "analytic", g: g, velocity: v, fill: func(b *Branch, w Window, r *room, place int) error {
		at := r.p.At(place)
		straightField(b, w, g, v, at)
		b.spread(w, r.opt.Spreading, nil, w, g, at)
		b.leave(w, nil, w, g, at)
		return nil
	}}, nil
}

// straightField sets times and gradients of a position for a constant velocity on a window of g.
func straightField(b *Branch, w Window, g grid.Grid, velocity float64, at []float64) {
	dim, n := g.Dim(), g.Shape[g.Dim()-1]
	var x, d [3]float64
	deep := make([]float64, n) // along the last axis
	for k := range deep {
		deep[k] = g.Coord(dim-1, k) - at[dim-1]
	}
	row := 0
	for first := range w.Columns(g) {
		g.Point(x[:dim], first)
		outer := 0.0
		for a := range dim - 1 {
			d[a] = x[a] - at[a]
			outer += d[a] * d[a]
		}
		for k, t := range deep {
			r := math.Sqrt(outer + t*t)
			b.Time[row+k] = r / velocity
			d[dim-1] = t
			for a := range b.Gradient {
				if r == 0 {
					b.Gradient[a][row+k] = 0
				} else {
					b.Gradient[a][row+k] = d[a] / (r * velocity)
				}
			}
		}
		row += n
	}
}
