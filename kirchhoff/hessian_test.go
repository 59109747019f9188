package kirchhoff

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// middle is a target of about the middle half of p's image along each axis.
func middle(p *Problem) (t Target) {
	for _, n := range p.Grid.Shape {
		t.Lo, t.Hi = append(t.Lo, n/5), append(t.Hi, n-n/4)
	}
	return t
}

// wholeImage is all of p's image.
func wholeImage(p *Problem) Target { return Target{Lo: make([]int, p.Grid.Dim()), Hi: p.Grid.Shape} }

// newHessian makes a Hessian.
func newHessian(t testing.TB, engine string, p *Problem, of Target) *Hessian {
	t.Helper()
	h, err := NewHessian(t.Context(), engine, p, of)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// whole returns all rows of H.
func (h *Hessian) whole(t testing.TB, w2 []float32) []float64 {
	t.Helper()
	n := h.Len()
	out := make([]float64, n*n)
	if err := h.Add(t.Context(), out, [2]int{0, n}, [2]int{0, n}, w2); err != nil {
		t.Fatal(err)
	}
	return out
}

// timesOperator returns AᵀW²A v at a target's points by the reference, v being zero elsewhere.
func timesOperator(t testing.TB, p *Problem, points []int32, v []float64, w2 []float32) []float64 {
	t.Helper()
	ref, err := NewReference(t.Context(), p, Work{})
	if err != nil {
		t.Fatal(err)
	}
	host := device.NewHost(1)
	image, back, data := make([]float64, p.Grid.Len()), make([]float64, p.Grid.Len()), make([]float64, p.NumTraces()*p.NT)
	for n, i := range points {
		image[i] = v[n]
	}
	if err := only(ref).Forward(t.Context(), device.Wrap(host, data), device.Wrap(host, image)); err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] *= weightOf(p, w2, i)
	}
	if err := only(ref).Adjoint(t.Context(), device.Wrap(host, back), device.Wrap(host, data)); err != nil {
		t.Fatal(err)
	}
	out := make([]float64, len(points))
	for n, i := range points {
		out[n] = back[i]
	}
	return out
}

// weightOf is the squared weight of sample i of the data.
func weightOf(p *Problem, w2 []float32, i int) float64 {
	switch len(w2) {
	case 0:
		return 1
	case p.NumTraces():
		return float64(w2[i/p.NT])
	}
	return float64(w2[i])
}

// times returns H v.
func times(matrix, v []float64) []float64 {
	n := len(v)
	out := make([]float64, n)
	for x := range out {
		for y, a := range matrix[x*n : (x+1)*n] {
			out[x] += a * v[y]
		}
	}
	return out
}

// hessianWeights are none, those of traces, and those of samples, some zero.
func hessianWeights(p *Problem, seed uint64) map[string][]float32 {
	all := weightings(p, seed)
	of := map[string][]float32{"none": nil}
	for i := 0; i < len(all[1]); i += p.NT {
		of["traces"] = append(of["traces"], float32(all[1][i]))
	}
	for _, v := range all[2] {
		of["samples"] = append(of["samples"], float32(v))
	}
	return of
}

// TestHessian: H v is AᵀW²A v, and H is symmetric to the bit, whatever the operator is made of.
func TestHessian(t *testing.T) {
	nonzero := map[string]int{} // by engine
	for i, c := range trials() {
		c.arrivals = 0 // it has one
		if i%4 == 0 && c.weights+c.limits > 0 {
			c.unequal, c.rays = 1+i%3%2, false
		}
		p := c.problem(t, uint64(i))
		if i%5 != 0 || p.Grid.Len() > 400 {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			of := []Target{middle(p), wholeImage(p)}[i/5%2]
			for engine, h := range everyHessian(t, p, of) {
				v := wide(noise(uint64(i), h.Len()))
				for name, w2 := range hessianWeights(p, uint64(i)) {
					matrix := h.whole(t, w2)
					for x := range h.Len() {
						for y := range x {
							if matrix[x*h.Len()+y] != matrix[y*h.Len()+x] {
								t.Fatalf("%s, weights of %s: elements (%d, %d) and (%d, %d) differ", engine, name, x, y, y, x)
							}
						}
					}
					want := timesOperator(t, p, h.Points(), v, w2)
					if largest(want) > 0 {
						nonzero[engine]++
					}
					near := 1e-12
					if engine != "reference" {
						near = 1e-6
					}
					if d := difference(times(matrix, v), want); !(d <= near) {
						t.Errorf("%s, weights of %s: H v differs from the operator's by %.2e", engine, name, d)
					}
				}
			}
		})
	}
	if len(nonzero) == 0 {
		t.Error("all products are zero")
	}
	for engine, n := range nonzero {
		if n < 25 {
			t.Errorf("%s: only %d products are not zero", engine, n)
		}
	}
}

// everyHessian makes the Hessian of a target with every engine this processor runs, by name.
func everyHessian(t testing.TB, p *Problem, of Target) map[string]*Hessian {
	all := map[string]*Hessian{"reference": newHessian(t, "reference", p, of)}
	for isa := simd.Portable; isa <= simd.Best(); isa++ {
		t.Setenv("LSM_CPU_ISA", isa.String())
		all[isa.String()] = newHessian(t, "cpu", p, of)
	}
	return all
}

// TestHessianBlocks: an element has the same bits in any block and on any threads.
func TestHessianBlocks(t *testing.T) {
	for _, c := range []trial{{dim: 2, weights: 1, antialias: true}, {dim: 3, weights: 1}} {
		p := c.problem(t, 23)
		p.Threads = 1
		alone := everyHessian(t, p, middle(p))
		p.Threads = 3
		for engine, h := range everyHessian(t, p, middle(p)) {
			n, w2 := h.Len(), hessianWeights(p, 3)["traces"]
			want := alone[engine].whole(t, w2)
			if largest(want) == 0 {
				t.Fatalf("%v: the Hessian is zero", c)
			}
			for _, b := range [][4]int{{0, n, 0, n}, {0, n / 3, n / 2, n}, {n / 2, n, 0, n / 3}, {n / 4, n / 2, n / 3, n - 1}, {2, 2, 0, n}} {
				rows, cols := [2]int{b[0], b[1]}, [2]int{b[2], b[3]}
				got := make([]float64, (b[1]-b[0])*(b[3]-b[2]))
				if err := h.Add(t.Context(), got, rows, cols, w2); err != nil {
					t.Fatal(err)
				}
				for i, v := range got {
					x, y := b[0]+i/(b[3]-b[2]), b[2]+i%(b[3]-b[2])
					if v != want[x*n+y] {
						t.Fatalf("%v: %s: rows %v, columns %v: element (%d, %d) is %g, in the whole %g", c, engine, rows, cols, x, y, v, want[x*n+y])
					}
				}
			}
		}
	}
}

// TestHessianDiagonal: the diagonal of H is that of the squared operator.
func TestHessianDiagonal(t *testing.T) {
	for _, c := range []trial{{dim: 2, weights: 2, limits: 3}, {dim: 3, weights: 1, short: true, t0: 0.0713}} {
		p := c.problem(t, 18)
		for k, w2 := range weightings(p, 5) {
			narrow := make([]float32, len(w2))
			for i, v := range w2 {
				narrow[i] = float32(v)
			}
			want := columns(t, p, wide(narrow))
			for engine, h := range everyHessian(t, p, middle(p)) {
				matrix := h.whole(t, narrow)
				got, of := make([]float64, h.Len()), make([]float64, h.Len())
				for n, i := range h.Points() {
					got[n], of[n] = matrix[n*h.Len()+n], want[i]
				}
				if d := difference(got, of); largest(of) == 0 || !(d <= 1e-6) {
					t.Errorf("%v: %s, weights %d: differs from the diagonal by %.2e", c, engine, k, d)
				}
			}
		}
	}
}

// TestHessianBeyondApertures: a target that no trace reaches has the Hessian 0, one that some traces
// reach needs the tables of their places alone, and traces between are tapered.
func TestHessianBeyondApertures(t *testing.T) {
	p := fixedSpread(t, []int{200, 24}, 10, [2]int{5, 1}, [2]int{9, 1}, 150, true)
	p.Aperture, p.ApertureTaper = []float64{70}, []float64{35}
	for _, c := range []struct {
		lo, hi int
		zero   bool
	}{{0, 3, true}, {90, 100, false}} {
		of := Target{Lo: []int{c.lo, 4}, Hi: []int{c.hi, 20}}
		for engine, h := range everyHessian(t, p, of) {
			matrix := h.whole(t, nil)
			if zero := largest(matrix) == 0; zero != c.zero {
				t.Errorf("%s: columns %d up to %d: the Hessian is zero: %v, want %v", engine, c.lo, c.hi, zero, c.zero)
			}
			if len(h.traces) > p.NumTraces()/3 {
				t.Errorf("%s: %d of %d traces count", engine, len(h.traces), p.NumTraces())
			}
			v := wide(noise(7, h.Len()))
			if d := difference(times(matrix, v), timesOperator(t, p, h.Points(), v, nil)); !(d <= 1e-6) {
				t.Errorf("%s: columns %d up to %d: H v differs from the operator's by %.2e", engine, c.lo, c.hi, d)
			}
		}
	}
}

// TestHessianOfLongRecords: with a record much longer than the wavelet most tiles share the products of
// one row, and with a mute those of two.
func TestHessianOfLongRecords(t *testing.T) {
	for _, c := range []struct {
		shape     []int
		mute      int // sample
		antialias bool
	}{{[]int{40, 40}, 30, false}, {[]int{40, 33}, 30, true}, {[]int{17, 10, 14}, 5, false}} {
		dim := len(c.shape)
		p := fixedSpread(t, c.shape, 10, [2]int{3, 1}, [2]int{4, 1 + dim/3}, 500, true)
		if c.antialias {
			p.Antialias = []float64{40}
		}
		muted := make([]float32, p.NumTraces()*p.NT)
		for i := range muted {
			muted[i] = float32(min(1, max(0, float64(i%p.NT-c.mute)/9)))
		}
		of := Target{Lo: make([]int, dim), Hi: slices.Clone(c.shape)}
		of.Lo[0], of.Hi[dim-1] = 5, c.shape[dim-1]-1
		all := everyHessian(t, p, of)
		v := wide(noise(11, all["reference"].Len()))
		for _, w2 := range [][]float32{nil, muted} {
			want := timesOperator(t, p, all["reference"].Points(), v, w2)
			for engine, h := range all {
				if engine == "reference" { // slow, and in TestHessian
					continue
				}
				if d := difference(times(h.whole(t, w2), v), want); largest(want) == 0 || !(d <= 1e-6) {
					t.Errorf("%v points, muted %v, %s: H v differs from the operator's by %.2e", c.shape, w2 != nil, engine, d)
				}
			}
		}
	}
}

// TestHessianErrors: what cannot be is refused by name.
func TestHessianErrors(t *testing.T) {
	p := trial{dim: 2}.problem(t, 3)
	n := p.Grid.Shape
	for _, c := range []struct {
		engine string
		of     Target
		want   string
	}{
		{"cuda", wholeImage(p), "the cuda engine does not"},
		{"abacus", wholeImage(p), "the abacus engine does not"},
		{"cpu", Target{Lo: []int{0}, Hi: []int{1}}, "the image has 2 axes"},
		{"cpu", Target{Lo: []int{0, 2}, Hi: []int{1, 2}}, "from point 2 up to 2 along axis 1"},
		{"cpu", Target{Lo: []int{-1, 0}, Hi: n}, "from point -1"},
		{"cpu", Target{Lo: []int{0, 0}, Hi: []int{n[0] + 1, n[1]}}, "along axis 0"},
	} {
		if _, err := NewHessian(t.Context(), c.engine, p, c.of); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %v: error %v, want one with %q", c.engine, c.of, err, c.want)
		}
	}
	h := newHessian(t, "cpu", p, wholeImage(p))
	dst := make([]float64, 6)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{h.Add(t.Context(), dst, [2]int{0, 2}, [2]int{0, 4}, nil), "6 elements for a block of the Hessian that has 8"},
		{h.Add(t.Context(), dst, [2]int{0, 2}, [2]int{h.Len() - 2, h.Len() + 1}, nil), "of a Hessian that has"},
		{h.Add(t.Context(), dst, [2]int{0, 2}, [2]int{0, 3}, make([]float32, 1)), "1 weights for"},
		{h.Add(ended, dst, [2]int{0, 2}, [2]int{0, 3}, nil), "canceled"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", c.err, c.want)
		}
	}
}

// met is the share of the pairs of points whose columns overlap on a trace.
func (h *Hessian) met(tb testing.TB) float64 {
	count, all := 0.0, 0.0
	n := h.Len()
	tiles, _ := h.meeting(block{rows: [2]int{0, n}, cols: [2]int{0, n}})
	g := h.newGathering(tiles, nil)
	defer g.free()
	for _, trace := range h.traces {
		if _, err := g.addProducts(tb.Context(), []int32{trace}, &g.memory); err != nil {
			tb.Fatal(err)
		}
		for x := range tiles {
			for y := range x + 1 {
				a, b := &g.arrivalsOn(x, 1)[0], &g.arrivalsOn(y, 1)[0]
				n := float64(h.cuts[x+1]-h.cuts[x]) * float64(h.cuts[y+1]-h.cuts[y])
				if all += n; a.First <= a.Last && b.First <= b.Last && int(max(a.First-b.Last, b.First-a.Last))-1 <= h.gram(nil).wide() {
					count += n
				}
			}
		}
	}
	return count / all
}

// BenchmarkHessian reports ns per (trace, pair of points that meet), on one thread, for every set of
// kernels this processor runs, with everything around the kernels.
func BenchmarkHessian(b *testing.B) {
	for _, c := range []struct {
		name               string
		shape, lo, hi      []int
		h                  float64
		sources, receivers [2]int
	}{
		{"64x64", []int{256, 200}, []int{96, 72}, []int{160, 136}, 10, [2]int{16, 1}, [2]int{32, 1}},
		{"16x16x16", []int{40, 40, 40}, []int{16, 16, 16}, []int{32, 32, 32}, 20, [2]int{4, 4}, [2]int{4, 8}},
	} {
		for isa := simd.Portable; isa <= simd.Best(); isa++ {
			b.Run(fmt.Sprintf("%s/%v", c.name, isa), func(b *testing.B) {
				b.Setenv("LSM_CPU_ISA", isa.String())
				p := fixedSpread(b, c.shape, c.h, c.sources, c.receivers, 1000, true)
				h := newHessian(b, "cpu", p, Target{c.lo, c.hi})
				n := h.Len()
				out := make([]float64, n*n)
				if err := h.Add(b.Context(), out, [2]int{0, n}, [2]int{0, n}, nil); err != nil { // so that its memory is there
					b.Fatal(err)
				}
				met := h.met(b)
				before := processorTime(b)
				for b.Loop() {
					if err := h.Add(b.Context(), out, [2]int{0, n}, [2]int{0, n}, nil); err != nil {
						b.Fatal(err)
					}
				}
				pairs := met * float64(b.N) * float64(p.NumTraces()) * float64(n) * float64(n+1) / 2
				b.ReportMetric(met, "met")
				b.ReportMetric((processorTime(b)-before)/pairs, "cpu-ns/pair")
			})
		}
	}
}
