package solver

// State is the state that a method carries from one iteration to the next, except its
// vectors. It is plain data. Saved and passed to Resume, it continues the run to the last
// bit.
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
	Restarted    int     // the iteration after which Restart was last called; 0: never

	Scalars map[string]float64 // the method's own
	History History
}

// History holds norms of every iterate, the start model's first: element k is
// after k iterations.
type History struct {
	Residual []float64 // norm of the first row of d − A x, the data misfit
	Total    []float64 // norm of all rows
	Gradient []float64 // ‖Aᵀ(d − A x)‖, all rows

	// Agreement is whatever an observer found of iterate k+1 and keeps here.
	Agreement []float64
}

func (h *History) add(first, total, gradient float64) {
	h.Residual = append(h.Residual, first)
	h.Total = append(h.Total, total)
	h.Gradient = append(h.Gradient, gradient)
}

func last(x []float64) float64 { return x[len(x)-1] }
