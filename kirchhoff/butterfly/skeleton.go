package butterfly

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

const (
	lanes    = 16 // a rank is a multiple of it
	mostRank = 96
	lines    = 8 // frequencies at which a skeleton is found and checked
)

// skeleton says how the waves of a cluster's places spread over a window. With t_c the time of the
// centre and δ_r(x) = t_r(x) − t_c(x),
//
//	exp(iωδ_r(x)) ≈ Σ_j L_j(x) exp(iωδ_r(x_j))
//
// for all places r and frequencies of the wavelet, with q points x_j and real weights L_j.
type skeleton struct {
	rank    int       // points with weights
	q       int       // with padding, a multiple of lanes
	delay   []float32 // [place][q], s
	weights []float32 // [node][q]
	err     float64   // rms error at the window's sample, relative to 1

	lacks       []bool    // [place], of which there are no times; nil: of none
	centre      []float32 // [point], s, t_c
	nodeTime    []float64 // [node], s, t_c
	least, most []float64 // [node], s, over the places, of δ
}

// lone reports whether s is that of a single place, whose only weight is 1 everywhere.
func (s *skeleton) lone() bool { return len(s.delay) == s.q }

// delays are those of a cluster's places in a window, in s: at its nodes, [place][node], and at its
// sample, [place][sample].
type delays struct{ nodes, sample [][]float64 }

// newSkeleton finds a skeleton with an rms error of at most the tolerance and a rank that is a multiple
// of step. It returns nil if mostRank points do not suffice. power are the weights of lines frequencies, in Hz, which add up to 1.
func newSkeleton(w *window, d delays, freqs, power []float64, step int, tolerance float64) *skeleton {
	for _, list := range append(slices.Clone(d.nodes), d.sample...) {
		for _, v := range list {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil
			}
		}
	}
	f := newFactor(w, d.nodes, freqs, power)
	for q := step; ; q += step {
		q = min(q, len(w.nodes))
		last := q+step > mostRank || q == len(w.nodes)
		if left := f.grow(q); left > tolerance*tolerance && !last {
			continue
		}
		s := f.skeleton(d.nodes)
		if s.check(w, d.sample, freqs, power); s.err <= tolerance {
			return s
		}
		if last {
			return nil
		}
	}
}

// factor is a pivoted QR factorisation, column by column, of a sketch of the waves at the nodes
// (Halko, Martinsson and Tropp 2011): [row][node].
type factor struct {
	isa    simd.ISA
	nodes  int
	wide   int         // nodes with padding, the elements of a row
	height int         // rows
	rows   []float32   // [row][wide], what is left of the sketch
	r      [][]float32 // [pivot][wide]
	pivots []int
	left   []float64 // squared norms of the columns of rows
	all    float64
}

// sketchRows is the number of rows of a sketch.
const sketchRows = mostRank + 16

// newFactor adds the waves power·{cos, sin}(2πf δ_r) with random signs to all rows of the sketch.
func newFactor(w *window, nodes [][]float64, freqs, power []float64) *factor {
	f := &factor{isa: simd.Best(), nodes: len(w.nodes), wide: padded(len(w.nodes)), left: make([]float64, len(w.nodes))}
	f.height = min(sketchRows, 2*len(nodes)*len(freqs))
	f.rows = make([]float32, f.height*f.wide)
	delay := matrixOf(nodes, f.wide)
	re, im, signs := make([]float32, len(delay)), make([]float32, len(delay)), make([]float32, f.height*len(nodes))
	random := rand.New(rand.NewPCG(1, 2))
	for k, hz := range freqs {
		amplitude := float32(math.Sqrt(power[k]))
		f.isa.Phases(re, im, delay, hz, 0, 1)
		for _, waves := range [2][]float32{re, im} {
			var bits uint64
			for i := range signs {
				if i%64 == 0 {
					bits = random.Uint64()
				}
				signs[i] = math.Float32frombits(math.Float32bits(amplitude) ^ uint32(bits)<<31)
				bits >>= 1
			}
			f.isa.Transform(f.matrix(), simd.Real{V: signs, Stride: len(nodes)}, simd.Real{V: waves, Stride: f.wide}, f.height, len(nodes), f.wide, simd.Add)
		}
	}
	f.all = f.measure()
	return f
}

// matrixOf puts rows into a matrix so many elements wide.
func matrixOf(rows [][]float64, wide int) []float32 {
	out := make([]float32, len(rows)*wide)
	for i, row := range rows {
		for k, v := range row {
			out[i*wide+k] = float32(v)
		}
	}
	return out
}

func (f *factor) matrix() simd.Real { return simd.Real{V: f.rows, Stride: f.wide} }

// measure sets left, and returns the sum.
func (f *factor) measure() (sum float64) {
	clear(f.left)
	for k := range f.height {
		for i, v := range f.rows[k*f.wide:][:f.nodes] {
			f.left[i] += float64(v) * float64(v)
		}
	}
	for _, p := range f.pivots {
		f.left[p] = 0
	}
	for _, v := range f.left {
		sum += v
	}
	return sum
}

// faint is the share of the sketch, as squared norms, below which a column is rounding.
const faint = 1e-14

// grow takes pivots until there are q, or nothing is left. It returns the share of the sketch that
// they leave.
func (f *factor) grow(q int) float64 {
	column, back := make([]float32, f.height), make([]float32, f.height)
	for len(f.pivots) < q {
		p := 0
		for i, v := range f.left {
			if v > f.left[p] {
				p = i
			}
		}
		norm := 0.0
		for k := range column {
			v := float64(f.rows[k*f.wide+p])
			norm += v * v
		}
		if norm <= faint*f.all {
			break
		}
		for k := range column {
			column[k] = float32(float64(f.rows[k*f.wide+p]) / math.Sqrt(norm))
			back[k] = -column[k]
		}
		r := make([]float32, f.wide)
		of := simd.Real{V: r, Stride: f.wide}
		f.isa.Transform(of, simd.Real{V: column, Stride: f.height}, f.matrix(), 1, f.height, f.wide, 0)
		f.isa.Transform(f.matrix(), simd.Real{V: back, Stride: 1}, of, f.height, 1, f.wide, simd.Add)
		for i, v := range r[:f.nodes] {
			f.left[i] = max(0, f.left[i]-float64(v)*float64(v))
		}
		f.left[p] = 0
		f.r, f.pivots = append(f.r, r), append(f.pivots, p)
	}
	return f.measure() / f.all
}

// skeleton solves R₁₁ L = R for the pivots so far. There are a multiple of lanes of them, the last
// ones without weight.
func (f *factor) skeleton(nodes [][]float64) *skeleton {
	n := len(f.pivots)
	s := &skeleton{rank: n, q: padded(n)}
	s.weights = make([]float32, f.nodes*s.q)
	x := make([][]float64, n)
	for j := n - 1; j >= 0; j-- {
		x[j] = make([]float64, f.nodes)
		for i, v := range f.r[j][:f.nodes] {
			x[j][i] = float64(v)
		}
		for k := j + 1; k < n; k++ {
			a := float64(f.r[j][f.pivots[k]])
			for i, v := range x[k] {
				x[j][i] -= a * v
			}
		}
		a := 1 / float64(f.r[j][f.pivots[j]])
		for i := range x[j] {
			x[j][i] *= a
			s.weights[i*s.q+j] = float32(x[j][i])
		}
	}
	s.delay = make([]float32, len(nodes)*s.q)
	s.least, s.most = slices.Clone(nodes[0]), slices.Clone(nodes[0])
	for r, delay := range nodes {
		for j, p := range f.pivots {
			s.delay[r*s.q+j] = float32(delay[p])
		}
		for i, t := range delay {
			s.least[i], s.most[i] = min(s.least[i], t), max(s.most[i], t)
		}
	}
	return s
}

// check measures the error at the window's sample.
func (s *skeleton) check(w *window, sample [][]float64, freqs, power []float64) {
	isa, n, wide := simd.Best(), len(w.sampled), padded(len(sample))
	weights := make([]float32, n*s.q)
	isa.Transform(simd.Real{V: weights, Stride: s.q}, w.polynomials(), simd.Real{V: s.weights, Stride: s.q}, n, len(w.nodes), s.q, 0)
	at, delay := make([]float32, s.q*wide), make([]float32, n*wide) // [q][place], [point][place]
	for r, list := range sample {
		for j := range s.q {
			at[j*wide+r] = s.delay[r*s.q+j]
		}
		for i, t := range list {
			delay[i*wide+r] = float32(t)
		}
	}
	waves, want, got := make([]float32, 2*len(at)), make([]float32, 2*len(delay)), make([]float32, len(delay))
	sum := 0.0
	for k, hz := range freqs {
		isa.Phases(waves, waves[len(at):], at, hz, 0, 1)
		isa.Phases(want, want[len(delay):], delay, hz, 0, 1)
		for part := range 2 {
			isa.Transform(simd.Real{V: got, Stride: wide}, simd.Real{V: weights, Stride: s.q}, simd.Real{V: waves[part*len(at):], Stride: wide}, n, s.rank, wide, 0)
			for i, v := range got {
				if i%wide < len(sample) {
					off := float64(v - want[part*len(delay)+i])
					sum += power[k] * off * off
				}
			}
		}
	}
	s.err = math.Sqrt(sum / float64(n*len(sample)))
}

// polynomials are the values of those through the nodes at the sampled points, [point][node].
func (w *window) polynomials() simd.Real {
	out := simd.Real{Stride: len(w.nodes)}
	n := w.nodesAlong()
	for _, x := range w.sampled {
		for a := range n[0] {
			for b := range n[1] {
				for c := range n[2] {
					out.V = append(out.V, w.lagr[0][x[0]*n[0]+a]*w.lagr[1][x[1]*n[1]+b]*w.lagr[2][x[2]*n[2]+c])
				}
			}
		}
	}
	return out
}
