package gpu

import (
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// squares are squared weights: ones, or others of which some are zero.
func squares(p *kirchhoff.Problem, ones bool) []float32 {
	w2 := noise(5, p.NumTraces()*p.NT)
	for i, v := range w2 {
		w2[i] = v * v
		if ones {
			w2[i] = 1
		} else if i%5 == 2 {
			w2[i] = 0
		}
	}
	return w2
}

// diagonal is the adjoint of an engine's squared operator.
func diagonal(t *testing.T, d device.Device, e kirchhoff.Engine, w2 []float32, points int) []float32 {
	t.Helper()
	from, err := d.Alloc(len(w2), e.Type())
	must(t, err)
	must(t, device.Upload(from, w2))
	to, err := d.Alloc(points, e.Type())
	must(t, err)
	must(t, e.Squared().Adjoint(t.Context(), to, from))
	return download(t, to)
}

// TestDiagonal: the diagonal is that of the cpu engine and of the reference, whatever the
// operator is made of, and leaves the operator as it was.
func TestDiagonal(t *testing.T) {
	d, h := open(t, driver.CUDA), device.NewHost(2)
	for i, c := range trials() {
		if i%3 != 1 {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			p := c.problem(t, uint64(i))
			e := engine(t, d, p)
			cpu, err := kirchhoff.New(t.Context(), p, kirchhoff.Work{})
			must(t, err)
			defer cpu.Close()
			ref, err := kirchhoff.NewReference(t.Context(), p, kirchhoff.Work{})
			must(t, err)
			x, n := noise(uint64(i), p.NumTraces()*p.NT), p.Grid.Len()
			_, before := both(t, d, e, make([]float32, n), x)
			for _, ones := range []bool{true, false} {
				w2 := squares(p, ones)
				got := diagonal(t, d, e, w2, n)
				for _, other := range []kirchhoff.Engine{cpu, ref} {
					if other == ref && c.compact {
						continue // its times are others
					}
					if diff := difference(got, diagonal(t, h, other, w2, n)); !(diff <= 1e-5) {
						t.Errorf("ones %v: differs from %s by %.2e", ones, other.Name(), diff)
					}
				}
			}
			if _, after := both(t, d, e, make([]float32, n), x); !slices.Equal(after, before) {
				t.Error("the adjoint is another after the diagonal")
			}
			data := upload(t, d, x)
			if err := e.Squared().Forward(t.Context(), data, upload(t, d, make([]float32, n))); err == nil {
				t.Error("the squared operator has a forward")
			}
		})
	}
}

// TestDiagonalOnShares: exact sums have the same bits however shots and slabs are shared
// out.
func TestDiagonalOnShares(t *testing.T) {
	d := open(t, driver.CUDA)
	for i, p := range []*kirchhoff.Problem{
		spread(t, []int{201, 19}, 10, 9, 50, 250, true),
		spread(t, []int{37, 9, 21}, 20, 4, 19, 150, true),
	} {
		p = sorted(p)
		w2 := squares(p, false)
		var first []float32
		var bounds []float64
		for _, l := range [][2]int{{1, 1}, {2, 1}, {1, 3}, {4, 2}} {
			g := split(t, d, p, resident, l[0], l[1], uint64(i))
			g.squared = true
			q, parts := g.quantum(t, dist.Backward, w2)
			got := g.apply(t, dist.Backward, w2, q, 3)
			g.close()
			if first == nil {
				first, bounds = got, parts
				one := diagonal(t, d, engine(t, d, p), w2, p.Grid.Len())
				if diff := difference(got, one); !(diff <= 2e-6) {
					t.Errorf("the exact diagonal differs by %.2e", diff)
				}
			}
			if !slices.Equal(parts, bounds) || !slices.Equal(got, first) {
				t.Errorf("%v: other bounds or bits, difference %.2e", l, difference(got, first))
			}
		}
	}
}
