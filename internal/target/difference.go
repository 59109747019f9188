package target

import (
	"context"
)

// Difference is what H of two surveys says of x_m − x_b at each point of a window, apart from all
// data. Rank 0 alone has it.
type Difference struct {
	// Resolution is the share of a change of the point that the difference keeps. Monitor is
	// that of the monitor's own image, as Posterior.Resolution is of the baseline's.
	Resolution, Monitor []float64
	// Variance and Noise are as in Posterior: eᵀH⁻¹e and eᵀH⁻¹(H − B)H⁻¹e, e = 1 at the point in
	// the monitor's image and −1 in the baseline's.
	Variance, Noise []float64
}

// difference finds it for some rows of the baseline. done is called with the number of rows of
// each batch. It is collective.
func (s *system) difference(ctx context.Context, at []int, done func(rows int)) (*Difference, error) {
	n, later := len(at), s.box.Len() // from a row of the baseline to the monitor's
	d := &Difference{make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)}
	for first := 0; first < n; first += batch {
		part := at[first:min(first+batch, n)]
		x, err := s.solve(ctx, len(part), func(i, j int) float64 {
			switch i {
			case part[j]:
				return -1
			case part[j] + later:
				return 1
			}
			return 0
		})
		if err != nil {
			return nil, err
		}
		y, err := s.solve(ctx, len(part), func(i, j int) float64 { return s.b.at(i, part[j]+later) })
		if err != nil {
			return nil, err
		}
		for j := range x { // on rank 0
			k, b, m := first+j, part[j], part[j]+later
			scale := s.scale[b] * s.scale[b]
			d.Resolution[k] = 1 - (y[j][m] - y[j][b])
			d.Monitor[k] = 1 - y[j][m]
			d.Variance[k] = scale * (x[j][m] - x[j][b])
			d.Noise[k] = max(0, d.Variance[k]-scale*s.b.form(x[j]))
		}
		done(len(part))
	}
	if s.grid.World.Rank() != 0 {
		return nil, nil
	}
	return d, nil
}
