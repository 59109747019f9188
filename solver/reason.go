package solver

import (
	"fmt"
	"math"
	"strings"
)

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
