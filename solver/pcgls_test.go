package solver_test

import (
	"context"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
	"gonum.org/v1/gonum/mat"
)

// apart is the largest difference of two vectors relative to the largest element of b.
func apart(a, b []complex128) float64 {
	diff, most := 0.0, 0.0
	for i, v := range b {
		diff, most = math.Max(diff, cmplx.Abs(a[i]-v)), math.Max(most, cmplx.Abs(v))
	}
	return diff / most
}

// tall is a problem with a diagonal of falling column norms.
func tall(r *rand.Rand, rows, cols int, decades float64) [][]complex128 {
	m := matrix[float64](r, rows, cols)
	for _, row := range m {
		for j := range row {
			row[j] *= complex(math.Pow(10, -decades*float64(j)/float64(cols)), 0)
		}
	}
	return m
}

// With the inverse of AᵀA as preconditioner the first iterate is the answer.
func TestPreconditionedByTheInverse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	const rows, cols = 30, 12
	m := tall(r, rows, cols, 2)
	d := normal[float64](r, rows)
	var normalMatrix, inverse mat.Dense
	a := mat.NewDense(rows, cols, nil)
	for i, row := range m {
		for j, v := range row {
			a.Set(i, j, real(v))
		}
	}
	normalMatrix.Mul(a.T(), a)
	must(t, inverse.Inverse(&normalMatrix))
	in := make([][]complex128, cols)
	for i := range in {
		for j := range cols {
			in[i] = append(in[i], complex((inverse.At(i, j)+inverse.At(j, i))/2, 0))
		}
	}
	c := method("cgls", solver.Options{Preconditioner: dense[float64]{m: in}.operator()})
	solve(t, c, dense[float64]{m: m}.operator(), vector[float64](d), nil, 1)
	if e := apart(values[float64](c.X()), byQR(m, d)); !(e < 1e-11) {
		t.Errorf("after one iteration the answer is off by %.1e", e)
	}
}

// A diagonal D² as preconditioner is a change of variables with D: the same iterates as
// of CGLS for A D, also with no direction kept but the last, in real and complex
// numbers; and what is wrong with the adjoint shows.
func TestPreconditionedByADiagonal(t *testing.T) {
	t.Run("float64", testDiagonal[float64])
	t.Run("complex128", testDiagonal[complex128])
}

func testDiagonal[T device.Number](t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	const rows, cols, n = 40, 25, 12
	m, d := matrix[T](r, rows, cols), normal[T](r, rows)
	root := make([]complex128, cols)
	for i := range root {
		root[i] = complex(0.3+r.Float64(), 0)
	}
	by := dist.Diagonal(vector[T](root))
	a := dense[T]{m: m}.operator()
	for _, keep := range []int{0, 3, n} {
		for _, k := range []int{1, 2, 5, n} {
			plain := method("cgls", solver.Options{Orthogonalize: n})
			solve(t, plain, dist.Chain(a, by), vector[T](d), nil, k)
			c := method("cgls", solver.Options{Orthogonalize: keep, TrueResidual: 4, Preconditioner: dist.Chain(by, by)})
			solve(t, c, a, vector[T](d), nil, k)
			want := values[T](plain.X())
			for i := range want {
				want[i] *= root[i]
			}
			if e := apart(values[T](c.X()), want); !(e < 1e-9) {
				t.Errorf("%d kept, iterate %d: off by %.1e", keep, k, e)
			}
		}
	}

	wrong := dense[T]{m: m, spoil: func(i int, v complex128) complex128 { return v * complex(1+0.01*float64(i%3), 0) }}
	c := method("cgls", solver.Options{Preconditioner: dist.Chain(by, by)})
	must(t, c.Init(t.Context(), solver.Hold(wrong.operator(), vector[T](d)), nil))
	if err := c.Step(t.Context()); err == nil {
		t.Error("a wrong adjoint went by")
	}
}

// changing is a preconditioner that differs a little from application to application.
type changing struct {
	dist.Operator
	r *rand.Rand
}

func (c changing) Apply(ctx context.Context, dst, src *dist.Vector) error {
	if err := c.Operator.Apply(ctx, dst, src); err != nil {
		return err
	}
	x := device.Slice[float64](dst.Buf)
	for i := range x {
		x[i] *= 1 + 0.2*(c.r.Float64()-0.5)
	}
	return nil
}

// A preconditioner that changes from step to step does not keep the method from the
// answer in as many iterations as there are unknowns, since directions stay conjugate.
func TestPreconditionerMayChange(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	const rows, cols = 40, 15
	m, d := tall(r, rows, cols, 2), normal[float64](r, rows)
	square := make([]complex128, cols)
	for i := range square {
		square[i] = complex(math.Pow(10, 4*float64(i)/cols), 0)
	}
	by := changing{dist.Diagonal(vector[float64](square)), r}
	want := byQR(m, d)
	off := func(keep int) float64 {
		c := method("cgls", solver.Options{Orthogonalize: keep, Preconditioner: by})
		solve(t, c, dense[float64]{m: m}.operator(), vector[float64](d), nil, cols)
		return apart(values[float64](c.X()), want)
	}
	kept, lost := off(cols), off(1)
	if !(kept < 1e-9) {
		t.Errorf("after %d iterations the answer is off by %.1e", cols, kept)
	}
	if lost < 100*kept {
		t.Errorf("with one direction kept it is off by %.1e, too little for a test", lost)
	}
}
