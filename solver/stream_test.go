package solver_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// held is a problem whose data are there after all. It counts what is asked of it.
type held struct {
	dist.Operator
	d                 *dist.Vector
	normals, gradient int
}

func (h *held) Device() device.Device { return h.d.Device() }

func (h *held) Normal(ctx context.Context, q, p *dist.Vector) (float64, error) {
	h.normals++
	y, err := h.d.Clone()
	if err != nil {
		return 0, err
	}
	defer y.Free()
	if err := h.Apply(ctx, y, p); err != nil {
		return 0, err
	}
	square, err := dist.Dot(y, y)
	if err != nil {
		return 0, err
	}
	return square, h.ApplyAdjoint(ctx, q, y)
}

func (h *held) Gradient(ctx context.Context, s, x *dist.Vector) (float64, error) {
	h.gradient++
	r, err := h.d.Clone()
	if err != nil {
		return 0, err
	}
	defer r.Free()
	if x != nil {
		err = h.Apply(ctx, r, x)
	}
	if err == nil {
		err = dist.Axpby(1, h.d, -1, r)
	}
	if err != nil {
		return 0, err
	}
	square, err := dist.Dot(r, r)
	if err != nil {
		return 0, err
	}
	return square, h.ApplyAdjoint(ctx, s, r)
}

func (h *held) Carried() []*float64        { return nil }
func (h *held) DataNorm() (float64, error) { return dist.Norm(h.d) }

// newStream is a method for streamed data.
func newStream(t *testing.T, name string, o solver.Options) *solver.Method {
	t.Helper()
	c, err := solver.For(solver.Stream(nil), name, o)
	must(t, err)
	return c
}

// run starts a method and does n iterations.
func run(t *testing.T, c *solver.Method, p solver.Problem, x0 *dist.Vector, n int) {
	t.Helper()
	if err := c.Init(context.Background(), p, x0); err != nil {
		t.Fatal(err)
	}
	for range n {
		if err := c.Step(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// In double precision a streamed run takes the path of CGLS: plain, from a start model,
// with a row below, in other variables, with gradients kept.
func TestStreamTakesThePathOfCGLS(t *testing.T) {
	streamPath[float64](t, 1e-8)
	streamPath[float32](t, 2e-3)
}

func streamPath[T device.Number](t *testing.T, near float64) {
	const rows, cols, n = 30, 20, 9
	r := rand.New(rand.NewPCG(4, 4))
	a := dense[T]{m: matrix[T](r, rows, cols)}.operator()
	row := dense[T]{m: matrix[T](r, 12, cols)}.operator()
	weights := make([]float64, cols)
	for i := range weights {
		weights[i] = 0.5 + float64(i%3)
	}
	change := dist.Diagonal(vector[T](weights))
	d, x0 := vector[T](normal[T](r, rows)), vector[T](normal[T](r, cols))
	zero := vector[T](make([]float64, 12))
	stream := func(n solver.Problem, err error) solver.Problem {
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for name, c := range map[string]struct {
		a     dist.Operator
		d     *dist.Vector
		n     func(n solver.Problem) solver.Problem
		start *dist.Vector
		keep  int
	}{
		"plain": {a, d, func(n solver.Problem) solver.Problem { return n }, nil, 0},
		"start": {a, d, func(n solver.Problem) solver.Problem { return n }, x0, 4},
		"row": {dist.VStack(a, row), below(d, zero),
			func(n solver.Problem) solver.Problem { return stream(n.AddRows(row)) }, x0, 20},
		"change": {dist.Chain(a, change), d,
			func(n solver.Problem) solver.Problem { return stream(n.Change(change)) }, x0, 20},
		"row and change": {dist.Chain(dist.VStack(a, row), change), below(d, zero), func(n solver.Problem) solver.Problem {
			return stream(stream(n.AddRows(row)).Change(change))
		}, nil, 20},
	} {
		o := solver.Options{Orthogonalize: c.keep, TrueResidual: 4, Last: n}
		want, h := method("cgls", o), &held{Operator: a, d: d}
		solve(t, want, c.a, c.d, c.start, n)
		got := newStream(t, "cgls", o)
		run(t, got, c.n(solver.Stream(h)), c.start, n)
		u, v := want.State().History, got.State().History
		for k := range u.Residual {
			for _, pair := range [][2]float64{{v.Residual[k], u.Residual[k]}, {v.Total[k], u.Total[k]}, {v.Gradient[k], u.Gradient[k]}} {
				if !(math.Abs(pair[0]-pair[1]) <= near*u.Gradient[0]) {
					t.Errorf("%T, %s, after %d iterations: %.12g, CGLS has %.12g", *new(T), name, k, pair[0], pair[1])
				}
			}
		}
		x, y := device.Slice[T](got.X().Buf), device.Slice[T](want.X().Buf)
		for i := range x {
			if e := float64(x[i]) - float64(y[i]); !(math.Abs(e) <= near) {
				t.Fatalf("%T, %s: x[%d] is %v, CGLS has %v", *new(T), name, i, x[i], y[i])
			}
		}
		if h.normals != n || h.gradient != 4 { // the start, twice on the way, at the end
			t.Errorf("%T, %s: %d passes and %d over the data in %d iterations", *new(T), name, h.normals, h.gradient, n)
		}
		if e := got.State().AdjointError; e > near {
			t.Errorf("%T, %s: adjoint error %g", *new(T), name, e)
		}
	}
}

func below(v ...*dist.Vector) *dist.Vector {
	layouts := make([]*dist.Layout, len(v))
	for i := range v {
		layouts[i] = v[i].Layout
	}
	return &dist.Vector{Layout: dist.Stack(layouts...), Parts: v}
}

// A run that goes on from what was saved has the same bits, wherever it was saved.
func TestStreamResumes(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	a, d := dense[float32]{m: matrix[float32](r, 30, 20)}.operator(), vector[float32](normal[float32](r, 30))
	o := solver.Options{Orthogonalize: 3, TrueResidual: 3}
	p := solver.Stream(&held{Operator: a, d: d})
	for _, name := range []string{"cgls", "cg"} {
		want := newStream(t, name, o)
		run(t, want, p, nil, 8)
		for stop := range 8 {
			first := newStream(t, name, o)
			run(t, first, p, nil, stop)
			saved := map[string][]float32{}
			for n, v := range first.Vectors() {
				saved[n] = append([]float32(nil), device.Slice[float32](v.Buf)...)
			}
			then := newStream(t, name, o)
			if err := then.Resume(p, first.State()); err != nil {
				t.Fatal(err)
			}
			vectors := then.Vectors()
			if len(vectors) != len(saved) {
				t.Fatalf("%d vectors, %d were saved", len(vectors), len(saved))
			}
			for n, v := range vectors {
				copy(device.Slice[float32](v.Buf), saved[n])
			}
			for range 8 - stop {
				if err := then.Step(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			for i, v := range device.Slice[float32](want.X().Buf) {
				if got := device.Slice[float32](then.X().Buf)[i]; got != v {
					t.Fatalf("%s stopped after %d: x[%d] is %g, must be %g", name, stop, i, got, v)
				}
			}
			h, g := want.State().History, then.State().History
			for k := range h.Total {
				if h.Total[k] != g.Total[k] || h.Gradient[k] != g.Gradient[k] {
					t.Fatalf("%s stopped after %d: histories differ at %d", name, stop, k)
				}
			}
		}
	}
}

// An adjoint that is not one, and what is no number, end the run by name.
func TestStreamFails(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	m := matrix[float64](r, 30, 20)
	d := vector[float64](normal[float64](r, 30))
	spoilt := dense[float64]{m: m, spoil: func(i int, v float64) float64 { return v * (1 + 1e-3*float64(i)) }}
	nan := vector[float64](normal[float64](r, 30))
	device.Slice[float64](nan.Buf)[3] = math.NaN()
	for _, c := range []struct {
		n      *held
		reason solver.Reason
	}{
		{&held{Operator: spoilt.operator(), d: d}, solver.FailedAdjoint},
		{&held{Operator: dense[float64]{m: m}.operator(), d: nan}, solver.FailedNaN},
	} {
		s := newStream(t, "cgls", options())
		err := s.Init(context.Background(), solver.Stream(c.n), nil)
		for range 5 {
			if err == nil {
				err = s.Step(context.Background())
			}
		}
		var f *solver.Failure
		if !errors.As(err, &f) || f.Reason != c.reason {
			t.Errorf("%v, want %s", err, c.reason)
		}
	}
	p := solver.Stream(&held{Operator: spoilt.operator(), d: d})
	if err := method("cg", options()).Init(t.Context(), p, nil); err == nil || !strings.Contains(err.Error(), "data in memory") {
		t.Errorf("a method of New was streamed: %v", err)
	}
}
