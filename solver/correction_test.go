package solver_test

import (
	"context"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// nearly is a matrix beside another one that is near it, which is applied unless direct is set.
type nearly[T device.Number] struct {
	own, near dense[T]
	direct    bool
}

func nearby[T device.Number](r *rand.Rand, rows, cols int, off float64) *nearly[T] {
	n := &nearly[T]{own: dense[T]{m: tall(r, rows, cols, 0.3)}, near: dense[T]{m: matrix[T](r, rows, cols)}}
	for i, row := range n.near.m {
		for j := range row {
			row[j] = n.own.m[i][j] * (1 + complex(off, 0)*row[j])
		}
	}
	return n
}

func (n *nearly[T]) now() dense[T] {
	if n.direct {
		return n.own
	}
	return n.near
}

func (n *nearly[T]) Forward(ctx context.Context, dst, src device.Buf) error {
	return n.now().Forward(ctx, dst, src)
}

func (n *nearly[T]) Adjoint(ctx context.Context, dst, src device.Buf) error {
	return n.now().Adjoint(ctx, dst, src)
}

func (n *nearly[T]) operator() dist.Operator {
	t := device.TypeOf[T]()
	return dist.Lift(n, dist.Local(t, len(n.own.m[0])), dist.Local(t, len(n.own.m)))
}

// TestCorrection: few iterations of an operator that is off, corrected once, come near as many of the
// operator itself, with damping and without, and the last residual is the true one.
func TestCorrection(t *testing.T) {
	t.Run("float32", testCorrection[float32])
	t.Run("complex128", testCorrection[complex128])
}

func testCorrection[T device.Number](t *testing.T) {
	const rows, cols, n = 120, 40, 20
	r := rand.New(rand.NewPCG(3, 9))
	for _, lambda := range []float64{0, 0.5} {
		k := nearby[T](r, rows, cols, 0.003)
		a, d, err := damp(k.operator(), vector[T](normal[T](r, rows)), lambda)
		must(t, err)
		k.direct = true
		want := method("cgls", solver.Options{Orthogonalize: n})
		solve(t, want, a, d, nil, n)
		k.direct = false
		plain := method("cgls", solver.Options{Orthogonalize: n})
		solve(t, plain, a, d, nil, n)
		got := method("cgls", solver.Options{Orthogonalize: n, Last: n, Direct: func(on bool) { k.direct = on }})
		if reason := solve(t, got, a, d, nil, n+1); reason != solver.StoppedIterations || k.direct {
			t.Fatalf("the run ended with %s", reason)
		}
		to := values[T](want.X())
		before, after := apart(values[T](plain.X()), to), apart(values[T](got.X()), to)
		h, w := got.State().History.Residual, want.State().History.Residual
		t.Logf("damping %g: off by %.1e, corrected by %.1e; residual %.6g, wanted %.6g", lambda, before, after, h[n+1], w[n])
		if before < 1e-3 || !(after < before/4) {
			t.Errorf("damping %g: off by %.1e, corrected by %.1e", lambda, before, after)
		}
		k.direct = true
		work := &dist.Work{Ctx: t.Context()}
		var e *dist.Vector
		work.New(host, a.Range(), &e)
		work.Apply(a, e, got.X())
		work.Axpby(1, d, -1, e)
		found := got.State().History.Total[n+1]
		if total := work.Norm(e); work.Err != nil || !(abs(total/found-1) < 1e-5) {
			t.Errorf("damping %g: the true residual is %g, found %g (%v)", lambda, total, found, work.Err)
		}
	}
}

// TestCorrectionResumed: a run that was saved goes on to the last bit, before the last iteration and before
// the correction.
func TestCorrectionResumed(t *testing.T) {
	const rows, cols, n = 60, 30, 8
	r := rand.New(rand.NewPCG(4, 9))
	k := nearby[float32](r, rows, cols, 0.01)
	a, d := k.operator(), vector[float32](normal[float32](r, rows))
	o := solver.Options{Orthogonalize: n, Last: n, Direct: func(on bool) { k.direct = on }}
	whole := method("cgls", o)
	solve(t, whole, a, d, nil, n+1)
	for _, at := range []int{0, n - 1, n} {
		before, after := method("cgls", o), method("cgls", o)
		solve(t, before, a, d, nil, at)
		must(t, after.Resume(solver.Hold(a, d), before.State()))
		to := after.Vectors()
		for name, v := range before.Vectors() {
			must(t, dist.Copy(to[name], v))
		}
		_, err := solver.Run(t.Context(), after, solver.Stop{Iterations: n + 1})
		must(t, err)
		if !slices.Equal(values[float32](after.X()), values[float32](whole.X())) {
			t.Errorf("resumed after %d: x differs", at)
		}
	}
}

// TestCorrectionRefused: what cannot be corrected says so.
func TestCorrectionRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 9))
	k := nearby[float32](r, 6, 4, 0.01)
	a, d, x0 := k.operator(), vector[float32](normal[float32](r, 6)), vector[float32](normal[float32](r, 4))
	o := solver.Options{Last: 2, Direct: func(on bool) { k.direct = on }}
	if err := method("cgls", o).Init(t.Context(), solver.Hold(a, d), x0); err == nil {
		t.Error("a start model was taken")
	}
}

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

func abs(x float64) float64 { return max(x, -x) }
