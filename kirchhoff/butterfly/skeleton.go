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
	thin              int   // of the waves, each thin-th is sketched at a frequency
	candidates        []int // nodes among which points are looked for; nil: all
}

// leastPlaces are those of a cluster whose waves are sketched at a frequency, at least, if it has as many.
const leastPlaces = 128

// plain is the field of all places, without weights, in an order that is drawn: steps through a cluster would
// take others of its sides at each frequency. Some check a skeleton.
func (d delays) plain(m *mesh) *field {
	all := make([]member, len(d.nodes))
	for i, place := range drawn(len(all)) {
		all[i].place = place
	}
	return &field{m, matrixOf(d.nodes, padded(m.len())), d.sample, all, all[:min(len(all), mostChecked)], max(1, len(all)/leastPlaces), nil}
}

// drawn are the numbers below n in an order that is drawn.
func drawn(n int) []int { return rand.New(rand.NewPCG(uint64(n), 1)).Perm(n) }

// limits says how a skeleton is made: its rank is a multiple of step and at most most, and its rms
// error, as a share of the waves, at most the tolerance.
type limits struct {
	step, most int
	tolerance  float64
}

// fewPoints are those that a skeleton is made of first: a sketch for them has fewer rows.
const fewPoints = 48

// newSkeleton finds a skeleton. It returns nil if there is none within the limits. power are the weights of
// lines frequencies, in Hz, which add up to 1.
func newSkeleton(w *window, of *field, freqs, power []float64, within limits) *skeleton {
	few, before := within, math.Inf(1)
	few.most = min(within.most, fewPoints)
	s := few.skeleton(w, of, freqs, power, within.step, &before)
	if s != nil || few.most == within.most || math.IsInf(before, -1) {
		return s
	}
	return within.skeleton(w, of, freqs, power, few.most+within.step, &before)
}

// skeleton is newSkeleton with at least so many points. before is the error of fewer points, in the end −∞
// where more were worse: then polynomials through the nodes do not follow the weights.
func (l limits) skeleton(w *window, of *field, freqs, power []float64, least int, before *float64) *skeleton {
	f, nodes, most := newFactor(of, freqs, power, 2*l.most+moreRows), of.len(), l.tolerance*l.tolerance
	for q := least; ; q += l.step {
		q = min(q, nodes)
		last := q+l.step > l.most || q == nodes
		if left := f.grow(q, most); left > most {
			if !last {
				continue
			}
			if left > hopeless*most {
				return nil
			}
		}
		s := f.skeleton(of, freqs, power)
		if s.check(w, of, freqs, power); s.err <= l.tolerance {
			return s
		}
		if s.err > worse**before {
			*before = math.Inf(-1)
			return nil
		}
		if *before = min(*before, s.err); last {
			return nil
		}
	}
}

// worse is how many times more than that of fewer points an error is which will not become less.
const worse = 1.5

// hopeless is how many times more than it may a sketch leaves where no check is needed.
const hopeless = 4

// factor is a pivoted QR factorisation, column by column, of a sketch of the waves at the nodes
// (Halko, Martinsson and Tropp 2011): [row][node].
type factor struct {
	isa    simd.ISA
	nodes  int         // candidates
	wide   int         // nodes with padding, the elements of a row
	height int         // rows
	rows   []float32   // [row][wide], what is left of the sketch
	r, q   [][]float32 // [pivot][wide] and [pivot][row], whose product is what was taken from the sketch
	pivots []int
	waves  []sketched  // see everywhere
	far    [][]float32 // likewise
	left   []float64   // squared norms of the columns of rows
	all    float64
}

// moreRows is how many more rows a sketch has than twice a skeleton's points. With fewer rows weights follow
// the sketch and nothing else.
const moreRows = 16

// newFactor is that of a sketch at the candidates, of which nothing is taken yet.
func newFactor(of *field, freqs, power []float64, height int) *factor {
	n := of.len()
	if of.candidates != nil {
		n = len(of.candidates)
	}
	f := &factor{isa: simd.Best(), nodes: n, wide: padded(n), left: make([]float64, n)}
	f.height = min(height, 2*len(of.sketched)*len(freqs))
	f.rows = make([]float32, f.height*f.wide)
	f.sketch(of, of.candidates, freqs, power, func(signs, waves simd.Real) {
		f.isa.Transform(f.matrix(), signs, waves, f.height, signs.Stride, f.wide, simd.Add)
	})
	f.all = f.measure()
	return f
}

// sketch calls add with the waves power·{cos, sin}(2πf δ_r), times their weights, at some nodes, nil for all,
// and the random signs with which each row of the sketch has them. They are the same at any nodes.
func (f *factor) sketch(of *field, at []int, freqs, power []float64, add func(signs, waves simd.Real)) {
	random := rand.New(rand.NewPCG(1, 2))
	for k, hz := range freqs {
		delay, weights, wide := of.rows(k, at)
		re, im := make([]float32, len(delay)), make([]float32, len(delay))
		n := len(delay) / wide
		signs := make([]float32, f.height*n)
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
			add(simd.Real{V: signs, Stride: n}, simd.Real{V: waves, Stride: wide})
		}
	}
}

// rows are the delays and the weights of the waves that are sketched at a frequency, at some nodes, nil for
// all: [wave][wide]. weights is nil where all are 1.
func (f *field) rows(frequency int, at []int) (delay, weights []float32, wide int) {
	all, nodes := padded(f.len()), f.nodes()
	if wide = all; at != nil {
		some := make([][3]int, len(at))
		for i, node := range at {
			some[i] = nodes[node]
		}
		nodes, wide = some, padded(len(at))
	}
	n := (len(f.sketched) - frequency%f.thin + f.thin - 1) / f.thin
	delay = make([]float32, n*wide)
	if f.sketched[0].weights != nil {
		weights = make([]float32, n*wide)
	}
	for i := range n {
		v := f.sketched[frequency%f.thin+i*f.thin]
		from, to := f.delay[v.place*all:][:all], delay[i*wide:][:wide]
		if at == nil {
			copy(to, from)
		}
		for k, node := range at {
			to[k] = from[node]
		}
		if weights != nil {
			v.weights(weights[i*wide:], nodes)
		}
	}
	return delay, weights, wide
}

// sketched are waves at all nodes and the signs with which a sketch has them.
type sketched struct{ signs, waves simd.Real }

// everywhere is r at all nodes, [pivot][wide], and which of them the pivots are.
func (f *factor) everywhere(of *field, freqs, power []float64) (r [][]float32, pivots []int) {
	if of.candidates == nil {
		return f.r, f.pivots
	}
	if f.waves == nil {
		f.sketch(of, nil, freqs, power, func(signs, waves simd.Real) {
			n := signs.Stride
			even := simd.Real{V: make([]float32, f.height*padded(n)), Stride: padded(n)}
			for row := range f.height {
				copy(even.V[row*even.Stride:], signs.V[row*n:][:n])
			}
			f.waves = append(f.waves, sketched{even, simd.Real{V: slices.Clone(waves.V), Stride: waves.Stride}})
		})
	}
	done, wide := len(f.far), padded(of.len())
	n := len(f.pivots) - done
	all, q := make([]float32, n*wide), slices.Concat(f.q[done:]...)
	for _, s := range f.waves {
		share := simd.Real{V: make([]float32, n*s.signs.Stride), Stride: s.signs.Stride}
		f.isa.Transform(share, simd.Real{V: q, Stride: f.height}, s.signs, n, f.height, share.Stride, 0)
		f.isa.Transform(simd.Real{V: all, Stride: wide}, share, s.waves, n, len(s.waves.V)/wide, wide, simd.Add)
	}
	for k := range n {
		f.far = append(f.far, all[k*wide:][:wide])
	}
	for _, p := range f.pivots {
		pivots = append(pivots, of.candidates[p])
	}
	return f.far, pivots
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
// they leave, roughly where that is far above what is enough.
func (f *factor) grow(q int, enough float64) float64 {
	back := make([]float32, f.height)
	for len(f.pivots) < q {
		column := make([]float32, f.height)
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
		}
		f.straighten(column)
		for k, v := range column {
			back[k] = -v
		}
		r := make([]float32, f.wide)
		of := simd.Real{V: r, Stride: f.wide}
		f.isa.Transform(of, simd.Real{V: column, Stride: f.height}, f.matrix(), 1, f.height, f.wide, 0)
		f.isa.Transform(f.matrix(), simd.Real{V: back, Stride: 1}, of, f.height, 1, f.wide, simd.Add)
		for i, v := range r[:f.nodes] {
			f.left[i] = max(0, f.left[i]-float64(v)*float64(v))
		}
		f.left[p] = 0
		f.r, f.q, f.pivots = append(f.r, r), append(f.q, column), append(f.pivots, p)
	}
	rough := 0.0
	for _, v := range f.left {
		rough += v
	}
	if rough /= f.all; rough > 2*hopeless*enough {
		return rough
	}
	return f.measure() / f.all
}

// straighten takes from a column what rounding left in it of the columns of q, and makes its norm 1:
// everywhere projects on all at once.
func (f *factor) straighten(column []float32) {
	exact, norm := make([]float64, len(column)), 0.0
	for k, v := range column {
		exact[k] = float64(v)
	}
	for _, q := range f.q {
		share := 0.0
		for k, v := range q {
			share += float64(v) * exact[k]
		}
		for k, v := range q {
			exact[k] -= share * float64(v)
		}
	}
	for _, v := range exact {
		norm += v * v
	}
	for k, v := range exact {
		column[k] = float32(v / math.Sqrt(norm))
	}
}

// skeleton solves R₁₁ L = R for the pivots so far. There are a multiple of lanes of them, the last
// ones without weight.
func (f *factor) skeleton(of *field, freqs, power []float64) *skeleton {
	n, nodes, wide := len(f.pivots), of.len(), padded(of.len())
	r, pivots := f.everywhere(of, freqs, power)
	s := &skeleton{rank: n, q: padded(n), mesh: of.mesh}
	s.weights, s.points = make([]float32, nodes*s.q), make([][3]int, s.q)
	x := make([]float32, n*wide)
	for j := n - 1; j >= 0; j-- {
		row, after := x[j*wide:][:wide], make([]float32, n-1-j)
		copy(row, r[j])
		for k := range after {
			after[k] = -r[j][pivots[j+1+k]]
		}
		if len(after) > 0 {
			f.isa.Transform(simd.Real{V: row, Stride: wide}, simd.Real{V: after, Stride: len(after)}, simd.Real{V: x[(j+1)*wide:], Stride: wide}, 1, len(after), wide, simd.Add)
		}
		a := 1 / r[j][pivots[j]]
		for i := range row[:nodes] {
			row[i] *= a
		}
	}
	f.isa.Transpose(simd.Real{V: s.weights, Stride: s.q}, simd.Real{V: x, Stride: wide}, n, nodes)
	s.delay = make([]float32, len(of.delay)/wide*s.q)
	at := of.mesh.nodes()
	for j, p := range pivots {
		s.points[j] = at[p]
		for place := range len(of.delay) / wide {
			s.delay[place*s.q+j] = of.delay[place*wide+p]
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
