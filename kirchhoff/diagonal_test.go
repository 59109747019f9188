package kirchhoff

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// columns returns the diagonal of AᵀW²A from the columns W A e_i of the reference.
func columns(t *testing.T, p *Problem, w2 []float64) []float64 {
	t.Helper()
	ref, err := NewReference(t.Context(), p, Work{})
	if err != nil {
		t.Fatal(err)
	}
	h := device.NewHost(1)
	out := make([]float64, p.Grid.Len())
	x, y := make([]float64, len(out)), make([]float64, len(w2))
	for i := range out {
		clear(y)
		x[i] = 1
		if err := only(ref).Forward(t.Context(), device.Wrap(h, y), device.Wrap(h, x)); err != nil {
			t.Fatal(err)
		}
		x[i] = 0
		for n, v := range y {
			out[i] += w2[n] * v * v
		}
	}
	return out
}

// weightings are ones, a weight for each trace, and one for each sample, some zero.
func weightings(p *Problem, seed uint64) [3][]float64 {
	n := p.NumTraces() * p.NT
	var w [3][]float64
	for i := range w {
		w[i] = make([]float64, n)
	}
	r := noise(seed, n)
	for i := range n {
		w[0][i] = 1
		w[1][i] = math.Pow(float64(r[i/p.NT]), 2)
		w[2][i] = math.Pow(float64(r[i]), 2)
		if i%5 == 2 {
			w[2][i] = 0
		}
	}
	return w
}

// TestDiagonal: the diagonal is that of the columns, with every engine, set of kernels
// and weight.
func TestDiagonal(t *testing.T) {
	h := device.NewHost(1)
	nonzero := 0
	for i, c := range trials() {
		c.antialias, c.arrivals = false, 0 // see TestDiagonalOfBands; that of several arrivals leaves terms out
		if i%4 == 0 && c.weights+c.limits > 0 {
			c.unequal, c.rays = 1+i%3%2, false
		}
		p := c.problem(t, uint64(i))
		if i%5 != 0 || p.Grid.Len() > 400 {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			all := append(everyEngine(t, p), newCPUEngine(t, p, Work{Remake: true, Budget: 2 * Needs(p, Work{}).Place}))
			for k, w2 := range weightings(p, uint64(i)) {
				want := columns(t, p, w2)
				if slices.Max(want) > 0 {
					nonzero++
				}
				for _, e := range all {
					got := make([]float64, len(want))
					near := 1e-12
					q, err := e.Squared()[0], error(nil)
					if e.Type() == device.F64 {
						err = q.Adjoint(t.Context(), device.Wrap(h, got), device.Wrap(h, w2))
					} else {
						near = 1e-5
						image, weights := make([]float32, len(got)), make([]float32, len(w2))
						for n, v := range w2 {
							weights[n] = float32(v)
						}
						err = q.Adjoint(t.Context(), device.Wrap(h, image), device.Wrap(h, weights))
						got = wide(image)
					}
					if err != nil {
						t.Fatal(err)
					}
					if diff := difference(got, want); !(diff <= near) {
						t.Errorf("%s, weights %d: diagonal differs from the columns' by %.2e", name(e), k, diff)
					}
				}
			}
		})
	}
	if nonzero == 0 {
		t.Error("all diagonals are zero")
	}
}

// TestDiagonalOnShares: exact sums give the same bits however shots, slabs and threads
// are shared out, with full and recomputed tables.
func TestDiagonalOnShares(t *testing.T) {
	for _, dim := range []int{2, 3} {
		shape := [][]int{nil, nil, {150, 40}, {40, 12, 14}}[dim]
		p := sorted(fixedSpread(t, shape, 12, [2]int{5, 1}, [2]int{9, 3}, 180, true))
		for k, w2 := range weightings(p, 7) {
			weights := make([]float32, len(w2))
			for n, v := range w2 {
				weights[n] = float32(v)
			}
			t.Run(fmt.Sprintf("%dD/weights=%d", dim, k), func(t *testing.T) {
				var first []float32
				for i, l := range []layout{{shots: 1, blocks: 1, threads: 1}, {shots: 3, blocks: 2, threads: 2}, {shots: 2, blocks: 3, threads: 1, budget: 20}} {
					g := split(t, p, l.shots, l.blocks, l.threads, l.budget, uint64(i))
					g.square()
					quantum, _, _ := g.quantum(t, dist.Backward, weights)
					got := g.apply(t, dist.Backward, weights, quantum, uint64(i))
					if i == 0 {
						first = got
						if slices.Max(got) <= 0 {
							t.Fatal("the diagonal is zero")
						}
					} else if !slices.Equal(got, first) {
						t.Errorf("%+v: other bits, difference %.2e", l, difference(wide(got), wide(first)))
					}
					g.close()
				}
			})
		}
	}
}

// BenchmarkDiagonal reports the time of one diagonal over that of one adjoint.
func BenchmarkDiagonal(b *testing.B) {
	for _, dynamic := range []bool{false, true} {
		for isa := simd.Portable; isa <= simd.Best(); isa++ {
			b.Run(fmt.Sprintf("dynamic=%v/%v", dynamic, isa), func(b *testing.B) {
				b.Setenv("LSM_CPU_ISA", isa.String())
				p := fixedSpread(b, []int{256, 200}, 10, [2]int{16, 1}, [2]int{32, 1}, 600, dynamic)
				e := newCPUEngine(b, p, Work{})
				h := device.NewHost(1)
				ones, image := make([]float32, p.NumTraces()*p.NT), make([]float32, p.Grid.Len())
				for i := range ones {
					ones[i] = 1
				}
				q := e.Squared()[0]
				apply := func(k dist.Kernel) float64 {
					start := b.Elapsed()
					if err := k.Adjoint(b.Context(), device.Wrap(h, image), device.Wrap(h, ones)); err != nil {
						b.Fatal(err)
					}
					return float64(b.Elapsed() - start)
				}
				adjoint, diagonal := 0.0, 0.0
				for b.Loop() {
					adjoint += apply(only(e))
					diagonal += apply(q)
				}
				b.ReportMetric(diagonal/adjoint, "adjoints")
			})
		}
	}
}

// TestDiagonalOfBands: with anti-aliasing each pair counts as the triangle of its band makes it. Where no
// weights lie near the ends of the record the diagonal is that of the columns, with every engine;
// elsewhere all engines have the same one.
func TestDiagonalOfBands(t *testing.T) {
	h := device.NewHost(1)
	for _, dim := range []int{2, 3} {
		p := trial{dim: dim, antialias: true}.problem(t, 3)
		p.NT, p.T0 = 400, 0
		p.Wavelet = survey.Wavelet{Samples: []float64{0.3, -0.5, 1, -0.6, 0.2}, DT: p.DT, Zero: 2}
		if p.Bands() < 2 {
			t.Fatalf("%d band", p.Bands())
		}
		ends := len(p.Wavelet.Samples) + int(halfLength(p.Bands()-1))
		for k, w2 := range weightings(p, 5) {
			whole := k == 2
			for i := range w2 {
				if n := i % p.NT; !whole && (n < ends || n >= p.NT-ends) {
					w2[i] = 0
				}
			}
			want := columns(t, p, w2)
			if slices.Max(want) == 0 {
				t.Fatalf("%d-D: all columns are zero, %d of %d samples are ends", dim, 2*ends, p.NT)
			}
			for i, e := range everyEngine(t, p) {
				image, weights := buffer(t, h, e, p.Grid.Len()), buffer(t, h, e, len(w2))
				got := make([]float64, len(want))
				if err := errors.Join(device.Upload(weights, w2), e.Squared()[0].Adjoint(t.Context(), image, weights), device.Download(got, image)); err != nil {
					t.Fatal(err)
				}
				if whole && i == 0 {
					want = got
				}
				if diff := difference(got, want); !(diff <= 1e-5) {
					t.Errorf("%d-D, %s, weights %d: differs by %.2e", dim, name(e), k, diff)
				}
			}
		}
	}
}
