package solver_test

import (
	"context"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

var host = device.NewHost(2)

// dense is a kernel for a matrix in C order, rows × cols, for tests. Sums are
// in complex128 or float64, rounded once. spoil, where given, changes the
// adjoint's result before it is added.
type dense[T device.Number] struct {
	m     [][]complex128
	spoil func(i int, v complex128) complex128
}

func number[T device.Number](v complex128) T {
	var z T
	switch any(z).(type) {
	case float32:
		return any(float32(real(v))).(T)
	case float64:
		return any(real(v)).(T)
	case complex64:
		return any(complex64(v)).(T)
	}
	return any(v).(T)
}

func value[T device.Number](v T) complex128 {
	switch v := any(v).(type) {
	case float32:
		return complex(float64(v), 0)
	case float64:
		return complex(v, 0)
	case complex64:
		return complex128(v)
	case complex128:
		return v
	}
	panic("unreachable")
}

func (k dense[T]) Forward(_ context.Context, dst, src device.Buf) error {
	x, y := device.Slice[T](src), device.Slice[T](dst)
	for i, row := range k.m {
		var s complex128
		for j, a := range row {
			s += a * value(x[j])
		}
		y[i] += number[T](s)
	}
	return nil
}

func (k dense[T]) Adjoint(_ context.Context, dst, src device.Buf) error {
	x, y := device.Slice[T](src), device.Slice[T](dst)
	for j := range y {
		var s complex128
		for i, row := range k.m {
			s += cmplx.Conj(row[j]) * value(x[i])
		}
		if k.spoil != nil {
			s = k.spoil(j, s)
		}
		y[j] += number[T](s)
	}
	return nil
}

func (k dense[T]) operator() dist.Operator {
	t := device.TypeOf[T]()
	return dist.Lift(k, dist.Local(t, len(k.m[0])), dist.Local(t, len(k.m)))
}

func vector[T device.Number](v []complex128) *dist.Vector {
	x := make([]T, len(v))
	for i := range x {
		x[i] = number[T](v[i])
	}
	return &dist.Vector{Layout: dist.Local(device.TypeOf[T](), len(v)), Buf: device.Wrap(host, x)}
}

func values[T device.Number](v *dist.Vector) []complex128 {
	x := device.Slice[T](v.Buf)
	out := make([]complex128, len(x))
	for i := range out {
		out[i] = value(x[i])
	}
	return out
}

// normal returns standard normal numbers, complex where the type is.
func normal[T device.Number](r *rand.Rand, n int) []complex128 {
	out := make([]complex128, n)
	for i := range out {
		re, im := r.NormFloat64(), r.NormFloat64()
		// Rounded to T, so that the matrix, data and answer are exact in T.
		out[i] = value(number[T](complex(re, im)))
	}
	return out
}

func matrix[T device.Number](r *rand.Rand, rows, cols int) [][]complex128 {
	m := make([][]complex128, rows)
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
