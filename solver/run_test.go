package solver_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

func small(seed uint64) (dist.Operator, *dist.Vector) {
	r := rand.New(rand.NewPCG(seed, 11))
	return dense[float64]{m: matrix[float64](r, 30, 12)}.operator(), vector[float64](normal[float64](r, 30))
}

func started(t testing.TB) *solver.Method {
	t.Helper()
	a, d := small(1)
	m := method("cgls", options())
	must(t, m.Init(context.Background(), solver.Hold(a, d), nil))
	return m
}

func TestStopsAtTheIterationLimit(t *testing.T) {
	for _, n := range []int{0, 1, 4} {
		m := started(t)
		reason, err := solver.Run(context.Background(), m, solver.Stop{Iterations: n})
		if reason != solver.StoppedIterations || err != nil || m.State().Iteration != n {
			t.Errorf("limit %d: %s after %d, %v", n, reason, m.State().Iteration, err)
		}
	}
}

// The tolerance is on norms: the run ends in the first iteration at or under it,
// whatever the method.
func TestToleranceIsRelativeToTheData(t *testing.T) {
	a, d := small(1)
	dn, err := dist.Norm(d)
	must(t, err)
	for _, name := range solver.Names() {
		m, err := solver.New(name, solver.Options{})
		must(t, err)
		solve(t, m, a, d, nil, 20)
		h := append([]float64(nil), m.State().History.Total...)
		for k := 1; k < 5; k++ {
			tol := (h[k] + h[k-1]) / 2 / dn
			must(t, m.Init(context.Background(), solver.Hold(a, d), nil))
			reason, err := solver.Run(context.Background(), m, solver.Stop{Iterations: 50, Tolerance: tol})
			if reason != solver.ConvergedResidual || err != nil || m.State().Iteration != k {
				t.Errorf("%s, tolerance %g: %s after %d, want %d; %v", name, tol, reason, m.State().Iteration, k, err)
			}
		}
	}
}

// All rows count, in the residual and in the data.
func TestToleranceIsOfAllRows(t *testing.T) {
	a, d := small(2)
	op, data, err := damp(a, d, 6)
	must(t, err)
	m := method("cgls", solver.Options{})
	must(t, m.Init(context.Background(), solver.Hold(op, data), nil))
	_, err = solver.Run(context.Background(), m, solver.Stop{Iterations: 30})
	must(t, err)
	h := m.State().History
	end := len(h.Total) - 1
	tol := (h.Total[end] + h.Residual[end]) / 2 / m.State().DataNorm
	must(t, m.Init(context.Background(), solver.Hold(op, data), nil))
	reason, err := solver.Run(context.Background(), m, solver.Stop{Iterations: 30, Tolerance: tol})
	if reason == solver.ConvergedResidual || err != nil || !(h.Residual[end] < 0.99*h.Total[end]) {
		t.Errorf("%s, %v; first row %g, all rows %g", reason, err, h.Residual[end], h.Total[end])
	}
}

func TestConvergesOnTheGradient(t *testing.T) {
	m := started(t)
	reason, err := solver.Run(context.Background(), m, solver.Stop{Iterations: 1000})
	if reason != solver.ConvergedGradient || err != nil || m.State().Iteration > 40 {
		t.Errorf("%s after %d, %v", reason, m.State().Iteration, err)
	}
	// Further steps stay at the answer.
	x := values[float64](m.X())
	for range 5 {
		must(t, m.Step(context.Background()))
	}
	if e := away(values[float64](m.X()), x); e > 1e-12 {
		t.Errorf("steps past the end moved x by %g", e)
	}
}

// Whoever asks to stop, and wherever, all ranks stop in the same iteration.
func TestRanksStopTogether(t *testing.T) {
	fault := errors.New("disk full")
	for _, c := range []struct {
		name   string
		want   solver.Reason
		asked  [2]solver.Reason // by ranks 2 and 3
		err    error
		cancel bool
	}{
		{"signal", solver.StoppedSignal, [2]solver.Reason{solver.StoppedSignal}, nil, false},
		{"time", solver.StoppedTime, [2]solver.Reason{solver.StoppedTime}, nil, false},
		{"both", solver.StoppedSignal, [2]solver.Reason{solver.StoppedTime, solver.StoppedSignal}, nil, false},
		{"cancelled context", solver.StoppedSignal, [2]solver.Reason{}, nil, true},
		{"observer", solver.FailedObserver, [2]solver.Reason{}, fault, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			must(t, commtest.Ranks(4, func(world comm.Comm) error {
				mine := world.Rank() == 2
				a, d := small(1)
				m := method("cgls", options())
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if err := m.Init(ctx, solver.Hold(a, d), nil); err != nil {
					return err
				}
				stop := solver.Stop{Iterations: 9, Comm: world, Asked: func() solver.Reason {
					if world.Rank() >= 2 && m.State().Iteration >= 3 {
						return c.asked[world.Rank()-2]
					}
					return ""
				}}
				reason, err := solver.Run(ctx, m, stop, func(_ context.Context, m *solver.Method, r solver.Report) error {
					if !mine || r.Iteration < 3 {
						return nil
					}
					if c.cancel {
						cancel()
					}
					return c.err
				})
				if reason != c.want || m.State().Iteration != 3 {
					return errors.New(string(reason) + ", not after 3 iterations")
				}
				if reason.Failed() != (err != nil) || mine && !errors.Is(err, c.err) {
					return errors.Join(errors.New("wrong error"), err)
				}
				return nil
			}))
		})
	}
}

// What is finished is not "stopped": the limit outranks the signal.
func TestTheLimitOutranksTheSignal(t *testing.T) {
	m := started(t)
	reason, err := solver.Run(context.Background(), m, solver.Stop{Iterations: 2, Asked: func() solver.Reason {
		if m.State().Iteration == 2 {
			return solver.StoppedSignal
		}
		return solver.FailedNaN // is nothing to ask for
	}})
	if reason != solver.StoppedIterations || err != nil {
		t.Errorf("%s, %v", reason, err)
	}
}

func TestOperatorErrorIsPassedOn(t *testing.T) {
	fault := errors.New("lost a device")
	a, d := small(1)
	b := &breaking{Operator: a, left: 3, err: fault}
	m := method("cgls", options())
	must(t, m.Init(context.Background(), solver.Hold(b, d), nil))
	reason, err := solver.Run(context.Background(), m, solver.Stop{Iterations: 9})
	if reason != solver.FailedOperator || !reason.Failed() || !errors.Is(err, fault) {
		t.Errorf("%s, %v", reason, err)
	}
}

type breaking struct {
	dist.Operator
	left int
	err  error
}

func (b *breaking) Apply(ctx context.Context, dst, src *dist.Vector) error {
	if b.left--; b.left == 0 {
		return b.err
	}
	return b.Operator.Apply(ctx, dst, src)
}

func TestReports(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 11))
	a, d, err := damp(dense[float64]{m: matrix[float64](r, 30, 12)}.operator(), vector[float64](normal[float64](r, 30)), 1.5)
	must(t, err)
	m := method("cgls", solver.Options{TrueResidual: 3})
	must(t, m.Init(context.Background(), solver.Hold(a, d), nil))
	n := 0
	_, err = solver.Run(context.Background(), m, solver.Stop{Iterations: 7},
		func(_ context.Context, _ *solver.Method, r solver.Report) error {
			h := m.State().History
			if r.Iteration != n || r.Of != 7 || r.Method != "cgls" ||
				r.Residual != h.Residual[n] || r.Total != h.Total[n] || r.Gradient != h.Gradient[n] ||
				r.Relative != h.Residual[n]/h.Residual[0] || r.Elapsed < 0 {
				t.Errorf("report %d: %+v", n, r)
			}
			if r.HasDrift != (n > 0 && n%3 == 0) {
				t.Errorf("report %d: has drift %v", n, r.HasDrift)
			}
			if n > 0 && !(r.Total > r.Residual) {
				t.Errorf("report %d: all rows %g, the first %g", n, r.Total, r.Residual)
			}
			n++
			return nil
		})
	must(t, err)
	if n != 8 {
		t.Errorf("%d reports, want 8", n)
	}
}
