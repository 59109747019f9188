package kirchhoff

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// chosen leaves about two thirds of all pairs elsewhere, or with here the other third. Pairs of
// all traces from a source to one cell of receivers go the same way with runs.
type chosen struct {
	idle
	here, runs bool
}

// idle sums nothing.
type idle struct{}

func (idle) Forward(context.Context, []float32, func(int, int, []float32)) error          { return nil }
func (idle) Adjoint(context.Context, []float64, float64, func(int, int, []float32)) error { return nil }

func (c chosen) Sums(source, receiver int32, box int) bool {
	if c.runs {
		receiver /= adjointCells.receivers
	}
	h := uint32(source)*2654435761 ^ uint32(receiver)*2246822519 ^ uint32(box)*3266489917
	h = (h ^ h>>15) * 2246822519
	return (h>>13)%3 != 0 != c.here
}

// deep leaves all pairs with boxes from one on elsewhere.
type deep struct {
	idle
	from int
}

func (d deep) Sums(_, _ int32, box int) bool { return box >= d.from }

// TestElsewhere: what an operator sums and what it leaves elsewhere are the whole, however it
// goes through the traces, and it holds no tables for what it leaves.
func TestElsewhere(t *testing.T) {
	for i, set := range []func(p *Problem){
		func(*Problem) {},
		func(p *Problem) {
			p.Aperture, p.ApertureTaper, p.Dynamic = []float64{300, 300}, []float64{90, 90}, true
		},
		func(p *Problem) { p.Antialias, p.Slowest, p.Compact = []float64{60, 60}, 2000, true },
	} {
		for _, shape := range [][]int{{150, 70}, {34, 20, 18}} {
			p := sorted(fixedSpread(t, shape, 12.5, [2]int{3, 2}, [2]int{4, 3}, 300, false))
			if len(shape) == 2 {
				p = streamer(t, shape, 6, 5)
			}
			set(p)
			p.Aperture, p.ApertureTaper = p.Aperture[:min(len(p.Aperture), len(shape)-1)], p.ApertureTaper[:min(len(p.Aperture), len(shape)-1)]
			p.Antialias, p.Threads = p.Antialias[:min(len(p.Antialias), len(shape)-1)], 2
			t.Run(fmt.Sprintf("%v/%d", shape, i), func(t *testing.T) { partsAreTheWhole(t, p) })
		}
	}
}

func partsAreTheWhole(t *testing.T, p *Problem) {
	data, image := both(t, p, newCPUEngine(t, p, Work{}), 3)
	var first [2][]float64 // traces of each part
	for _, w := range []Work{{}, {Remake: true, Budget: 8 * Needs(p, Work{}).Place}} {
		sums := [2][]float64{make([]float64, len(data)), make([]float64, len(image))}
		for part := range 2 {
			q := *p
			q.Elsewhere = chosen{here: part == 1}
			e := newCPUEngine(t, &q, w)
			if d, err := dist.DotTest(context.Background(), device.NewHost(1), operator(&q, e), 7); err != nil || !(d <= 1e-6) {
				t.Errorf("%+v: dot test %.2e, %v", w, d, err)
			}
			if e.Squared() != nil {
				t.Errorf("a squared operator without the pairs that are summed elsewhere")
			}
			d, m := both(t, &q, e, 3)
			if first[part] == nil {
				first[part] = d
			}
			if d := difference(d, first[part]); !(d <= 1e-6) {
				t.Errorf("%+v: other traces by %.2e than with tables that are kept", w, d)
			}
			for i, v := range [2][]float64{d, m} {
				if largest(v) == 0 {
					t.Errorf("%+v: a part has nothing", w)
				}
				for k := range v {
					sums[i][k] += v[k]
				}
			}
		}
		if d := difference(sums[0], data); !(d <= 2e-6) {
			t.Errorf("%+v: the traces of two parts differ from the whole by %.2e", w, d)
		}
		if d := difference(sums[1], image); !(d <= 2e-6) {
			t.Errorf("%+v: the images of two parts differ from the whole by %.2e", w, d)
		}
	}
	q, all := *p, Needs(p, Work{}).Tables
	q.Elsewhere = deep{from: 1}
	if got := newCPUEngine(t, &q, Work{}).TableBytes(); got != Needs(&q, Work{}).Tables || float64(got) > 0.7*float64(all) {
		t.Errorf("tables of %d bytes where all boxes but one are summed elsewhere, forecast %d, of %d", got, Needs(&q, Work{}).Tables, all)
	}
	q.Elsewhere = deep{from: 0}
	if got := newCPUEngine(t, &q, Work{}).TableBytes(); got != 0 {
		t.Errorf("tables of %d bytes where everything is summed elsewhere", got)
	}
}

// TestElsewhereExact: exact sums of two parts have the bits of the whole, in the forward for any
// pairs, in the adjoint where runs stay together.
func TestElsewhereExact(t *testing.T) {
	p := sorted(fixedSpread(t, []int{34, 20, 18}, 12.5, [2]int{3, 2}, [2]int{7, 4}, 300, true))
	p.Threads = 2
	part := func(e Elsewhere) share {
		q := *p
		q.Elsewhere = e
		s := share{last: p.NumTraces(), slab: [2]int{0, p.Grid.Shape[0]}, engine: newCPUEngine(t, &q, Work{Exact: true})}
		s.kernel = only(s.engine).(dist.Pieced)
		return s
	}
	for d, from := range [2][]float32{noise(5, p.Grid.Len()), noise(6, p.NumTraces()*p.NT)} {
		d := dist.Direction(d)
		runs := d == dist.Backward
		a, b := part(chosen{runs: runs}), part(chosen{here: true, runs: runs})
		whole := &process{p: p, shots: 1, blocks: 1, share: [][]share{{part(nil)}}}
		parts := &process{p: p, shots: 1, blocks: 2, share: [][]share{{a, b}}}
		if runs {
			parts = &process{p: p, shots: 2, blocks: 1, share: [][]share{{a}, {b}}}
		}
		quantum, _, _ := whole.quantum(t, d, from)
		if !slices.Equal(whole.apply(t, d, from, quantum, 1), parts.apply(t, d, from, quantum, 1)) {
			t.Errorf("%v: parts have other bits than the whole", d)
		}
	}
}

// odd leaves all of the traces of odd sources elsewhere.
type odd struct{ idle }

func (odd) Sums(source, _ int32, _ int) bool { return source%2 == 1 }

// TestElsewhereTraces: a trace of which nothing is summed here is zero in the pieces of the forward,
// whatever their memory held, and counts for nothing in the adjoint.
func TestElsewhereTraces(t *testing.T) {
	p := sorted(fixedSpread(t, []int{34, 20, 18}, 12.5, [2]int{3, 2}, [2]int{4, 3}, 300, true))
	p.Elsewhere = odd{}
	e := newCPUEngine(t, p, Work{})
	k, h := only(e).(*kernel), device.NewHost(1)
	data, image := make([]float32, p.NumTraces()*p.NT), noise(3, p.ImageLen())
	for range 2 {
		app, err := k.Begin(t.Context(), dist.Forward, device.Wrap(h, data), device.Wrap(h, image), 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := range app.Pieces() {
			if _, err := app.Sum(i); err != nil {
				t.Fatal(err)
			}
			if err := app.Finish(i); err != nil {
				t.Fatal(err)
			}
		}
		for i := range k.ring.S {
			k.ring.S[i] = 1
		}
	}
	loud := make([]float32, len(data))
	for i, source := range p.Positions.Source {
		trace := data[i*p.NT : (i+1)*p.NT]
		if nothing := simd.Portable.Largest(trace) == 0; nothing != (source%2 == 1) {
			t.Errorf("trace %d of source %d is zero: %v", i, source, nothing)
		}
		if source%2 == 1 {
			copy(loud[i*p.NT:(i+1)*p.NT], noise(uint64(i), p.NT))
		}
	}
	if err := k.Adjoint(t.Context(), device.Wrap(h, image), device.Wrap(h, loud)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(image, noise(3, p.ImageLen())) {
		t.Error("traces that are summed elsewhere reach the image")
	}
}

// TestElsewhereRefused: who sums all pairs says so.
func TestElsewhereRefused(t *testing.T) {
	p := streamer(t, []int{40, 20}, 2, 2)
	p.Elsewhere = deep{from: 0}
	if _, err := NewReference(t.Context(), p, Work{}); err == nil {
		t.Error("the reference engine takes pairs that are summed elsewhere")
	}
	if _, err := NewHessian(t.Context(), "cpu", p, Target{Lo: []int{0, 0}, Hi: []int{4, 4}}); err == nil {
		t.Error("a Hessian takes pairs that are summed elsewhere")
	}
}

// TestSwitch: an engine that is made with a switch off sums all pairs while it is off, to the bit of one
// without, and leaves those that are elsewhere while it is on.
func TestSwitch(t *testing.T) {
	p := sorted(fixedSpread(t, []int{34, 20, 18}, 12.5, [2]int{3, 2}, [2]int{4, 3}, 300, false))
	p.Threads = 2
	apply := func(k dist.Kernel) []float32 {
		d, m := make([]float32, p.NumTraces()*p.NT), make([]float32, p.ImageLen())
		for i := range m {
			m[i] = float32(i%7) - 3
		}
		host := device.NewHost(2)
		if err := k.Forward(t.Context(), device.Wrap(host, d), device.Wrap(host, m)); err != nil {
			t.Fatal(err)
		}
		clear(m)
		if err := k.Adjoint(t.Context(), device.Wrap(host, m), device.Wrap(host, d)); err != nil {
			t.Fatal(err)
		}
		return append(d, m...)
	}
	engine := func(e Elsewhere) dist.Kernel {
		q := *p
		q.Elsewhere = e
		k, err := New(t.Context(), &q, Work{Whole: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(k.Close)
		return k.Kernels()[0]
	}
	s := &Switch{Elsewhere: chosen{}, Off: true}
	k := engine(s)
	for _, off := range []bool{true, false, true} {
		s.Off = off
		var want []float32
		if off {
			want = apply(engine(nil))
		} else {
			want = apply(engine(chosen{}))
		}
		if !slices.Equal(apply(k), want) {
			t.Errorf("off %v: other bits", off)
		}
	}
}
