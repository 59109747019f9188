package operators

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/workers"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// small is an operator of 3 sources and 4 receivers over 24×16 points, positions [2, n].
func small(engine string) *Spec {
	return &Spec{
		Grid:    grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 8}, Shape: []int{24, 16}},
		Sources: []float64{5, 90, 214, 0, 4, 0}, Receivers: []float64{11, 80, 150, 223, 0, 0, 3, 0},
		Traveltimes: "analytic", Constant: 1500, NT: 100, DT: 0.004,
		Wavelet: []float64{-0.3, 1, -0.3, 0.1}, WaveletZero: 1, Engine: engine, Threads: 2,
	}
}

func random(n int) []float64 {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

func open(t *testing.T, s *Spec) *Operator {
	t.Helper()
	o, err := New(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

// apply returns the forward or the adjoint of x.
func apply(t *testing.T, o *Operator, adjoint bool, x []float64) []float64 {
	t.Helper()
	f, n := o.Forward, o.data
	if adjoint {
		f, n = o.Adjoint, o.image
	}
	src, _ := o.host.Alloc(len(x), o.Type())
	dst, _ := o.host.Alloc(n, o.Type())
	y := random(n) // is overwritten
	for _, err := range []error{device.Upload(src, x), device.Upload(dst, y), f(context.Background(), dst, src), device.Download(y, dst)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return y
}

func dot(x, y []float64) (sum float64) {
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

func same(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	worst, scale := 0.0, 0.0
	for i := range want {
		worst, scale = max(worst, math.Abs(got[i]-want[i])), max(scale, math.Abs(want[i]))
	}
	if scale == 0 || !(worst <= tolerance*scale) {
		t.Errorf("%s differs by %g of %g", what, worst, scale)
	}
}

// tables are the times of straight rays of s, [n, points].
func tables(s *Spec, positions []float64) (out []float64) {
	rows, x := columns(positions, 2), make([]float64, 2)
	for at := 0; at < len(rows); at += 2 {
		for i := range s.Grid.Len() {
			s.Grid.Point(x, i)
			out = append(out, math.Hypot(x[0]-rows[at], x[1]-rows[at+1])/s.Constant)
		}
	}
	return out
}

func eachEngine(t *testing.T, f func(t *testing.T, engine string, tolerance float64)) {
	t.Run("cpu", func(t *testing.T) { f(t, "cpu", 5e-6) })
	t.Run("double", func(t *testing.T) { f(t, "double", 1e-12) })
	t.Run("reference", func(t *testing.T) { f(t, "reference", 1e-12) })
}

// TestTables: given times, and their sums for pairs, make the operator of straight rays.
func TestTables(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string, tolerance float64) {
		given, paired := small(engine), small(engine)
		given.Traveltimes, paired.Traveltimes = "table", "table"
		given.SourceTimes, given.ReceiverTimes = tables(given, given.Sources), tables(given, given.Receivers)
		n := given.Grid.Len()
		for s := range 3 {
			for r := range 4 {
				for i := range n {
					paired.PairTimes = append(paired.PairTimes, given.SourceTimes[s*n+i]+given.ReceiverTimes[r*n+i])
				}
			}
		}
		o := open(t, small(engine))
		m, d := random(o.image), random(o.data)
		for name, s := range map[string]*Spec{"tables": given, "pairs": paired} {
			p := open(t, s)
			same(t, "forward of "+name, apply(t, p, false, m), apply(t, o, false, m), tolerance)
			same(t, "adjoint of "+name, apply(t, p, true, d), apply(t, o, true, d), tolerance)
		}
	})
}

// sameButHidden checks that the 12 traces of o are those that plain makes of images without the points that are hidden from
// them, and that the adjoint of o is one.
func sameButHidden(t *testing.T, o, plain *Operator, tolerance float64, hidden func(trace, point int) bool) {
	t.Helper()
	m, d := random(o.image), random(o.data)
	want, nt := make([]float64, o.data), o.data/12
	for trace := range 12 {
		cut := append([]float64(nil), m...)
		for i := range cut {
			if hidden(trace, i) {
				cut[i] = 0
			}
		}
		copy(want[trace*nt:(trace+1)*nt], apply(t, plain, false, cut)[trace*nt:])
	}
	forward := apply(t, o, false, m)
	same(t, "forward", forward, want, tolerance)
	a, b := dot(forward, d), dot(m, apply(t, o, true, d))
	if math.Abs(a-b) > 1e-6*math.Sqrt(dot(forward, forward)*dot(d, d)) {
		t.Errorf("dot test: %g and %g", a, b)
	}
}

// TestNoArrival: a trace has nothing of a point whose time is NaN, in the table of its source, its receiver or of both.
func TestNoArrival(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string, tolerance float64) {
		s := small(engine)
		plain := open(t, s)
		s.Traveltimes, s.SourceTimes, s.ReceiverTimes = "table", tables(s, s.Sources), tables(s, s.Receivers)
		n := s.Grid.Len()
		hidden := func(source, receiver, point int) bool {
			return source == 1 && point%5 == 0 || receiver == 2 && point > n/2
		}
		for i := range n {
			if hidden(1, 0, i) {
				s.SourceTimes[n+i] = math.NaN()
			}
			if hidden(0, 2, i) {
				s.ReceiverTimes[2*n+i] = math.NaN()
			}
		}
		o := open(t, s)
		sameButHidden(t, o, plain, tolerance, func(trace, point int) bool { return hidden(trace/4, trace%4, point) })
		s.Dynamic = true
		if _, err := New(context.Background(), s); status.Code(err) != status.BadInput || !strings.Contains(err.Error(), "NaN") {
			t.Errorf("with weights: %v", err)
		}
	})
}

// TestTraceLists: the traces of a list, in its order and twice where it says so, are those of all pairs.
func TestTraceLists(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string, tolerance float64) {
		for _, traveltimes := range []string{"analytic", "table"} {
			s := small(engine)
			s.Dynamic, s.FirstDepth = true, []int32{0, 3, 0, 0, 0, 5, 0, 0, 3, 0, 0, 0}
			if s.Traveltimes = traveltimes; traveltimes == "table" {
				s.SourceTimes, s.ReceiverTimes = tables(s, s.Sources), tables(s, s.Receivers)
			}
			all := open(t, s)
			s.SourceIndex, s.ReceiverIndex, s.FirstDepth = []int32{2, 1, 1, 2, 2}, []int32{2, 1, 0, 0, 2}, []int32{0, 5, 0, 3, 0}
			o := open(t, s)
			m, d := random(o.image), random(o.data)
			full, spread := apply(t, all, false, m), make([]float64, all.data)
			var want []float64
			for i, source := range s.SourceIndex {
				at := (int(source)*4 + int(s.ReceiverIndex[i])) * s.NT
				want = append(want, full[at:at+s.NT]...)
				for k := range s.NT {
					spread[at+k] += d[i*s.NT+k]
				}
			}
			same(t, "forward with "+traveltimes, apply(t, o, false, m), want, tolerance)
			same(t, "adjoint with "+traveltimes, apply(t, o, true, d), apply(t, all, true, spread), tolerance)
		}
	})
}

// TestFirstDepth compares with operators of one trace each and images that are cut by hand.
func TestFirstDepth(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string, tolerance float64) {
		s := small(engine)
		s.Dynamic, s.AngleLimit = true, [2]float64{60, 80}
		plain := open(t, s)
		s.FirstDepth = []int32{0, 3, 16, 5, 3, 0, -1, 3, 100, 5, 1, 15}
		o := open(t, s)
		sameButHidden(t, o, plain, tolerance, func(trace, point int) bool { return point%16 < int(s.FirstDepth[trace]) })
	})
}

// TestKeepsNothing: the caller's arrays may go once the operator is made.
func TestKeepsNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string, _ float64) {
		s := small(engine)
		s.Dynamic, s.Traveltimes = true, "table"
		s.SourceTimes, s.ReceiverTimes = tables(s, s.Sources), tables(s, s.Receivers)
		s.Velocity = make([]float64, s.Grid.Len())
		s.SourceAmplitudes, s.ReceiverAmplitudes = make([]float64, len(s.SourceTimes)), make([]float64, len(s.ReceiverTimes))
		arrays := [][]float64{s.Sources, s.Receivers, s.Wavelet, s.SourceTimes, s.ReceiverTimes, s.Velocity, s.SourceAmplitudes, s.ReceiverAmplitudes}
		for _, a := range arrays[5:] {
			for i := range a {
				a[i] = 1 + float64(i%7)
			}
		}
		o := open(t, s)
		m := random(o.image)
		before := apply(t, o, false, m)
		for _, a := range arrays {
			for i := range a {
				a[i] = math.NaN()
			}
		}
		same(t, "forward", apply(t, o, false, m), before, 0)
	})
}

// TestRefused: what cannot be is refused by name.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Spec)
		code   int
		want   string
	}{
		"engine":      {func(s *Spec) { s.Engine = "cuda" }, status.BadUsage, `engine is "cuda"`},
		"times":       {func(s *Spec) { s.Traveltimes = "rays" }, status.BadUsage, `traveltimes are "rays"`},
		"no tables":   {func(s *Spec) { s.Traveltimes = "table" }, status.BadUsage, "need source_times and receiver_times"},
		"unused":      {func(s *Spec) { s.PairTimes = make([]float64, 12*384) }, status.BadUsage, `traveltimes are "analytic"`},
		"short":       {func(s *Spec) { s.Velocity = make([]float64, 5) }, status.BadUsage, "velocity has 5 values, must have 384"},
		"no velocity": {func(s *Spec) { s.Traveltimes = "eikonal" }, status.BadUsage, "need the velocity at each point"},
		"amplitudes":  {func(s *Spec) { s.SourceAmplitudes = make([]float64, 3*384) }, status.BadUsage, "of sources and receivers"},
		"centre":      {func(s *Spec) { s.WaveletZero = 4 }, status.BadUsage, "zero at sample 4"},
		"no sources":  {func(s *Spec) { s.Sources = nil }, status.BadUsage, "0 sources"},
		"memory": {func(s *Spec) {
			s.Grid.Shape, s.Engine, s.Sources = []int{1 << 16, 1 << 14}, "reference", random(2<<12)
		}, status.NoResource, "GiB of memory"},
		"index":   {func(s *Spec) { s.SourceIndex, s.ReceiverIndex = []int32{0, 3}, []int32{0, 0} }, status.BadUsage, "source_index[1] is 3, must be from 0 to 2"},
		"indices": {func(s *Spec) { s.SourceIndex, s.ReceiverIndex = []int32{0, 1}, []int32{0} }, status.BadUsage, "receiver_index has 1"},
		"spacing": {func(s *Spec) { s.Grid.Spacing[1] = -8 }, status.BadUsage, "-8"},
		"NaN":     {func(s *Spec) { s.Sources[1] = math.NaN() }, status.BadInput, "source_positions[1] is NaN"},
		"outside": {func(s *Spec) {
			s.Traveltimes, s.Velocity = "eikonal", make([]float64, 384)
			for i := range s.Velocity {
				s.Velocity[i] = 1500
			}
			s.Receivers[3] = 500
		}, status.BadInput, "receiver 3 at [500 0] m lies outside"},
		"negative time": {func(s *Spec) {
			s.Traveltimes, s.SourceTimes, s.ReceiverTimes = "table", tables(s, s.Sources), tables(s, s.Receivers)
			s.SourceTimes[7] = -1
		}, status.BadInput, "-1 s"},
	} {
		s := small("cpu")
		c.change(s)
		_, err := New(context.Background(), s)
		if err == nil || status.Code(err) != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v (status %d), want %q (status %d)", name, err, status.Code(err), c.want, c.code)
		}
	}
}

// TestStops: a context that has ended stops everything, and a closed operator says so.
func TestStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := New(ctx, small("cpu")); status.Code(err) != status.Stopped {
		t.Errorf("New: %v", err)
	}
	o := open(t, small("cpu"))
	m, _ := o.host.Alloc(o.image, o.Type())
	d, _ := o.host.Alloc(o.data, o.Type())
	if err := o.Forward(ctx, d, m); status.Code(err) != status.Stopped {
		t.Errorf("Forward: %v", err)
	}
	if err := o.Forward(context.Background(), m, m); status.Code(err) != status.BadUsage {
		t.Errorf("data of a wrong length: %v", err)
	}
	o.Close()
	if err := o.Adjoint(context.Background(), m, d); err != ErrClosed {
		t.Errorf("closed: %v", err)
	}
}

// faulty is an engine whose workers panic in the forward.
type faulty struct{ kirchhoff.Engine }

func (f faulty) Kernels() []dist.Kernel { return []dist.Kernel{faultyKernel{f.Engine.Kernels()[0]}} }

type faultyKernel struct{ dist.Kernel }

func (faultyKernel) Forward(context.Context, device.Buf, device.Buf) error {
	var empty []int
	device.Share(2, 2, func(i int) { empty[i]++ })
	return nil
}

// A panic of a worker reaches the caller of the application, who may close the operator. Other
// applications are refused from then on.
func TestPanic(t *testing.T) {
	o, err := New(context.Background(), small("cpu"))
	if err != nil {
		t.Fatal(err)
	}
	whole := o.engine
	o.engine = faulty{whole}
	image, _ := o.host.Alloc(o.image, o.Type())
	data, _ := o.host.Alloc(o.data, o.Type())
	forward := func() (err error, panicked any) {
		defer func() { panicked = recover() }()
		return o.Forward(context.Background(), data, image), nil
	}
	if err, p := forward(); err != nil || p == nil {
		t.Fatalf("error %v, panic %v", err, p)
	} else if value, stack := workers.Explain(p); !strings.Contains(fmt.Sprint(value), "index out of range") || !strings.Contains(string(stack), "faultyKernel") {
		t.Errorf("panic %v at\n%s", value, stack)
	}
	o.engine = whole
	if err, p := forward(); err != ErrFaulty || p != nil {
		t.Errorf("after a panic: error %v, panic %v", err, p)
	}
	if err := o.Adjoint(context.Background(), image, data); err != ErrFaulty || status.Code(err) != status.Other {
		t.Error(err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}
