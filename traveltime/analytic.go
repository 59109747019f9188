package traveltime

import (
	"context"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Analytic is the method for a constant velocity v: T = |x - x_s| / v and
// ∇T = (x - x_s) / (v |x - x_s|), in float64 without further approximation.
// Positions may lie anywhere, outside the grid too. At the position itself the
// gradient, which has no direction there, is the zero vector.
type Analytic struct {
	placewise
	velocity float64
}

// NewAnalytic returns the method for the velocity, in m/s, on the grid g.
func NewAnalytic(velocity float64, g grid.Grid) (*Analytic, error) {
	if !(velocity > 0) || math.IsInf(velocity, 0) {
		return nil, fmt.Errorf("traveltime: constant velocity is %g m/s, must be positive", velocity)
	}
	if err := g.Validate(); err != nil {
		return nil, fmt.Errorf("traveltime: image: %w", err)
	}
	return &Analytic{placewise{"analytic", g}, velocity}, nil
}

// Solve implements Method.
func (m *Analytic) Solve(ctx context.Context, p *survey.Positions, places []int, opt Options, sink func(place int, f Field) error) error {
	return m.each(ctx, p, places, opt, func(r *room, place int) error {
		m.fill(r.out, p.At(place))
		return nil
	}, sink)
}

func (m *Analytic) fill(f Field, at []float64) {
	dim, n := m.g.Dim(), m.g.Shape[m.g.Dim()-1]
	var x, d [3]float64
	for row := 0; row < len(f.Time); row += n {
		m.g.Point(x[:dim], row)
		outer := 0.0
		for a := range dim - 1 {
			d[a] = x[a] - at[a]
			outer += d[a] * d[a]
		}
		for k := range n {
			d[dim-1] = m.g.Coord(dim-1, k) - at[dim-1]
			r := math.Sqrt(outer + d[dim-1]*d[dim-1])
			f.Time[row+k] = r / m.velocity
			for a := range f.Gradient {
				if r == 0 {
					f.Gradient[a][row+k] = 0
				} else {
					f.Gradient[a][row+k] = d[a] / (r * m.velocity)
				}
			}
		}
	}
}
