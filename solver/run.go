package solver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
)

// Stop says when a run ends.
type Stop struct {
	// Iterations is the limit on all iterations since the start, those before
	// a resume included.
	Iterations int

	// Tolerance ends the run with ConvergedResidual once ‖d − A x‖, over all
	// rows, is at most Tolerance·‖d‖: norms, not squares. Zero means never.
	Tolerance float64

	// Asked, where given, is asked once an iteration whether to stop: it answers
	// StoppedSignal, StoppedTime, StoppedAgreement or "", perhaps differently on every rank.
	Asked func() Reason
	// Again, where given, does each iteration. If it does one twice, the second begins from
	// a copy of the state and the vectors, which Run then keeps.
	Again func(step func(again bool) error) error
	// Comm is over all ranks of the run; nil means there is one. Every decision
	// to stop is agreed on over it.
	Comm comm.Comm
}

// precedence lists the reasons on which ranks agree: what failed first, then what is
// done, then who asked.
var precedence = []Reason{
	FailedNaN, FailedAdjoint, FailedIndefinite, FailedObserver,
	ConvergedResidual, ConvergedGradient, StoppedIterations, StoppedAgreement, StoppedSignal, StoppedTime,
}

// flag is a reason's bit, 0 for one that is not agreed on.
func (r Reason) flag() uint64 {
	if i := slices.Index(precedence, r); i >= 0 {
		return 1 << i
	}
	return 0
}

// Run steps a method that Init or Resume has started until stop says so, and
// reports to the observers before the first iteration and after every one. The
// error is nil unless the reason has Failed; it wraps a *Failure where the
// numbers failed. Between iterations a cancelled context counts as StoppedSignal. After
// anything but FailedOperator all ranks return the same reason, together.
func Run(ctx context.Context, m *Method, stop Stop, observers ...Observer) (Reason, error) {
	began := time.Now()
	world := stop.Comm
	if world == nil {
		world = comm.Self()
	}
	var err error
	for {
		flags := uint64(0)
		if err != nil {
			flags = failureFlag(err)
		} else {
			r := newReport(m, stop, time.Since(began))
			for _, o := range observers {
				if err = o(ctx, m, r); err != nil {
					flags = FailedObserver.flag()
					break
				}
			}
			flags |= stop.flags(ctx, m.State())
		}
		flags, agreeErr := world.Host().Agree(flags)
		if agreeErr != nil {
			return FailedOperator, agreeErr
		}
		if flags != 0 {
			reason := precedence[bits.TrailingZeros64(flags)]
			if err == nil && reason.Failed() {
				err = fmt.Errorf("solver: %s, iteration %d: another rank ended with %s", m.Name(), m.State().Iteration, reason)
			}
			return reason, err
		}
		if err = stop.step(ctx, m); err != nil && failureFlag(err) == 0 {
			return FailedOperator, err
		}
	}
}

// step does one iteration.
func (s Stop) step(ctx context.Context, m *Method) error {
	if s.Again == nil {
		return m.Step(ctx)
	}
	var failure *Failure // no reason to do it again
	err := s.Again(func(again bool) (err error) {
		if again {
			err = m.Back()
		} else {
			err = m.Keep()
		}
		if err == nil {
			err = m.Step(ctx)
		}
		if failure = nil; errors.As(err, &failure) {
			return nil
		}
		return err
	})
	if err == nil && failure != nil {
		return failure
	}
	return err
}

// flags returns this rank's reasons for stopping, as bits.
func (s Stop) flags(ctx context.Context, st *State) (f uint64) {
	if ctx.Err() != nil {
		f = StoppedSignal.flag()
	}
	if s.Asked != nil {
		f |= s.Asked().flag() & (StoppedSignal.flag() | StoppedTime.flag() | StoppedAgreement.flag())
	}
	if s.Tolerance > 0 && last(st.History.Total) <= s.Tolerance*st.DataNorm {
		f |= ConvergedResidual.flag()
	}
	if st.Stationary {
		f |= ConvergedGradient.flag()
	}
	if st.Iteration >= s.Iterations {
		f |= StoppedIterations.flag()
	}
	return f
}

// failureFlag is the flag of a Failure. It is 0 for any other error.
func failureFlag(err error) uint64 {
	var f *Failure
	if !errors.As(err, &f) {
		return 0
	}
	return f.Reason.flag()
}

// Reason says why a run ended.
type Reason string

const (
	// ConvergedResidual: ‖r‖ ≤ tolerance·‖d‖.
	ConvergedResidual Reason = "converged_residual"
	// ConvergedGradient: the gradient cannot be told from rounding; no step can
	// improve x. Zero data end so at once, with x = 0.
	ConvergedGradient Reason = "converged_gradient"
	// StoppedIterations: the iteration limit.
	StoppedIterations Reason = "stopped_iterations"
	// StoppedAgreement: asked to stop because images that should be the same grow apart.
	StoppedAgreement Reason = "stopped_agreement"
	// StoppedSignal: asked to stop by a signal on some rank.
	StoppedSignal Reason = "stopped_signal"
	// StoppedTime: asked to stop, the time being up, on some rank.
	StoppedTime Reason = "stopped_time"
	// Matched: the image was made by matching filters, without iterations. No Method
	// ends so.
	Matched Reason = "matched"
	// FailedNaN: a NaN or an infinity.
	FailedNaN Reason = "failed_nan"
	// FailedAdjoint: A and its adjoint are not adjoint to each other.
	FailedAdjoint Reason = "failed_adjoint"
	// FailedIndefinite: CG's operator is not positive definite.
	FailedIndefinite Reason = "failed_indefinite"
	// FailedObserver: an observer returned an error, on this or another rank.
	FailedObserver Reason = "failed_observer"
	// FailedOperator: the operator, the device or the communicator returned an
	// error, or the context was cancelled.
	FailedOperator Reason = "failed_operator"
)

// Failed reports whether the run ended by a failure.
func (r Reason) Failed() bool { return strings.HasPrefix(string(r), "failed_") }

// Failure is the numerical failure of a method: FailedNaN, FailedAdjoint or
// FailedIndefinite. The method's x is the last good iterate.
type Failure struct {
	Reason    Reason
	Method    string
	Iteration int     // the iteration that failed, counted from 1; 0 is the start
	Quantity  string  // what went wrong
	Value     float64 // its value
	Limit     float64 // what it may be at most (FailedAdjoint)
}

func (f *Failure) Error() string {
	at := fmt.Sprintf("solver: %s, iteration %d: ", f.Method, f.Iteration)
	switch f.Reason {
	case FailedAdjoint:
		return at + fmt.Sprintf("%s is %.3g, must be at most %.1e: operator and adjoint do not belong together",
			f.Quantity, f.Value, f.Limit)
	case FailedIndefinite:
		return at + fmt.Sprintf("%s is %g, must be positive: the operator is not positive definite",
			f.Quantity, f.Value)
	}
	return at + fmt.Sprintf("%s is %v, must be finite", f.Quantity, f.Value)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
