package imaging

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// MatchOptions are those of Match.
type MatchOptions struct {
	// Window is the approximate number of points between the centres of two filters along
	// each axis. The distance is adjusted so that one centre lies at each end.
	Window []int
	// Length is the number of taps along each axis, odd and at most the image's.
	Length  []int
	Threads int
}

// About describes the filters that the options give for an image.
func (o MatchOptions) About(shape []int) string {
	filters, apart := 1, make([]float64, len(shape))
	for a, n := range shape {
		c := Windows(n, o.Window[a])
		filters *= c
		apart[a] = float64(n-1) / float64(max(1, c-1))
	}
	taps := readable.Join("%d", " × ", o.Length)
	if filters == 1 {
		return fmt.Sprintf("one filter of %s points", taps)
	}
	return fmt.Sprintf("%d filters of %s points, %s points apart", filters, taps, readable.Join("%.3g", " × ", apart))
}

// Bytes is the memory of Match for an image of that shape, without the images.
func (o MatchOptions) Bytes(shape []int) int64 {
	taps, filters, row, plane := int64(1), int64(1), int64(1), int64(1)
	for a, n := range shape {
		c := int64(Windows(n, o.Window[a]))
		taps *= int64(o.Length[a])
		filters *= c
		if a > 0 {
			row *= c
			plane *= c * int64(o.Length[a])
		}
	}
	scratch := int64(o.Threads) * plane * int64(o.Length[0]+2)
	return 8 * (filters*taps + row*taps*(taps+2) + scratch)
}

// Filters are filters b_w of short length around the points of a coarse lattice,
// blended linearly between them:
//
//	(b ∗ m)(x) = Σ_w φ_w(x) Σ_k b_w[k] m(x − k),
//
// with φ_w one at its own lattice point, zero at the others and linear along each
// axis between, so that Σ_w φ_w = 1; m is zero outside the image.
type Filters struct {
	axes    [3]axis // an image of two axes has one point along y
	b       [][]float64
	threads int
}

// axis is one axis of the lattice and of the filters.
type axis struct {
	n, centres, length int
}

func (a axis) half() int { return a.length / 2 }

// hat is φ of centre w at point x, zero outside the image.
func (a axis) hat(w, x int) float64 {
	switch {
	case x < 0 || x >= a.n:
		return 0
	case a.centres == 1:
		return 1
	}
	return max(0, 1-math.Abs(float64(x*(a.centres-1))/float64(a.n-1)-float64(w)))
}

// support is the range of points at which hats of centre w, moved by −k for k from lo
// to hi, may be other than zero.
func (a axis) support(w, lo, hi int) (from, to int) {
	if a.centres == 1 {
		return max(0, -hi), min(a.n, a.n-lo)
	}
	step := float64(a.n-1) / float64(a.centres-1)
	return max(0, int(math.Floor(float64(w-1)*step))-hi), min(a.n, int(math.Ceil(float64(w+1)*step))+1-lo)
}

// Windows is the number of centres on an axis of n points with about window points
// between two of them.
func Windows(n, window int) int { return 1 + int(math.Round(float64(n-1)/float64(window))) }

// ridge is the weight of a filter's deviation from a plain factor, relative to the
// mean energy that its taps see.
const ridge = 1e-4

// Match finds the filters with b ∗ from ≈ to, as Guitton (2004, "Amplitude and
// kinematic corrections of migrated images for nonunitary imaging operators",
// Geophysics 69, 1017–1024) does for two images, from = AᵀA to, so that b stands for
// the inverse of AᵀA. Each filter has a small problem of its own,
//
//	min Σ_x φ_w(x) (Σ_k b_w[k] from(x − k) − to(x))² + ε E_w Σ_k (b_w[k] − a_w δ[k])²,
//
// with E_w the mean over k of Σ_x φ_w(x) from(x − k)², ε = 10⁻⁴, and a_w the factor
// that alone fits best: where there is little to learn from, the filter only scales.
func Match(shape []int, from, to []float32, o MatchOptions) *Filters {
	size(shape, from)
	size(shape, to)
	f := &Filters{threads: o.Threads}
	for a := range f.axes {
		f.axes[a] = axis{1, 1, 1}
	}
	for a, n := range shape {
		at := a
		if a == len(shape)-1 {
			at = 2
		}
		if o.Length[a]%2 == 0 || o.Length[a] > n || o.Length[a] < 1 {
			panic(fmt.Sprintf("imaging: filter of %d taps along an axis of %d points", o.Length[a], n))
		}
		f.axes[at] = axis{n, Windows(n, o.Window[a]), o.Length[a]}
	}
	for row := range f.axes[0].centres {
		f.b = append(f.b, f.solve(f.normal(row, from, to))...)
	}
	return f
}

// taps is the number of taps of a filter, tap the number of the one with offset k.
func (f *Filters) taps() int { return f.axes[0].length * f.axes[1].length * f.axes[2].length }

func (f *Filters) tap(k [3]int) int {
	n := 0
	for a, x := range f.axes {
		n = n*x.length + k[a] + x.half()
	}
	return n
}

// offset is the reverse of tap.
func (f *Filters) offset(n int) (k [3]int) {
	for a := 2; a >= 0; a-- {
		k[a] = n%f.axes[a].length - f.axes[a].half()
		n /= f.axes[a].length
	}
	return k
}

// normal makes the normal equations of the filters with one x. Element k, k+e of a matrix
// is Σ_x φ_w(x) from(x−k) from(x−k−e): the moment, with a hat moved by −k, of from times
// itself moved by e, so that all windows and all k of one e are one pass over the image.
func (f *Filters) normal(row int, from, to []float32) (g []*mat.SymDense, h []*mat.VecDense) {
	n := f.taps()
	for range f.axes[1].centres * f.axes[2].centres {
		g = append(g, mat.NewSymDense(n, nil))
		h = append(h, mat.NewVecDense(n, nil))
	}
	lags := f.lags()
	parallel(f.threads, len(lags)+n, func(i int) {
		if i >= len(lags) {
			f.moments(row, to, from, f.offset(i-len(lags)), [3][2]int{}, func(w int, _ [3]int, v float64) {
				h[w].SetVec(i-len(lags), v)
			})
			return
		}
		e := lags[i]
		var k [3][2]int // for which k and k+e are taps
		for a, x := range f.axes {
			k[a] = [2]int{max(-x.half(), -x.half()-e[a]), min(x.half(), x.half()-e[a])}
		}
		f.moments(row, from, from, e, k, func(w int, k [3]int, v float64) {
			g[w].SetSym(f.tap(k), f.tap([3]int{k[0] + e[0], k[1] + e[1], k[2] + e[2]}), v)
		})
	})
	return g, h
}

// lags lists the differences of two taps, of e and −e one.
func (f *Filters) lags() (all [][3]int) {
	x, y, z := f.axes[0].length-1, f.axes[1].length-1, f.axes[2].length-1
	for i := 0; i <= x; i++ {
		for j := -y; j <= y; j++ {
			for k := -z; k <= z; k++ {
				if i > 0 || j > 0 || j == 0 && k >= 0 {
					all = append(all, [3]int{i, j, k})
				}
			}
		}
	}
	return all
}

// moments gives Σ_x φ_w(x+k) p(x) q(x−e) for all windows w with the given x and all k
// in the given ranges, axis after axis.
func (f *Filters) moments(row int, p, q []float32, e [3]int, k [3][2]int, give func(w int, k [3]int, v float64)) {
	x, y, z := f.axes[0], f.axes[1], f.axes[2]
	nx, ny, nz := k[0][1]-k[0][0]+1, k[1][1]-k[1][0]+1, k[2][1]-k[2][0]+1
	hy, hz := y.hats(k[1]), z.hats(k[2])
	lines := y.centres * ny
	columns := z.centres * nz
	sums := make([]float64, nx*lines*columns)
	plane, line := make([]float64, lines*columns), make([]float64, columns)
	first, last := x.support(row, k[0][0], k[0][1])
	for i := max(first, e[0]); i < min(last, x.n+e[0]); i++ {
		clear(plane)
		for j := max(0, e[1]); j < min(y.n, y.n+e[1]); j++ {
			clear(line)
			pp, qq := p[(i*y.n+j)*z.n:][:z.n], q[((i-e[0])*y.n+j-e[1])*z.n:][:z.n]
			for c, h := range hz {
				lo, hi := max(h.from, e[2]), min(h.from+len(h.v), z.n+e[2])
				for m := lo; m < hi; m++ {
					line[c] += h.v[m-h.from] * (float64(pp[m]) * float64(qq[m-e[2]]))
				}
			}
			for c, h := range hy {
				if j < h.from || j >= h.from+len(h.v) {
					continue
				}
				weight := h.v[j-h.from]
				for m, v := range line {
					plane[c*columns+m] += weight * v
				}
			}
		}
		for c := range nx {
			weight := x.hat(row, i+k[0][0]+c)
			if weight == 0 {
				continue
			}
			for m, v := range plane {
				sums[c*lines*columns+m] += weight * v
			}
		}
	}
	for c, v := range sums {
		cx, r := c/(lines*columns), c%(lines*columns)
		cy, cz := r/columns, r%columns
		give(cy/ny*z.centres+cz/nz, [3]int{k[0][0] + cx, k[1][0] + cy%ny, k[2][0] + cz%nz}, v)
	}
}

// moved is a hat at some points of its axis.
type moved struct {
	from int
	v    []float64
}

// hats are those of all centres, each moved by −k for the given range of k.
func (a axis) hats(k [2]int) (all []moved) {
	for w := range a.centres {
		for d := k[0]; d <= k[1]; d++ {
			from, to := a.support(w, d, d)
			h := moved{from: from}
			for x := from; x < to; x++ {
				h.v = append(h.v, a.hat(w, x+d))
			}
			all = append(all, h)
		}
	}
	return all
}

// solve returns the filters that solve the given normal equations.
func (f *Filters) solve(g []*mat.SymDense, h []*mat.VecDense) [][]float64 {
	n, zero := f.taps(), f.tap([3]int{})
	b := make([][]float64, len(g))
	parallel(f.threads, len(g), func(w int) {
		b[w] = make([]float64, n)
		energy := mat.Trace(g[w]) / float64(n)
		if !(energy > 0) {
			return
		}
		factor := 0.0
		if v := g[w].At(zero, zero); v > 0 {
			factor = h[w].AtVec(zero) / v
		}
		for k := range n {
			g[w].SetSym(k, k, g[w].At(k, k)+ridge*energy)
		}
		h[w].SetVec(zero, h[w].AtVec(zero)+ridge*energy*factor)
		var c mat.Cholesky
		x := mat.NewVecDense(n, b[w])
		if !c.Factorize(g[w]) || c.SolveVecTo(x, h[w]) != nil {
			clear(b[w])
			b[w][zero] = factor
		}
	})
	return b
}

// Apply returns b ∗ m.
func (f *Filters) Apply(m []float32) []float32 {
	x, y, z := f.axes[0], f.axes[1], f.axes[2]
	out := make([]float32, len(m))
	parallel(f.threads, x.n*y.n, func(line int) {
		i, j := line/y.n, line%y.n
		b := f.along(i, j)
		for l := range z.n {
			at := 0.0
			if z.centres > 1 {
				at = float64(l*(z.centres-1)) / float64(z.n-1)
			}
			w := min(int(at), max(0, z.centres-2))
			next := min(w+1, z.centres-1)
			out[line*z.n+l] = float32(f.at(m, i, j, l, b[w], b[next], at-float64(w)))
		}
	})
	return out
}

// along is the filters at the centres along z, at one x and y.
func (f *Filters) along(i, j int) [][]float64 {
	x, y, z := f.axes[0], f.axes[1], f.axes[2]
	b := make([][]float64, z.centres)
	for c := range b {
		b[c] = make([]float64, f.taps())
		for wx := range x.centres {
			for wy := range y.centres {
				weight := x.hat(wx, i) * y.hat(wy, j)
				if weight == 0 {
					continue
				}
				for k, v := range f.b[(wx*y.centres+wy)*z.centres+c] {
					b[c][k] += weight * v
				}
			}
		}
	}
	return b
}

// at is one point filtered by (1−t)·b + t·c.
func (f *Filters) at(m []float32, i, j, l int, b, c []float64, t float64) float64 {
	x, y, z := f.axes[0], f.axes[1], f.axes[2]
	sum, tap := 0.0, 0
	for dx := -x.half(); dx <= x.half(); dx++ {
		for dy := -y.half(); dy <= y.half(); dy++ {
			if i-dx < 0 || i-dx >= x.n || j-dy < 0 || j-dy >= y.n {
				tap += z.length
				continue
			}
			line := m[((i-dx)*y.n+j-dy)*z.n:][:z.n]
			for dz := -z.half(); dz <= z.half(); dz++ {
				if at := l - dz; at >= 0 && at < z.n {
					sum += ((1-t)*b[tap] + t*c[tap]) * float64(line[at])
				}
				tap++
			}
		}
	}
	return sum
}
