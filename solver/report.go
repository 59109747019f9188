package solver

import (
	"context"
	"time"
)

// Observer is told about every iterate, the start model (iteration 0, or the one
// resumed from) included. It may read the method's vectors, to save or draw
// them, and must not change them. An error ends the run on all ranks with
// FailedObserver. Observers run on every rank, in order.
type Observer func(ctx context.Context, m *Method, r Report) error

// Report describes one iterate.
type Report struct {
	Method    string `json:"method"`
	Iteration int    `json:"iteration"` // iterations done
	Of        int    `json:"of"`        // the limit

	Residual float64 `json:"residual"` // norm of the first row of d − A x
	Relative float64 `json:"relative"` // the same, divided by the start's
	Total    float64 `json:"total"`    // norm of all rows
	Gradient float64 `json:"gradient"` // ‖Aᵀ(d − A x)‖

	AdjointError   float64 `json:"adjoint_error"`
	AdjointWarning bool    `json:"adjoint_warning,omitempty"` // past Options.AdjointWarn

	// Drift is ‖(d − A x) − r‖/‖d‖ where it was computed in this iteration, which
	// HasDrift says; Replaced counts how often r has been replaced so far.
	HasDrift bool    `json:"has_drift,omitempty"`
	Drift    float64 `json:"drift,omitempty"`
	Replaced int     `json:"replaced,omitempty"`

	Elapsed time.Duration `json:"elapsed_ns"` // since Run began
}

func newReport(m *Method, stop Stop, elapsed time.Duration) Report {
	st := m.State()
	h := st.History
	r := Report{
		Method:       st.Method,
		Iteration:    st.Iteration,
		Of:           stop.Iterations,
		Residual:     last(h.Residual),
		Total:        last(h.Total),
		Gradient:     last(h.Gradient),
		AdjointError: st.AdjointError,
		HasDrift:     st.DriftAt > 0 && st.DriftAt == st.Iteration,
		Replaced:     st.Replaced,
		Elapsed:      elapsed,
	}
	if h.Residual[0] > 0 {
		r.Relative = r.Residual / h.Residual[0]
	}
	if r.HasDrift {
		r.Drift = st.Drift
	}
	if warn := m.opt.AdjointWarn; warn > 0 {
		r.AdjointWarning = r.AdjointError > warn
	}
	return r
}
