package solver_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

var host = device.NewHost(2)

// dense is a kernel for a matrix in C order, rows × cols, for tests. Sums are
// in float64, rounded once. spoil, where given, changes the
// adjoint's result before it is added.
type dense[T device.Number] struct {
	m     [][]float64
	spoil func(i int, v float64) float64
}

func (k dense[T]) Forward(_ context.Context, dst, src device.Buf) error {
	x, y := device.Slice[T](src), device.Slice[T](dst)
	for i, row := range k.m {
		s := 0.0
		for j, a := range row {
			s += a * float64(x[j])
		}
		y[i] += T(s)
	}
	return nil
}

func (k dense[T]) Adjoint(_ context.Context, dst, src device.Buf) error {
	x, y := device.Slice[T](src), device.Slice[T](dst)
	for j := range y {
		s := 0.0
		for i, row := range k.m {
			s += row[j] * float64(x[i])
		}
		if k.spoil != nil {
			s = k.spoil(j, s)
		}
		y[j] += T(s)
	}
	return nil
}

func (k dense[T]) operator() dist.Operator {
	t := device.TypeOf[T]()
	return dist.Lift(k, dist.Local(t, len(k.m[0])), dist.Local(t, len(k.m)))
}

func vector[T device.Number](v []float64) *dist.Vector {
	x := make([]T, len(v))
	for i := range x {
		x[i] = T(v[i])
	}
	return &dist.Vector{Layout: dist.Local(device.TypeOf[T](), len(v)), Buf: device.Wrap(host, x)}
}

func values[T device.Number](v *dist.Vector) []float64 {
	x := device.Slice[T](v.Buf)
	out := make([]float64, len(x))
	for i := range out {
		out[i] = float64(x[i])
	}
	return out
}

// normal returns standard normal numbers, rounded to T, so that matrix, data and answer
// are exact in T.
func normal[T device.Number](r *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(T(r.NormFloat64()))
	}
	return out
}

func matrix[T device.Number](r *rand.Rand, rows, cols int) [][]float64 {
	m := make([][]float64, rows)
	for i := range m {
		m[i] = normal[T](r, cols)
	}
	return m
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// method is the method of a name.
func method(name string, o solver.Options) *solver.Method {
	m, err := solver.New(name, o)
	if err != nil {
		panic(err)
	}
	return m
}

// solve runs a method from x0 for at most n iterations.
func solve(t testing.TB, m *solver.Method, a dist.Operator, d, x0 *dist.Vector, n int) solver.Reason {
	t.Helper()
	ctx := context.Background()
	must(t, m.Init(ctx, solver.Hold(a, d), x0))
	reason, err := solver.Run(ctx, m, solver.Stop{Iterations: n})
	must(t, err)
	return reason
}

// options are those of most runs.
func options() solver.Options { return solver.Options{TrueResidual: 10} }

// damp returns the operator and the data of min ‖A x − d‖² + λ²‖x‖².
func damp(a dist.Operator, d *dist.Vector, lambda float64) (dist.Operator, *dist.Vector, error) {
	if lambda == 0 {
		return a, d, nil
	}
	p, err := solver.Hold(a, d).AddRows(dist.Scale(lambda, dist.Identity(a.Domain())))
	if err != nil {
		return nil, nil, err
	}
	h := p.(*solver.Held)
	return h.A, h.D, nil
}
