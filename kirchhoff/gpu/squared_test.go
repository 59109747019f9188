package gpu

import (
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
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

// diagonal is the adjoint of an engine's squared operator, of one image.
func diagonal(t *testing.T, d device.Device, e kirchhoff.Engine, w2 []float32, points int) []float32 {
	t.Helper()
	return diagonals(t, d, e, w2, points)[:points]
}

// diagonals are those of all images of an engine, one after the other.
func diagonals(t *testing.T, d device.Device, e kirchhoff.Engine, w2 []float32, points int) (all []float32) {
	t.Helper()
	for _, k := range e.Squared() {
		from, err := d.Alloc(len(w2), e.Type())
		must(t, err)
		must(t, device.Upload(from, w2))
		to, err := d.Alloc(points, e.Type())
		must(t, err)
		must(t, k.Adjoint(t.Context(), to, from))
		all = append(all, download(t, to)...)
	}
	return all
}

// TestDiagonals: each of several images has the diagonal that the cpu engine gives it.
func TestDiagonals(t *testing.T) {
	d, h := open(t, driver.CUDA), device.NewHost(2)
	for i, p := range gathered(t) {
		w := classesOf(p)(p, 0, p.NumTraces())
		cpu, err := kirchhoff.New(t.Context(), p, w)
		must(t, err)
		defer cpu.Close()
		w2 := squares(p, false)
		got, want := diagonals(t, d, working(t, d, p, w), w2, p.Grid.Len()), diagonals(t, h, cpu, w2, p.Grid.Len())
		if diff := difference(got, want); !(diff <= 1e-5) {
			t.Errorf("problem %d differs by %.2e", i, diff)
		}
	}
}

// TestDiagonal: the diagonal is that of the cpu engine and of the reference, whatever the
// operator is made of, and leaves the operator as it was.
func TestDiagonal(t *testing.T) {
	d, h := open(t, driver.CUDA), device.NewHost(2)
	for i, c := range trials() {
		if i%3 != 1 || !gputest.Part(i, 2, 8) {
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
					if diff := difference(got, diagonal(t, h, other, w2, n)); !(diff <= 1e-5) {
						t.Errorf("ones %v: differs from %s by %.2e", ones, other.Name(), diff)
					}
				}
			}
			if _, after := both(t, d, e, make([]float32, n), x); !slices.Equal(after, before) {
				t.Error("the adjoint is another after the diagonal")
			}
			data := upload(t, d, x)
			if err := e.Squared()[0].Forward(t.Context(), data, upload(t, d, make([]float32, n))); err == nil {
				t.Error("the squared operator has a forward")
			}
		})
	}
}
