package kirchhoff

import (
	"math"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

func bytesOf[T any](list ...*simd.Memory[T]) (n int64) {
	for _, m := range list {
		n += int64(len(m.Bytes()))
	}
	return n
}

// TestNeeds: what an engine on a slab is said to take is within 5 per cent of what it
// holds.
func TestNeeds(t *testing.T) {
	for _, c := range []struct {
		shape   []int
		slab    [2]int
		dynamic bool
		alias   []float64
		unequal bool
		several int // arrivals
	}{
		{[]int{201, 90}, [2]int{}, true, nil, false, 0},
		{[]int{201, 90}, [2]int{64, 192}, true, nil, false, 0},
		{[]int{201, 90}, [2]int{}, true, nil, true, 0},
		{[]int{300, 90}, [2]int{256, 300}, false, nil, false, 0},
		{[]int{300, 90}, [2]int{}, false, []float64{25}, false, 0},
		{[]int{40, 30, 20}, [2]int{16, 40}, true, nil, false, 0},
		{[]int{40, 30, 20}, [2]int{16, 40}, true, []float64{20, 25}, false, 0},
		{[]int{201, 90}, [2]int{64, 192}, true, []float64{25}, false, 2},
	} {
		dim := len(c.shape)
		p := fixedSpread(t, c.shape, 10, [2]int{20, 1}, [2]int{30, dim - 1}, 400, c.dynamic)
		if c.slab != [2]int{} {
			takeSlab(p, c.slab)
		}
		p.Threads, p.Antialias = 2, c.alias
		if c.unequal {
			p.Times = traveltime.NewUnequal(p.Times, nil)
		}
		if c.several > 0 {
			p.Times = folded{p.Times, c.several}
		}
		e := newCPUEngine(t, p, Work{})
		n := Needs(p, Work{})
		o := e.tables
		held := 4*len(o.rows.S) + 8*len(o.spans.S) + 8*len(o.reach.S)
		if e.plan.bands.n > 1 {
			held += 4*len(o.slope.S) + 8*len(o.slopes.S)
		}
		if e.TableBytes() != int64(held) || n.Tables != int64(held) || n.AllTables != n.Tables || n.Place*int64(p.Positions.Len()) != n.Tables {
			t.Errorf("%+v: tables of %d bytes, said to be %d and %+v", c, held, e.TableBytes(), n)
		}
		near := func(what string, said, held int64) {
			t.Helper()
			if math.Abs(float64(said)/float64(held)-1) > 0.05 {
				t.Errorf("%+v: %s: %d bytes, said to be %d", c, what, held, said)
			}
		}
		scratch := bytesOf(e.image32) + bytesOf(e.image64)
		for _, w := range e.windows {
			scratch += bytesOf(w.Memory)
		}
		for _, w := range e.picks {
			scratch += bytesOf(w.pairs) + bytesOf(w.runs) + bytesOf(w.cuts) + bytesOf(w.lanes)
		}
		for _, minus := range e.minus {
			scratch += bytesOf(minus)
		}
		near("scratch", n.Scratch-n.Pieces, scratch)
		near("traces", n.Traces, bytesOf(kept(e).rows)+2*16*int64(len(kept(e).backward.pairs)))
		heap := 4 * int64(len(e.plan.Scale)+len(e.plan.Points))
		for i, r := range e.crossings {
			for phase := range r.data {
				heap += 4 * int64(len(r.data[phase].all)+len(r.made[phase].all))
			}
			if e.plan.bands.n > 1 {
				heap += 8 * int64(len(e.antialias[i].sums)+len(e.antialias[i].scratch))
			}
		}
		near("heap", n.Heap, heap)
		k := e.plan.newMaker(p, false)
		defer k.free()
		making := 8 * (len(k.slow.amp) + len(k.slow.angle))
		for _, x := range slices.Concat(k.along, k.slow.unit[:], k.slow.ray[:]) {
			making += 8 * len(x)
		}
		if got, want := n.Making-2*p.timesBytes(), 2*int64(making); got != want {
			t.Errorf("%+v: %d bytes while tables are made, said to be %d", c, want, got)
		}
		d, m := make([]float32, p.NumTraces()*p.NT), make([]float32, p.ImageLen())
		h := device.NewHost(1)
		for _, q := range []float64{0, 1e-6} {
			said := Needs(p, Work{Exact: q != 0}).Pieces
			if _, err := only(e).(dist.Pieced).Begin(t.Context(), dist.Forward, device.Wrap(h, d), device.Wrap(h, m), q); err != nil {
				t.Fatal(err)
			}
			if held := bytesOf(e.ring); held != (said+7)/8*8 {
				t.Errorf("%+v: pieces of %d bytes, said to be %d", c, held, said)
			}
		}
	}
}

// What units hold in turn is what their largest needs.
func TestNeedsOfUnits(t *testing.T) {
	p := fixedSpread(t, []int{90, 70}, 10, [2]int{20, 1}, [2]int{30, 1}, 400, true)
	place := Needs(p, Work{}).Place
	for _, w := range []Work{{Cuts: shotCuts(p, 3)}, {Cuts: shotCuts(p, 3), Remake: true}, {Remake: true, Budget: 20 * place}, {Remake: true, Budget: 40 * place}} {
		e, n := newCPUEngine(t, p, w), Needs(p, w)
		k := e.kernels[0]
		var tables, traces int64
		err := k.eachUnit(t.Context(), func(o *lists) error {
			tables, traces = max(tables, o.tables.bytes), max(traces, o.memory.bytes)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if tables != n.Tables || n.Tables != e.TableBytes() || math.Abs(float64(n.Traces)/float64(traces)-1) > 0.05 {
			t.Errorf("%+v: tables of %d bytes, lists of %d, said to be %+v", w, tables, traces, n)
		}
	}
}
