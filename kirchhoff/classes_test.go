package kirchhoff

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// makeClasses makes the same classes with every engine.
func makeClasses(t *testing.T, p *Problem, class []Class) map[string]Engine {
	t.Helper()
	budget := Needs(p, Work{}).Place * int64(min(p.Positions.Len(), p.LeastPlaces(true)))
	out := map[string]Engine{}
	for name, make := range map[string]func() (Engine, error){
		"cpu": func() (Engine, error) { return New(context.Background(), p, Work{Classes: class}) },
		"recompute": func() (Engine, error) {
			return New(context.Background(), p, Work{Classes: class, Remake: true, Budget: budget})
		},
		"reference": func() (Engine, error) { return NewReference(context.Background(), p, Work{Classes: class}) },
	} {
		c, err := make()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Cleanup(c.Close)
		out[name] = c
	}
	return out
}

// The classes of a survey's traces, one of them empty, are adjoint; their images add
// up to the image of the reference engine for all their traces, and a trace is made
// from its own class's image.
func TestClasses(t *testing.T) {
	for seed, c := range trials() {
		if seed%9 != 0 {
			continue
		}
		p := c.problem(t, uint64(seed))
		p.Positions = sorted(p).Positions
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		class, used := make([]Class, 4), []int32(nil)
		for i := range int32(p.NumTraces()) {
			k := r.IntN(4) // 3: in none
			if k == 1 {
				k = 2 // 1: empty
			}
			if k < 3 {
				class[k].Traces, used = append(class[k].Traces, i), append(used, i)
			}
		}
		class = class[:3]
		if used == nil {
			continue
		}
		want := plainReference(t, p, used)
		for name, classes := range makeClasses(t, p, class) {
			limit, tight := 1e-5, 1e-6
			if name == "reference" {
				limit, tight = 1e-12, 1e-13
			}
			t.Run(fmt.Sprintf("%v/%s", c, name), func(t *testing.T) {
				classesAgree(t, p, classes, want, limit, tight, uint64(seed))
			})
		}
	}
}

// Classes by opening angle, whose windows add up to 1, add up to the whole operator.
func TestClassesByAngle(t *testing.T) {
	for seed, c := range trials() {
		if seed%17 != 0 {
			continue
		}
		p := c.problem(t, uint64(seed))
		p.Positions = sorted(p).Positions
		p.DipLimit = []float64{60, 80}
		class := []Class{
			{All: true, Opening: Window{Fall0: 15, Fall1: 40}},
			{All: true, Opening: Window{15, 40, 40, 70}},
			{All: true, Opening: Window{40, 70, 180, 180}},
		}
		p.Opening = class[0].Opening
		every := *p
		every.Opening = Window{}
		want := plainReference(t, &every, count(p.NumTraces()))
		for name, classes := range makeClasses(t, p, class) {
			limit, tight := 1e-5, 1e-6
			if name == "reference" {
				limit, tight = 1e-6, 1e-13 // windows are rounded to float32
			}
			t.Run(fmt.Sprintf("%v/%s", c, name), func(t *testing.T) {
				classesAgree(t, p, classes, want, limit, tight, uint64(seed))
			})
		}
	}
}

// plainReference is the reference engine for some of p's traces.
func plainReference(t *testing.T, p *Problem, traces []int32) Engine {
	t.Helper()
	c, err := NewReference(context.Background(), p, Work{Classes: []Class{{Traces: traces}}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func classesAgree(t *testing.T, p *Problem, c, plain Engine, limit, tight float64, seed uint64) {
	diagonalsAgree(t, p, c, seed)
	for _, exact := range []bool{false, true} {
		if exact && c.Type() == device.F64 {
			continue // not offered
		}
		op := besides(t, p, c, dist.LiftOptions{Exact: exact})
		h := device.NewHost(1)
		e, err := dist.DotTest(context.Background(), h, op, seed)
		if err != nil {
			t.Fatal(err)
		}
		if !(e <= tight) {
			t.Errorf("exact %v: dot test %.1e", exact, e)
		}
		d := vectorOf(t, h, op.Range(), noise(seed, p.NumTraces()*p.NT))
		image, err := dist.NewVector(h, op.Domain())
		if err != nil {
			t.Fatal(err)
		}
		if err := op.ApplyAdjoint(context.Background(), image, d); err != nil {
			t.Fatal(err)
		}
		sum := make([]float64, p.ImageLen())
		for _, part := range image.Parts {
			for i, v := range numbers(t, part) {
				sum[i] += v
			}
		}
		ref := besides(t, p, plain, dist.LiftOptions{})
		if diff := difference(sum, applied(t, h, ref, wide(noise(seed, p.NumTraces()*p.NT)), true)); diff > limit {
			t.Errorf("exact %v: images add up to another: %.1e", exact, diff)
		}
		// The same reflectivity in all classes makes the same traces.
		m := noise(seed+1, p.ImageLen())
		for _, part := range image.Parts {
			upload(t, part, m)
		}
		traces, err := dist.NewVector(h, op.Range())
		if err != nil {
			t.Fatal(err)
		}
		if err := op.Apply(context.Background(), traces, image); err != nil {
			t.Fatal(err)
		}
		if diff := difference(numbers(t, traces), applied(t, h, ref, wide(m), false)); diff > limit {
			t.Errorf("exact %v: traces differ by %.1e", exact, diff)
		}
	}
}

// diagonalsAgree compares the diagonal of each class with the columns of its operator.
func diagonalsAgree(t *testing.T, p *Problem, c Engine, seed uint64) {
	if p.Antialias != nil || p.several() || p.Grid.Len() > 200 { // which it only approaches
		return
	}
	h := device.NewHost(1)
	traces, points := dist.Local(c.Type(), p.NumTraces(), p.NT), dist.Local(c.Type(), p.ImageLen())
	w2 := noise(seed+2, p.NumTraces()*p.NT)
	for i, v := range w2 {
		w2[i] = v * v
	}
	for k, q := range c.Squared() {
		op, err := dist.LiftWith(dist.LiftOptions{}, points, traces, c.Kernels()[k])
		if err != nil {
			t.Fatal(err)
		}
		want, unit := make([]float64, p.ImageLen()), make([]float64, p.ImageLen())
		for i := range want {
			unit[i] = 1
			for n, v := range applied(t, h, op, unit, false) {
				want[i] += float64(w2[n]) * v * v
			}
			unit[i] = 0
		}
		from := vectorOf(t, h, traces, w2)
		got, err := dist.NewVector(h, points)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Adjoint(t.Context(), got.Buf, from.Buf); err != nil {
			t.Fatal(err)
		}
		if diff := difference(numbers(t, got), want); !(diff <= 1e-5) {
			t.Errorf("class %d: diagonal differs from the columns' by %.2e", k, diff)
		}
	}
}

// besides is the operator of classes.
func besides(t *testing.T, p *Problem, c Engine, o dist.LiftOptions) dist.Operator {
	t.Helper()
	image := dist.Local(c.Type(), p.ImageLen())
	kernels := c.Kernels()
	parts := slices.Repeat([]*dist.Layout{image}, len(kernels))
	op, err := dist.LiftWith(o, dist.Stack(parts...), dist.Local(c.Type(), p.NumTraces(), p.NT), kernels...)
	if err != nil {
		t.Fatal(err)
	}
	return op
}

// applied applies an operator of one class, or its adjoint.
func applied(t *testing.T, h *device.Host, op dist.Operator, x []float64, adjoint bool) []float64 {
	t.Helper()
	dst, src := op.Range(), op.Domain()
	if adjoint {
		dst, src = src, dst
	}
	to, err := dist.NewVector(h, dst)
	if err != nil {
		t.Fatal(err)
	}
	from, err := dist.NewVector(h, src)
	if err != nil {
		t.Fatal(err)
	}
	leaf := func(v *dist.Vector) *dist.Vector {
		if v.Parts != nil {
			return v.Parts[0]
		}
		return v
	}
	if err := device.Upload(leaf(from).Buf, x); err != nil {
		t.Fatal(err)
	}
	apply := op.Apply
	if adjoint {
		apply = op.ApplyAdjoint
	}
	if err := apply(context.Background(), to, from); err != nil {
		t.Fatal(err)
	}
	return numbers(t, leaf(to))
}

func vectorOf(t *testing.T, h *device.Host, l *dist.Layout, x []float32) *dist.Vector {
	t.Helper()
	v, err := dist.NewVector(h, l)
	if err != nil {
		t.Fatal(err)
	}
	upload(t, v, x)
	return v
}

func upload(t *testing.T, v *dist.Vector, x []float32) {
	t.Helper()
	if err := device.Upload(v.Buf, x); err != nil {
		t.Fatal(err)
	}
}

func numbers(t *testing.T, v *dist.Vector) []float64 {
	t.Helper()
	x := make([]float64, v.Layout.N)
	if err := device.Download(x, v.Buf); err != nil {
		t.Fatal(err)
	}
	return x
}

// The classes together take the memory of one engine for all traces.
func TestClassesShareTables(t *testing.T) {
	p := trials()[0].problem(t, 3)
	var class [2]Class
	for i := range int32(p.NumTraces()) {
		class[i%2].Traces = append(class[i%2].Traces, i)
	}
	c := newCPUEngine(t, p, Work{Classes: class[:]})
	one, two := c.kernels[0].kept, c.kernels[1].kept
	if one.tables != two.tables || one.kernel.cpu.image64 != two.kernel.cpu.image64 {
		t.Error("tables or scratch are not shared")
	}
	if rows := len(one.rows.S) + len(two.rows.S); rows != p.NumTraces()*one.op.Stride {
		t.Errorf("%d samples of correlated traces, want %d", rows, p.NumTraces()*one.op.Stride)
	}
	if !slices.Equal(one.kernel.image.Own.Positions.Role, p.Positions.Role) || survey.AtSource != p.Positions.Role[0] {
		t.Error("places of a class are others than the survey's")
	}
}
