package solver_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// A few large singular values, as the strong reflectors of an image make, cost
// conjugate gradients in single precision their orthogonality within a few
// iterations. With the gradients kept orthogonal the history follows that of
// double precision; without, it must not, or this test has no teeth.
func TestOrthogonalizeKeepsSinglePrecisionOnThePath(t *testing.T) {
	const rows, cols, n = 60, 40, 24
	r := rand.New(rand.NewPCG(8, 8))
	m := matrix[float32](r, rows, cols)
	for j := range m[0] {
		for i := range m {
			// Columns fall off over four decades; the entries stay exact in float32.
			m[i][j] = float64(float32(m[i][j] * math.Pow(10, -4*float64(j)/cols)))
		}
	}
	d := normal[float32](r, rows)

	history := func(keep int, single bool) []float64 {
		o := solver.Options{Orthogonalize: keep}
		c := method("cgls", o)
		if single {
			solve(t, c, dense[float32]{m: m}.operator(), vector[float32](d), nil, n)
		} else {
			solve(t, c, dense[float64]{m: m}.operator(), vector[float64](d), nil, n)
		}
		return c.State().History.Residual
	}
	apart := func(a, b []float64) float64 {
		worst := 0.0
		for i := range a {
			worst = math.Max(worst, math.Abs(a[i]-b[i])/b[0])
		}
		return worst
	}
	exact := history(n, false)
	kept, lost := apart(history(n, true), exact), apart(history(0, true), exact)
	t.Logf("largest difference of the residual norms from double precision: %.1e orthogonalised, %.1e not", kept, lost)
	if kept > 1e-5 {
		t.Errorf("orthogonalised: histories differ by %.1e of the first residual, want at most 1e-5", kept)
	}
	if lost < 100*kept {
		t.Errorf("not orthogonalised: histories differ by %.1e, which is too little for a test", lost)
	}
}

// The number of gradients kept changes no exact quantity: double precision on a
// well-conditioned problem takes the same path.
func TestOrthogonalizeChangesNothingExact(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	m, d := matrix[float64](r, 30, 20), vector[float64](normal[float64](r, 30))
	a := dense[float64]{m: m}.operator()
	none, some := method("cgls", solver.Options{}), method("cgls", solver.Options{Orthogonalize: 5})
	solve(t, none, a, d, nil, 12)
	solve(t, some, a, d, nil, 12)
	x, y := device.Slice[float64](none.X().Buf), device.Slice[float64](some.X().Buf)
	for i := range x {
		if math.Abs(x[i]-y[i]) > 1e-10 {
			t.Fatalf("x[%d] is %v without and %v with orthogonalisation", i, x[i], y[i])
		}
	}
}
