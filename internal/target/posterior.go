package target

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
)

// Posterior is the information that H gives about each point of a window, apart from all data. Only rank 0 has it.
type Posterior struct {
	// Resolution is the diagonal of R = H⁻¹(H − λ²): the share of a point's
	// own value that the solution keeps.
	Resolution []float64
	// Width is, along each axis, how wide the solution smears a point, in the units of the
	// grid: √(h² + 12 Σ p²(x − x₀)² / Σ p²), p the column of R of the point at x₀ and h the
	// distance of points. The width of a box is its length, the width of a perfect point h.
	Width [][]float64
	// Variance is the diagonal of H⁻¹, Noise that of H⁻¹(H − λ²)H⁻¹. Times σ², the variance of
	// the noise in a weighted sample, they are the variance of the image given the data where
	// the damping is the knowledge before, and the part of it that the noise makes.
	Variance, Noise []float64
}

// batch is how many points are solved for at once.
const batch = 256

// posterior finds it for some rows of H. done is called with the number of rows of each batch.
// It is collective.
func (s *system) posterior(ctx context.Context, at []int, done func(rows int)) (*Posterior, error) {
	n := len(at)
	p := &Posterior{Resolution: make([]float64, n), Variance: make([]float64, n), Noise: make([]float64, n)}
	for range s.box.Dim() {
		p.Width = append(p.Width, make([]float64, n))
	}
	for first := 0; first < n; first += batch {
		part := at[first:min(first+batch, n)]
		x, err := s.solve(ctx, len(part), func(i, j int) float64 {
			if i == part[j] {
				return 1
			}
			return 0
		})
		if err != nil {
			return nil, err
		}
		for j := range x { // on rank 0
			s.take(p, first+j, part[j], x[j])
		}
		done(len(part))
	}
	if s.grid.World.Rank() != 0 {
		return nil, nil
	}
	for k, point := range at { // of the image S x
		p.Variance[k] *= s.scale[point] * s.scale[point]
		p.Noise[k] *= s.scale[point] * s.scale[point]
	}
	return p, nil
}

// take sets element k of p, the point of a row, from a column x of H⁻¹.
func (s *system) take(p *Posterior, k, row int, x []float64) {
	spread := make([]float64, len(x))
	floats.AddScaled(spread, -s.square, x)
	spread[row]++
	p.Resolution[k] = spread[row]
	p.Variance[k] = x[row]
	p.Noise[k] = max(0, x[row]-s.square*floats.Dot(x, x))
	for a, w := range s.widths(spread, row) {
		p.Width[a][k] = w
	}
}

// widths returns the widths of a point-spread function, by row, around the point of a row.
func (s *points) widths(p []float64, centre int) []float64 {
	g := s.box
	at, middle := make([]float64, g.Dim()), make([]float64, g.Dim())
	g.Point(middle, s.at[centre])
	out, total := make([]float64, g.Dim()), 0.0
	for i, v := range p {
		g.Point(at, s.at[i])
		total += v * v
		for a := range at {
			out[a] += v * v * (at[a] - middle[a]) * (at[a] - middle[a])
		}
	}
	for a, moment := range out {
		h := g.Spacing[a]
		if out[a] = 0; total > 0 {
			out[a] = math.Sqrt(h*h + 12*moment/total)
		}
	}
	return out
}
