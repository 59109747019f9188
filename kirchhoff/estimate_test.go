package kirchhoff

import (
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/pages"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

func bytesOf[T float32 | float64](list ...*simd.Memory[T]) (n int64) {
	var t T
	size := int64(4)
	if any(t) == any(float64(0)) {
		size = 8
	}
	for _, m := range list {
		if m != nil {
			n += size * int64(len(m.S))
		}
	}
	return n
}

// TestEstimates: what an engine on a slab is said to take is within 5 per cent of
// what it holds.
func TestEstimates(t *testing.T) {
	for _, c := range []struct {
		shape   []int
		slab    [2]int
		dynamic bool
		compact bool
		alias   []float64
	}{
		{[]int{201, 90}, [2]int{}, true, false, nil},
		{[]int{201, 90}, [2]int{64, 192}, true, true, nil},
		{[]int{300, 90}, [2]int{256, 300}, false, false, nil},
		{[]int{300, 90}, [2]int{}, false, false, []float64{25}},
		{[]int{40, 30, 20}, [2]int{16, 40}, true, false, nil},
		{[]int{40, 30, 20}, [2]int{16, 40}, true, false, []float64{20, 25}},
	} {
		dim := len(c.shape)
		p := fixedSpread(t, c.shape, 10, [2]int{20, 1}, [2]int{30, dim - 1}, 400, c.dynamic)
		p.Slab, p.Compact, p.Threads, p.Antialias = c.slab, c.compact, 2, c.alias
		e, err := NewCPU(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if got, want := e.TableBytes(), int64(p.Positions.Len())*p.PlaceBytes(); got != want {
			t.Errorf("%+v: tables of %d bytes, estimated %d", c, got, want)
		}
		held := bytesOf(e.image32, e.rows) + bytesOf(e.image64) + 2*12*int64(len(e.op.Pairs.S))
		for _, w := range e.windows {
			held += bytesOf(w.Memory)
		}
		if got := p.ScratchBytes() + p.TraceBytes(p.NumTraces()); math.Abs(float64(got)/float64(held)-1) > 0.05 {
			t.Errorf("%+v: %d bytes besides tables, estimated %d", c, held, got)
		}
		held = 4 * int64(len(e.scale)+len(e.tiles.point))
		for _, r := range e.antialias {
			held += 8 * int64(len(r.sums))
		}
		if got := p.HeapBytes(); math.Abs(float64(got)/float64(held)-1) > 0.05 {
			t.Errorf("%+v: %d bytes on Go's heap, estimated %d", c, held, got)
		}
		// What each thread held while the tables were made.
		var making pages.Arena
		defer making.Free()
		time := traveltime.Field{Time: make([]float64, p.Grid.Len())}
		if c.dynamic {
			if err := newWeights(p).of(&slowness{memory: &making}, 0, time); err != nil {
				t.Fatal(err)
			}
		}
		if e.bands != nil {
			if _, err := e.bands.slopes(&gradient{memory: &making}, e.tiles, time.Time); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := p.MakingBytes()-p.FieldBytes(), 2*int64(making.Bytes()); got != want {
			t.Errorf("%+v: %d bytes while tables are made, estimated %d", c, want, got)
		}
		d, m := make([]float32, p.NumTraces()*p.NT), make([]float32, p.ImageLen())
		h := device.NewHost(1)
		for _, q := range []float64{0, 1e-6} {
			if _, err := e.Begin(t.Context(), dist.Forward, device.Wrap(h, d), device.Wrap(h, m), q); err != nil {
				t.Fatal(err)
			}
		}
		if bytesOf(e.ring32) != p.PieceBytes(false) || bytesOf(e.ring64) != p.PieceBytes(true) {
			t.Errorf("%+v: pieces of %d and %d bytes, estimated %d and %d", c, bytesOf(e.ring32), bytesOf(e.ring64),
				p.PieceBytes(false), p.PieceBytes(true))
		}
	}
}
