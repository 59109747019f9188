package tomography

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// MostDeviating is the number of knots beyond which the matrix of Deviation, with its square of
// elements, would be too large.
const MostDeviating = 4000

// Deviation is the standard deviation of δ, and so of the velocity's logarithm, at the points of g, in
// C order. For a change with normal errors it is √(bᵀ C b), with b the splines at the point and C = σ²
// (Aᵀ A + Dᵀ D)⁻¹. A are the weighted rows, D the penalties, which stand for prior knowledge, and σ²
// the mean square of the residuals of the rows (Tarantola 2005, Inverse problem theory, section 3.2).
// Picks whose noise is alike make it too small. It is nil where there are too many knots.
func (s *Solution) Deviation(g grid.Grid) ([]float64, error) {
	n := s.knots.Len()
	if n > MostDeviating {
		return nil, nil
	}
	h := mat.NewSymDense(n, nil)
	s.addRows(h)
	s.addPenalties(h)
	var factor mat.Cholesky
	if !factor.Factorize(h) {
		return nil, errors.New("tomography: knots that nothing holds: the velocity has no deviation")
	}
	var inverse mat.SymDense
	if err := factor.InverseTo(&inverse); err != nil {
		return nil, err
	}
	square := 0.0
	for i, v := range s.left {
		square += s.weight[i] * s.weight[i] * v * v
	}
	square /= float64(len(s.left))
	out, x := make([]float64, g.Len()), make([]float64, g.Dim())
	var at []int
	var b []float64
	for i := range out {
		g.Point(x, i)
		at, b = at[:0], b[:0]
		s.knots.Each(x, func(knot int, value float64) { at, b = append(at, knot), append(b, value) })
		sum := 0.0
		for j, p := range at {
			for k, q := range at {
				sum += b[j] * b[k] * inverse.At(p, q)
			}
		}
		out[i] = math.Sqrt(square * sum)
	}
	return out, nil
}

// addRows adds Aᵀ A, group by group.
func (s *Solution) addRows(h *mat.SymDense) {
	r := s.rows
	groups := r.group
	if len(groups) == 1 { // none: each row is by itself
		groups = nil
	}
	for first := 0; first < r.Len(); {
		end := first + 1
		if groups != nil {
			groups = groups[1:]
			end = groups[0]
		}
		s.addGroup(h, first, end, groups != nil)
		first = end
	}
}

// addGroup adds what the rows of a group bring, their mean taken off if they are centered.
func (s *Solution) addGroup(h *mat.SymDense, first, end int, centered bool) {
	r := s.rows
	number, knots := map[int32]int{}, []int{}
	for n := r.start[first]; n < r.start[end]; n++ {
		if _, ok := number[r.at[n]]; !ok {
			number[r.at[n]] = len(knots)
			knots = append(knots, int(r.at[n]))
		}
	}
	m := len(knots)
	dense, mean := make([]float64, (end-first)*m), make([]float64, m)
	for i := first; i < end; i++ {
		for n := r.start[i]; n < r.start[i+1]; n++ {
			k := number[r.at[n]]
			dense[(i-first)*m+k] += r.value[n]
			if centered {
				mean[k] += r.value[n] / float64(end-first)
			}
		}
	}
	for i := first; i < end; i++ {
		row := dense[(i-first)*m : (i-first+1)*m]
		for k := range row {
			row[k] = s.weight[i] * (row[k] - mean[k])
		}
	}
	for j, p := range knots {
		for k, q := range knots[:j+1] {
			sum := 0.0
			for i := range end - first {
				sum += dense[i*m+j] * dense[i*m+k]
			}
			h.SetSym(p, q, h.At(p, q)+sum)
		}
	}
}

// addPenalties adds those of fit.
func (s *Solution) addPenalties(h *mat.SymDense) {
	scale, shape := penaltyScale(s.rows, s.knots), s.knots.Shape()
	damping := s.damping * scale
	for k := range s.knots.Len() {
		h.SetSym(k, k, h.At(k, k)+damping*damping)
	}
	stride := 1
	for axis := len(shape) - 1; axis >= 0; axis-- {
		w := smoothingWeight(s.lambda, scale, shape[axis])
		for k := range s.knots.Len() {
			if k/stride%shape[axis] > 0 {
				h.SetSym(k, k, h.At(k, k)+w*w)
				h.SetSym(k-stride, k-stride, h.At(k-stride, k-stride)+w*w)
				h.SetSym(k, k-stride, h.At(k, k-stride)-w*w)
			}
		}
		stride *= shape[axis]
	}
}
