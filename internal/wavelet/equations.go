package wavelet

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Longest is the most samples that a wavelet found by least squares may have: its equations
// have as many rows and columns.
const Longest = 500

// Equations are the normal equations G h = b of the n taps h; tap zero is at lag 0:
//
//	min Σ_traces Σ_t (v(t) (d(t) − Σ_j h_j x(t − j + zero)))²,
//
// with the spike traces x, the recorded traces d and weights v. They are sums over traces, and
// each trace is one term: a list of Len numbers.
type Equations struct{ N, Zero int }

// Len is how many numbers a term has: the rows of the upper triangle of G, b, and the energy of
// v d.
func (e Equations) Len() int { return e.N*(e.N+1)/2 + e.N + 1 }

// row is where row j of the upper triangle begins, at its diagonal.
func (e Equations) row(j int) int { return j*e.N - j*(j-1)/2 }

// Term sets dst to the term of one trace: x as above, the weighted trace v d, and v, nil for
// ones. A diagonal of G takes a sum over samples for its first element only. From one element to
// the next the window moves by a sample, so that only the steps of v² count, its ends included.
func (e Equations) Term(dst, x, vd, v []float64) {
	n, nt := e.N, len(x)
	square := make([]float64, nt+2) // v², with a zero at either side
	for t := range nt {
		square[t+1] = 1
		if v != nil {
			square[t+1] = v[t] * v[t]
		}
	}
	at := func(s int) float64 {
		if s < 0 || s >= nt {
			return 0
		}
		return x[s]
	}
	for l := range n {
		sum := 0.0
		for t := range nt {
			if s := t + e.Zero; s < nt && s-l >= 0 {
				sum += square[t+1] * x[s] * at(s-l)
			}
		}
		dst[l] = sum
	}
	var steps []int // t where v² changes between t − 1 and t
	for t := range nt + 1 {
		if square[t+1] != square[t] {
			steps = append(steps, t)
		}
	}
	for j := range n - 1 {
		from, to := dst[e.row(j):], dst[e.row(j+1):]
		copy(to[:n-j-1], from)
		for _, t := range steps {
			s := t - 1 - j + e.Zero
			if s < 0 || s >= nt || x[s] == 0 {
				continue
			}
			step := (square[t+1] - square[t]) * x[s]
			for l := range min(n-j-1, s+1) {
				to[l] += step * x[s-l]
			}
		}
	}
	right := dst[n*(n+1)/2:]
	for j := range n {
		sum := 0.0
		for t := max(0, j-e.Zero); t < min(nt, nt+j-e.Zero); t++ {
			w := vd[t]
			if v != nil {
				w *= v[t]
			}
			sum += w * x[t-j+e.Zero]
		}
		right[j] = sum
	}
	right[n] = floats.Dot(vd, vd)
}

// System is the least-squares problem for a wavelet: ‖v (d − x ∗ F w)‖² as a function of w, with a
// linear filter F from a wavelet to the taps that traces are convolved with.
type System struct {
	gram   *mat.SymDense // Fᵀ G F
	right  *mat.VecDense // Fᵀ b
	energy float64       // ‖v d‖²
}

// System makes the problem of a wavelet of m samples from the sum of all terms. filter makes the
// taps F w of it.
func (e Equations) System(sums []float64, m int, filter func(w []float64) []float64) *System {
	n := e.N
	gram := mat.NewSymDense(n, nil)
	for j := range n {
		for l := range n - j {
			gram.SetSym(j, j+l, sums[e.row(j)+l])
		}
	}
	f := mat.NewDense(n, m, nil)
	for j := range m {
		one := make([]float64, m)
		one[j] = 1
		f.SetCol(j, filter(one))
	}
	var gf, g mat.Dense
	gf.Mul(gram, f)
	g.Mul(f.T(), &gf)
	s := &System{gram: mat.NewSymDense(m, nil), right: mat.NewVecDense(m, nil), energy: sums[len(sums)-1]}
	for j := range m {
		for k := j; k < m; k++ {
			s.gram.SetSym(j, k, (g.At(j, k)+g.At(k, j))/2)
		}
	}
	s.right.MulVec(f.T(), mat.NewVecDense(n, sums[n*(n+1)/2:n*(n+1)/2+n]))
	return s
}

// Scale is the mean of the diagonal of the matrix, by which ridges are measured.
func (s *System) Scale() float64 { return mat.Trace(s.gram) / float64(s.right.Len()) }

// Misfit is ‖v (d − x ∗ F w)‖².
func (s *System) Misfit(w []float64) float64 {
	v := mat.NewVecDense(len(w), w)
	return max(0, s.energy-2*mat.Dot(s.right, v)+mat.Inner(v, s.gram, v))
}

// Solve minimises the misfit plus ridge ‖w‖².
func (s *System) Solve(ridge float64) ([]float64, error) {
	n := s.right.Len()
	g := mat.NewSymDense(n, nil)
	g.CopySym(s.gram)
	for j := range n {
		g.SetSym(j, j, g.At(j, j)+ridge)
	}
	var c mat.Cholesky
	if !c.Factorize(g) {
		return nil, errors.New("the equations of the wavelet are singular: the image predicts too little of the traces' band, want a larger ridge")
	}
	var w mat.VecDense
	if err := c.SolveVecTo(&w, s.right); err != nil && math.IsInf(float64(asCondition(err)), 0) {
		return nil, fmt.Errorf("the equations of the wavelet: %w", err)
	}
	for _, v := range w.RawVector().Data {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("the wavelet has %g, must be finite", v)
		}
	}
	return w.RawVector().Data, nil
}

// asCondition is the condition number that an error warns of.
func asCondition(err error) mat.Condition {
	var c mat.Condition
	errors.As(err, &c)
	return c
}
