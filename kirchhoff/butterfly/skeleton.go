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
	mesh    *mesh     // of the nodes that weights are given at
	weights []float32 // [node][q]
	points  [][3]int  // [q], of the window, where the points lie
	across  []float32 // [node of the window's coarse mesh][q], polynomials at the points, with dynamic weights
	err     float64   // rms error at the window's sample, relative to the waves

	lacks       []bool    // [place], of which there are no times; nil: of none
	centre      []float32 // [point], s, t_c
	nodeTime    []float64 // [node of the window], s, t_c
	least, most []float64 // [node of the window], s, over the places, of δ
}

// lone reports whether s is that of a single place, whose only weight is 1 everywhere.
func (s *skeleton) lone() bool { return len(s.delay) == s.q }

// delays are those of a cluster's places in a window, in s: at its nodes, [place][node], and at its
// sample, [place][sample].
type delays struct{ nodes, sample [][]float64 }

// finite reports whether all are.
func (d delays) finite() bool {
	for _, list := range slices.Concat(d.nodes, d.sample) {
		for _, v := range list {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return false
			}
		}
	}
	return true
}

// member is the wave of a place over a window, or of a trace with its weight.
type member struct {
	place   int
	weights func(to []float32, points [][3]int) // sets those at points of the window; nil for 1
}

// field is the waves of which a skeleton is made and those at which it is checked.
type field struct {
	*mesh
	delay             []float32   // [place][node, with padding], s
	sample            [][]float64 // [place][sample], s
	sketched, checked []member
	thin              int // of the waves, each thin-th is sketched at a frequency
}

// plain is the field of all places, without weights.
func (d delays) plain(m *mesh) *field {
	all := make([]member, len(d.nodes))
	for i := range all {
		all[i].place = i
	}
	return &field{m, matrixOf(d.nodes, padded(m.len())), d.sample, all, all, 1}
}

// limits says how a skeleton is made: its rank is a multiple of step and at most most, and its rms
// error, as a share of the waves, at most the tolerance.
type limits struct {
	step, most int
	tolerance  float64
}

// newSkeleton finds a skeleton. It returns nil if there is none within the limits. power are the weights of
// lines frequencies, in Hz, which add up to 1.
func newSkeleton(w *window, of *field, freqs, power []float64, within limits) *skeleton {
	f, nodes := newFactor(of, freqs, power, within.most+moreRows), of.len()
	for q := within.step; ; q += within.step {
		q = min(q, nodes)
		last := q+within.step > within.most || q == nodes
		if left := f.grow(q); left > within.tolerance*within.tolerance && !last {
			continue
		}
		s := f.skeleton(of)
		if s.check(w, of, freqs, power); s.err <= within.tolerance {
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

// moreRows is how many more rows a sketch has than a skeleton points.
const moreRows = 16

// newFactor adds the waves power·{cos, sin}(2πf δ_r), times their weights, with random signs to all rows
// of the sketch.
func newFactor(of *field, freqs, power []float64, height int) *factor {
	n := of.len()
	f := &factor{isa: simd.Best(), nodes: n, wide: padded(n), left: make([]float64, n)}
	f.height = min(height, 2*len(of.sketched)*len(freqs))
	f.rows = make([]float32, f.height*f.wide)
	random := rand.New(rand.NewPCG(1, 2))
	for k, hz := range freqs {
		delay, weights := of.rows(k)
		re, im := make([]float32, len(delay)), make([]float32, len(delay))
		signs := make([]float32, f.height*len(delay)/f.wide)
		amplitude := float32(math.Sqrt(power[k]))
		f.isa.Phases(re, im, delay, hz, 0, 1)
		for _, waves := range [2][]float32{re, im} {
			for i, v := range weights {
				waves[i] *= v
			}
			var bits uint64
			for i := range signs {
				if i%64 == 0 {
					bits = random.Uint64()
				}
				signs[i] = math.Float32frombits(math.Float32bits(amplitude) ^ uint32(bits)<<31)
				bits >>= 1
			}
			n := len(delay) / f.wide
			f.isa.Transform(f.matrix(), simd.Real{V: signs, Stride: n}, simd.Real{V: waves, Stride: f.wide}, f.height, n, f.wide, simd.Add)
		}
	}
	f.all = f.measure()
	return f
}

// rows are the delays and the weights of the waves that are sketched at a frequency, [wave][node]. weights
// is nil where all are 1.
func (f *field) rows(frequency int) (delay, weights []float32) {
	wide, nodes := padded(f.len()), f.nodes()
	n := (len(f.sketched) - frequency%f.thin + f.thin - 1) / f.thin
	delay = make([]float32, n*wide)
	if f.sketched[0].weights != nil {
		weights = make([]float32, n*wide)
	}
	for i := range n {
		v := f.sketched[frequency%f.thin+i*f.thin]
		copy(delay[i*wide:][:wide], f.delay[v.place*wide:])
		if weights != nil {
			v.weights(weights[i*wide:], nodes)
		}
	}
	return delay, weights
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
func (f *factor) skeleton(of *field) *skeleton {
	n := len(f.pivots)
	s := &skeleton{rank: n, q: padded(n), mesh: of.mesh}
	s.weights, s.points = make([]float32, f.nodes*s.q), make([][3]int, s.q)
	x := make([]float32, n*f.wide)
	for j := n - 1; j >= 0; j-- {
		row, after := x[j*f.wide:][:f.wide], make([]float32, n-1-j)
		copy(row, f.r[j])
		for k := range after {
			after[k] = -f.r[j][f.pivots[j+1+k]]
		}
		if len(after) > 0 {
			f.isa.Transform(simd.Real{V: row, Stride: f.wide}, simd.Real{V: after, Stride: len(after)}, simd.Real{V: x[(j+1)*f.wide:], Stride: f.wide}, 1, len(after), f.wide, simd.Add)
		}
		a := 1 / f.r[j][f.pivots[j]]
		for i := range row[:f.nodes] {
			row[i] *= a
			s.weights[i*s.q+j] = row[i]
		}
	}
	s.delay = make([]float32, len(of.delay)/f.wide*s.q)
	nodes := of.mesh.nodes()
	for j, p := range f.pivots {
		s.points[j] = nodes[p]
		for r := range len(of.delay) / f.wide {
			s.delay[r*s.q+j] = of.delay[r*f.wide+p]
		}
	}
	return s
}

// bound sets the least and the most of the delays of all places at the window's nodes.
func (s *skeleton) bound(nodes [][]float64) {
	s.least, s.most = slices.Clone(nodes[0]), slices.Clone(nodes[0])
	for _, delay := range nodes {
		for i, t := range delay {
			s.least[i], s.most[i] = min(s.least[i], t), max(s.most[i], t)
		}
	}
}

// check measures the error at the window's sample.
func (s *skeleton) check(w *window, of *field, freqs, power []float64) {
	isa, n, wide := simd.Best(), len(w.sampled), padded(len(of.checked))
	weights := make([]float32, n*s.q)
	isa.Transform(simd.Real{V: weights, Stride: s.q}, s.mesh.polynomials(w.sampled), simd.Real{V: s.weights, Stride: s.q}, n, s.mesh.len(), s.q, 0)
	at, delay := make([]float32, s.q*wide), make([]float32, n*wide) // [q][wave], [point][wave]
	amplitudes, sampled := make([]float32, len(at)), make([]float32, len(delay))
	own, there, norm := slices.Repeat([]float32{1}, s.q), slices.Repeat([]float32{1}, n), 0.0
	for r, v := range of.checked {
		if v.weights != nil {
			v.weights(own, s.points)
			v.weights(there, w.sampled)
		}
		for j, a := range own {
			at[j*wide+r], amplitudes[j*wide+r] = s.delay[v.place*s.q+j], a
		}
		for i, a := range there {
			delay[i*wide+r], sampled[i*wide+r] = float32(of.sample[v.place][i]), a
			norm += float64(a) * float64(a)
		}
	}
	waves, want, got := make([]float32, 2*len(at)), make([]float32, 2*len(delay)), make([]float32, len(delay))
	sum := 0.0
	for k, hz := range freqs {
		isa.Phases(waves, waves[len(at):], at, hz, 0, 1)
		isa.Phases(want, want[len(delay):], delay, hz, 0, 1)
		for i, a := range amplitudes {
			waves[i] *= a
			waves[len(at)+i] *= a
		}
		for part := range 2 {
			isa.Transform(simd.Real{V: got, Stride: wide}, simd.Real{V: weights, Stride: s.q}, simd.Real{V: waves[part*len(at):], Stride: wide}, n, s.rank, wide, 0)
			for i, v := range got {
				off := float64(v - sampled[i]*want[part*len(delay)+i])
				sum += power[k] * off * off
			}
		}
	}
	s.err = math.Sqrt(sum / norm)
}
