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

// faulty spoils the result of one application of an operator.
type faulty struct {
	dist.Operator
	forward, adjoint int // which call is spoilt, counted from 1
	spoil            func(v *dist.Vector)
}

func (f *faulty) Apply(ctx context.Context, dst, src *dist.Vector) error {
	if err := f.Operator.Apply(ctx, dst, src); err != nil {
		return err
	}
	if f.forward--; f.forward == 0 {
		f.spoil(dst)
	}
	return nil
}

func (f *faulty) ApplyAdjoint(ctx context.Context, dst, src *dist.Vector) error {
	if err := f.Operator.ApplyAdjoint(ctx, dst, src); err != nil {
		return err
	}
	if f.adjoint--; f.adjoint == 0 {
		f.spoil(dst)
	}
	return nil
}

func setFirst(x float32) func(*dist.Vector) {
	return func(v *dist.Vector) { device.Slice[float32](v.Buf)[0] = x }
}

func nan32() float32 { return float32(math.NaN()) }

// checked has a true residual computed every few iterations.
func checked() solver.Options { return solver.Options{TrueResidual: 4} }

// A NaN or an infinity out of any application ends the run, and leaves x where
// the iteration before had brought it.
func TestNaNLeavesTheLastGoodIterate(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	a := dense[float32]{m: matrix[float32](r, 20, 8)}.operator()
	d := vector[float32](normal[float32](r, 20))
	ctx := context.Background()
	for _, name := range solver.Names() {
		for call := 1; call <= 6; call++ {
			for _, bad := range []float32{nan32(), float32(math.Inf(-1))} {
				for _, forward := range []bool{true, false} {
					f := &faulty{Operator: a, spoil: setFirst(bad)}
					if forward {
						f.forward = call
					} else {
						f.adjoint = call
					}
					m, err := solver.New(name, checked())
					must(t, err)
					reason, err := solver.FailedNaN, m.Init(ctx, solver.Hold(f, d), nil)
					if err == nil {
						reason, err = solver.Run(ctx, m, solver.Stop{Iterations: 20})
					}
					var failure *solver.Failure
					if reason != solver.FailedNaN || !errors.As(err, &failure) {
						t.Fatalf("%s, forward %v, call %d: %s, %v", name, forward, call, reason, err)
					}
					if !strings.Contains(err.Error(), "must be finite") || failure.Quantity == "" {
						t.Errorf("%s: message %q names no quantity", name, err)
					}
					st := m.State()
					want := max(0, len(st.History.Total)-1)
					if st.Iteration != want || failure.Iteration > want+1 {
						t.Errorf("%s: failed in iteration %d after %d iterations with %d norms",
							name, failure.Iteration, st.Iteration, want)
					}
					for k, n := range st.History.Total {
						if !(n < math.Inf(1)) || !(st.History.Gradient[k] < math.Inf(1)) {
							t.Errorf("%s: the history has %g, %g", name, n, st.History.Gradient[k])
						}
					}
					good, err := solver.New(name, checked())
					must(t, err)
					solve(t, good, a, d, nil, st.Iteration)
					// In the iteration that checks the true residual x is a step
					// ahead of the history: finite, and that is all.
					for i, v := range values[float32](m.X()) {
						if math.IsNaN(v) || math.IsInf(v, 0) {
							t.Fatalf("%s, call %d: x[%d] = %v", name, call, i, v)
						}
						if w := values[float32](good.X())[i]; st.Iteration%4 != 3 && v != w {
							t.Fatalf("%s, call %d: x[%d] = %v after iteration %d, want %v", name, call, i, v, st.Iteration, w)
						}
					}
				}
			}
		}
	}
}

func TestNaNInDataAndStart(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	a := dense[float64]{m: matrix[float64](r, 20, 8)}.operator()
	good, start := normal[float64](r, 20), normal[float64](r, 8)
	for _, name := range solver.Names() {
		for what, spoil := range map[string]func() (d, x0 []float64){
			"data":        func() (_, _ []float64) { return append([]float64{math.NaN()}, good[1:]...), nil },
			"start model": func() (_, _ []float64) { return good, append([]float64{math.Inf(1)}, start[1:]...) },
		} {
			d, x0 := spoil()
			var x *dist.Vector
			if x0 != nil {
				x = vector[float64](x0)
			}
			m, err := solver.New(name, checked())
			must(t, err)
			var f *solver.Failure
			err = m.Init(context.Background(), solver.Hold(a, vector[float64](d)), x)
			if !errors.As(err, &f) || f.Reason != solver.FailedNaN || f.Iteration != 0 || !strings.Contains(err.Error(), what) {
				t.Errorf("%s with NaN in the %s: %v", name, what, err)
			}
		}
	}
}

// An adjoint that is wrong by a per cent, in part, or by its sign is found within the
// first iterations, by every method.
func TestWrongAdjointFails(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	m := matrix[float32](r, 40, 15)
	d := vector[float32](normal[float32](r, 40))
	for what, spoil := range map[string]func(i int, v float64) float64{
		"scaled":          func(_ int, v float64) float64 { return 1.01 * v },
		"wrong in part":   func(i int, v float64) float64 { return v * (1 + 0.05*float64(i%2)) },
		"of another sign": func(_ int, v float64) float64 { return -v },
	} {
		for _, name := range solver.Names() {
			if name == "cg" && what != "wrong in part" {
				continue // AᵀA is as symmetric as before; see TestCGWantsSymmetric
			}
			s, err := solver.New(name, checked())
			must(t, err)
			err = s.Init(context.Background(), solver.Hold(dense[float32]{m, spoil}.operator(), d), nil)
			if err == nil {
				_, err = solver.Run(context.Background(), s, solver.Stop{Iterations: 15})
			}
			var f *solver.Failure
			if !errors.As(err, &f) || f.Reason != solver.FailedAdjoint {
				t.Errorf("%s, adjoint %s: %v", name, what, err)
				continue
			}
			if f.Iteration > 3 || !(f.Value > f.Limit) || f.Limit != 1e-3 {
				t.Errorf("%s, adjoint %s: found in iteration %d, %g > %g", name, what, f.Iteration, f.Value, f.Limit)
			}
		}
	}
}

// A small error warns, goes on, and can be ignored.
func TestAdjointLimits(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 7))
	m := matrix[float32](r, 40, 15)
	d := vector[float32](normal[float32](r, 40))
	run := func(percent float64, o solver.Options) (warned bool, reason solver.Reason) {
		spoil := func(_ int, v float64) float64 { return v * (1 + percent/100) }
		s := method("cgls", o)
		must(t, s.Init(context.Background(), solver.Hold(dense[float32]{m, spoil}.operator(), d), nil))
		reason, _ = solver.Run(context.Background(), s, solver.Stop{Iterations: 5},
			func(_ context.Context, _ *solver.Method, r solver.Report) error {
				warned = warned || r.AdjointWarning
				return nil
			})
		return warned, reason
	}
	for _, c := range []struct {
		percent float64
		o       solver.Options
		warned  bool
		reason  solver.Reason
	}{
		{0, solver.Options{}, false, solver.StoppedIterations},
		{0.08, solver.Options{}, true, solver.StoppedIterations},
		{1, solver.Options{}, false, solver.FailedAdjoint}, // before it could warn
		{1, solver.Options{AdjointFail: -1}, true, solver.StoppedIterations},
		{1, solver.Options{AdjointFail: -1, AdjointWarn: -1}, false, solver.StoppedIterations},
		{0.08, solver.Options{AdjointFail: 1e-5}, false, solver.FailedAdjoint},
	} {
		if warned, reason := run(c.percent, c.o); warned != c.warned || reason != c.reason {
			t.Errorf("adjoint off by %g %%, %+v: warned %v, %s; want %v, %s",
				c.percent, c.o, warned, reason, c.warned, c.reason)
		}
	}
}

// Rounding in directions that A hardly sees is no fault of the adjoint.
func TestIllConditionedIsNoAdjointFault(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 8))
	s := make([]float64, 30)
	for i := range s {
		s[i] = math.Pow(10, -6*float64(i)/29)
	}
	a := dense[float32]{m: withSingularValues(matrix[float32](r, 60, 30), s)}.operator()
	d := vector[float32](normal[float32](r, 60))
	for _, name := range solver.Names() {
		m, err := solver.New(name, options())
		must(t, err)
		must(t, m.Init(context.Background(), solver.Hold(a, d), nil))
		worst := 0.0
		_, err = solver.Run(context.Background(), m, solver.Stop{Iterations: 300},
			func(_ context.Context, _ *solver.Method, r solver.Report) error {
				worst = max(worst, r.AdjointError)
				return nil
			})
		if err != nil || worst > 1e-6 {
			t.Errorf("%s: adjoint error up to %g, %v", name, worst, err)
		}
	}
}

// backwards is the identity with a matrix for its adjoint, so that AᵀA is that matrix.
type backwards struct{ dist.Operator }

func (b backwards) Apply(_ context.Context, dst, src *dist.Vector) error { return dist.Copy(dst, src) }

func (b backwards) ApplyAdjoint(ctx context.Context, dst, src *dist.Vector) error {
	return b.Operator.Apply(ctx, dst, src)
}

func TestCGWantsSymmetric(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	b := spd[float64](r, 12)
	d := vector[float64](normal[float64](r, 12))
	run := func(m [][]float64) (solver.Reason, error) {
		s := method("cg", options())
		must(t, s.Init(context.Background(), solver.Hold(backwards{dense[float64]{m: m}.operator()}, d), nil))
		return solver.Run(context.Background(), s, solver.Stop{Iterations: 40})
	}
	if reason, err := run(b); reason != solver.ConvergedGradient {
		t.Errorf("positive definite: %s, %v", reason, err)
	}
	b[3][7] *= 1.001
	if reason, err := run(b); reason != solver.FailedAdjoint {
		t.Errorf("one entry off by a thousandth: %s, %v", reason, err)
	}
	b = spd[float64](r, 12)
	b[5][5] -= 100
	if reason, err := run(b); reason != solver.FailedIndefinite || !strings.Contains(err.Error(), "must be positive") {
		t.Errorf("indefinite: %s, %v", reason, err)
	}
}

// spd returns a symmetric positive definite matrix with a condition near 50.
func spd[T device.Number](r *rand.Rand, n int) [][]float64 {
	a := matrix[T](r, 2*n, n)
	b := make([][]float64, n)
	for i := range b {
		b[i] = make([]float64, n)
		for j := range b[i] {
			for k := range a {
				b[i][j] += a[k][i] * a[k][j]
			}
		}
	}
	return b
}

// A forward that goes wrong once puts the recursive residual off for good. The
// true residual shows it, and CGLS puts it right.
func TestDriftIsReportedAndCorrected(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	m := matrix[float32](r, 60, 40)
	d := normal[float32](r, 60)
	want := byQR(m, d)
	for _, every := range []int{0, 7} {
		bump := func(v *dist.Vector) { device.Slice[float32](v.Buf)[2] += 0.5 }
		s := method("cgls", solver.Options{TrueResidual: every, AdjointFail: -1})
		drifts, replaced := map[int]float64{}, map[int]int{}
		must(t, s.Init(context.Background(), solver.Hold(&faulty{Operator: dense[float32]{m: m}.operator(), forward: 3, spoil: bump}, vector[float32](d)), nil))
		_, err := solver.Run(context.Background(), s, solver.Stop{Iterations: 120},
			func(_ context.Context, _ *solver.Method, r solver.Report) error {
				if r.HasDrift {
					drifts[r.Iteration] = r.Drift
				}
				replaced[r.Iteration] = r.Replaced
				return nil
			})
		must(t, err)
		e := away(values[float32](s.X()), want)
		switch {
		case every == 0 && (len(drifts) != 0 || s.State().Replaced != 0 || e < 1e-3):
			t.Errorf("never checked: drifts %v, replaced %d, solution %g away", drifts, s.State().Replaced, e)
		case every == 7 && (drifts[7] < 1e-3 || drifts[14] > 1e-5 || drifts[8] != 0 || replaced[6] != 0 || replaced[7] != 1 || e > 1e-5):
			t.Errorf("checked: drifts %v, replaced %d, solution %g away", drifts, s.State().Replaced, e)
		}
	}
}

func TestNewNamesTheMethods(t *testing.T) {
	for _, name := range solver.Names() {
		m, err := solver.New(name, solver.Options{})
		if err != nil || m.Name() != name {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	if _, err := solver.New("sgd", solver.Options{}); err == nil || !strings.Contains(err.Error(), `"sgd"`) || !strings.Contains(err.Error(), "cgls") {
		t.Errorf("unknown method: %v", err)
	}
}

func TestWrongLayoutPanics(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	a := dense[float64]{m: matrix[float64](r, 6, 4)}.operator()
	for what, f := range map[string]func(){
		"short data": func() {
			_ = method("cgls", solver.Options{}).Init(context.Background(), solver.Hold(a, vector[float64](make([]float64, 5))), nil)
		},
		"start": func() {
			_ = method("cg", solver.Options{}).Init(context.Background(), solver.Hold(a, vector[float64](make([]float64, 6))), vector[float64](make([]float64, 6)))
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			f()
		}()
	}
}
