package solver

import (
	"context"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// Method is one iterative method, between iterations. A method is started by
// Init, or by Resume where a State and the Vectors were saved, and then stepped
// by Run. Every call is collective over the ranks of the operator.
type Method interface {
	// Name is the method's name in the configuration: "cgls", …
	Name() string

	// Init starts the method on a problem (CG: on A x = d of a Held one) from x0, or
	// from zero where x0 is nil, and copies x0. It costs one adjoint, and one forward
	// more where x0 is given; of streamed data one pass.
	Init(ctx context.Context, p Problem, x0 *dist.Vector) error

	// Step does one iteration. Its error is a *Failure where the numbers failed;
	// then x is still the last good iterate and the method is at its end.
	Step(ctx context.Context) error

	// X is the current iterate. It belongs to the method and is valid until the
	// next Step.
	X() *dist.Vector

	// State returns everything but the vectors, up to date. It belongs to the
	// method.
	State() *State

	// Vectors returns the vectors that, with State, determine all that follows,
	// bit for bit: "x" and the method's own. They belong to the method, are
	// valid until the next Step, and are meant to be saved, or after Resume to
	// be filled.
	Vectors() map[string]*dist.Vector

	// Resume sets the method to a saved State, which it takes over. The caller must then
	// fill every one of Vectors with what was saved, before the first Step.
	Resume(p Problem, s *State) error
}

// State is what a method carries from one iteration to the next besides its
// vectors. It is plain data: saved and given back to Resume it continues the
// run to the last bit.
type State struct {
	Method    string
	Iteration int     // iterations done
	DataNorm  float64 // ‖d‖

	// Stationary says that the gradient cannot be told from rounding:
	// ‖s‖ ≤ ε‖A‖‖r‖ or ‖r‖ ≤ ε‖d‖ with ε the rounding unit of the element type.
	Stationary bool

	AdjointError float64 // of the last iteration; see each method
	Drift        float64 // ‖(d − A x) − r‖/‖d‖ when last computed
	DriftAt      int     // the iteration it was computed in; 0: not yet
	Replaced     int     // how often r was replaced by the true residual

	Scalars map[string]float64 // the method's own
	History History
}

// History holds norms of every iterate, the start model's first: element k is
// after k iterations.
type History struct {
	Residual []float64 // norm of the first row of d − A x, the data misfit
	Total    []float64 // norm of all rows
	Gradient []float64 // ‖Aᴴ(d − A x)‖, all rows

	// Objective is ½‖d − A x‖² + μ‖x‖₁ after iteration k+1 (one element fewer);
	// ISTA and FISTA only.
	Objective []float64
}

func (h *History) add(first, total, gradient float64) {
	h.Residual = append(h.Residual, first)
	h.Total = append(h.Total, total)
	h.Gradient = append(h.Gradient, gradient)
}

func last(x []float64) float64 { return x[len(x)-1] }

func (s *State) validate(method string) error {
	if s.Method != method {
		return fmt.Errorf("solver: the saved state is of method %q, not %q", s.Method, method)
	}
	h, n := s.History, s.Iteration+1
	if s.Iteration < 0 || len(h.Residual) != n || len(h.Total) != n || len(h.Gradient) != n {
		return fmt.Errorf("solver: the saved state of %s after %d iterations has histories of %d, %d and %d values, must be %d",
			method, s.Iteration, len(h.Residual), len(h.Total), len(h.Gradient), n)
	}
	return nil
}
