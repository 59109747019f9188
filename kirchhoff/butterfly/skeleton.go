package butterfly

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	lanes    = 16 // a rank is a multiple of it
	mostRank = 64
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
	nodes  int
	rows   [][]float64 // what is left of the sketch
	r      [][]float64 // [pivot][node]
	pivots []int
	left   []float64 // squared norms of the columns of rows
	all    float64
}

// sketchRows is the number of rows of a sketch.
const sketchRows = 2*mostRank + 16

// newFactor adds the rows power·{cos, sin}(2πf δ_r) with random signs to a few rows of the sketch each.
func newFactor(w *window, nodes [][]float64, freqs, power []float64) *factor {
	f := &factor{nodes: len(w.nodes), left: make([]float64, len(w.nodes))}
	n := min(sketchRows, 2*len(nodes)*len(freqs))
	for range n {
		f.rows = append(f.rows, make([]float64, f.nodes))
	}
	random := rand.New(rand.NewPCG(1, 2))
	wave := [2][]float64{make([]float64, f.nodes), make([]float64, f.nodes)}
	for _, delay := range nodes {
		for k, hz := range freqs {
			amplitude := math.Sqrt(power[k])
			for i, t := range delay {
				wave[0][i], wave[1][i] = math.Sincos(2 * math.Pi * hz * t)
			}
			for _, v := range wave {
				for range 4 {
					row, sign := f.rows[random.IntN(n)], amplitude
					if random.IntN(2) == 0 {
						sign = -amplitude
					}
					for i, x := range v {
						row[i] += sign * x
					}
				}
			}
		}
	}
	for _, row := range f.rows {
		for i, v := range row {
			f.left[i] += v * v
			f.all += v * v
		}
	}
	return f
}

// grow takes pivots until there are q, or nothing is left. It returns the share of the sketch that
// they leave.
func (f *factor) grow(q int) float64 {
	column := make([]float64, len(f.rows))
	for len(f.pivots) < q {
		p := 0
		for i, v := range f.left {
			if v > f.left[p] {
				p = i
			}
		}
		norm := 0.0
		for k, row := range f.rows {
			column[k] = row[p]
			norm += row[p] * row[p]
		}
		if norm <= 1e-24*f.all {
			break
		}
		norm = math.Sqrt(norm)
		r := make([]float64, f.nodes)
		for k, row := range f.rows {
			column[k] /= norm
			for i, v := range row {
				r[i] += column[k] * v
			}
		}
		for k, row := range f.rows {
			for i, v := range r {
				row[i] -= column[k] * v
			}
		}
		for i, v := range r {
			f.left[i] = max(0, f.left[i]-v*v)
		}
		f.left[p] = 0
		f.r, f.pivots = append(f.r, r), append(f.pivots, p)
	}
	sum := 0.0
	for _, v := range f.left {
		sum += v
	}
	return sum / f.all
}

// skeleton solves R₁₁ L = R for the pivots so far. There are a multiple of lanes of them, the last
// ones without weight.
func (f *factor) skeleton(nodes [][]float64) *skeleton {
	n := len(f.pivots)
	s := &skeleton{rank: n, q: padded(n)}
	s.weights = make([]float32, f.nodes*s.q)
	x := make([][]float64, n)
	for j := n - 1; j >= 0; j-- {
		x[j] = slices.Clone(f.r[j])
		for k := j + 1; k < n; k++ {
			a := f.r[j][f.pivots[k]]
			for i, v := range x[k] {
				x[j][i] -= a * v
			}
		}
		a := 1 / f.r[j][f.pivots[j]]
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
	l := make([]float64, len(w.sampled)*s.q)
	for i, x := range w.sampled {
		s.at(l[i*s.q:][:s.q], w, x)
	}
	sum, re, im := 0.0, make([]float64, s.q), make([]float64, s.q)
	for r, delay := range sample {
		for k, hz := range freqs {
			for j := range re {
				im[j], re[j] = math.Sincos(2 * math.Pi * hz * float64(s.delay[r*s.q+j]))
			}
			for i, t := range delay {
				y, x := math.Sincos(2 * math.Pi * hz * t)
				for j, v := range l[i*s.q:][:s.q] {
					x -= v * re[j]
					y -= v * im[j]
				}
				sum += power[k] * (x*x + y*y)
			}
		}
	}
	s.err = math.Sqrt(sum / float64(len(w.sampled)*len(sample)))
}

// at sets l to the weights at a point, relative to the window's first.
func (s *skeleton) at(l []float64, w *window, x [3]int) {
	clear(l)
	n := [3]int{len(w.along[0]), len(w.along[1]), len(w.along[2])}
	for a := range n[0] {
		va := float64(w.lagr[0][x[0]*n[0]+a])
		for b := range n[1] {
			vb := va * float64(w.lagr[1][x[1]*n[1]+b])
			for c := range n[2] {
				v := vb * float64(w.lagr[2][x[2]*n[2]+c])
				for j, u := range s.weights[((a*n[1]+b)*n[2]+c)*s.q:][:s.q] {
					l[j] += v * float64(u)
				}
			}
		}
	}
}
