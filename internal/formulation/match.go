package formulation

import (
	"context"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// Matched is the result of solver.method = "matching". Its history has two entries, before
// and after.
type Matched struct {
	X            *dist.Vector
	History      solver.History
	AdjointError float64
}

// Match solves a problem that is held approximately by matching filters: with the
// migrated image m1 = Aᵀd and m2 = AᵀA m1, filters b with b ∗ m2 ≈ m1 make the image
// b ∗ m1, which is scaled by the one factor that makes its misfit least. A signal ends it
// between applications, on all ranks, not in the middle of one.
func (f *Formulation) Match(ctx context.Context, o imaging.MatchOptions) (*Matched, error) {
	h := f.Problem.(*solver.Held)
	m := &matcher{f: f, a: h.A, d: h.D, o: o}
	residual, gradient := make([]float64, 2), make([]float64, 2)
	m.History = solver.History{Residual: residual, Total: residual, Gradient: gradient}
	m.w.Ctx = context.WithoutCancel(ctx)
	m.w.New(f.Setting.Device, m.a.Domain(), &m.m1, &m.m2)
	m.w.New(f.Setting.Device, m.d.Layout, &m.t)
	for _, step := range []func(){m.migrate, m.remigrate, m.filter, m.fit} {
		m.w.Do(func() error { return m.interrupted(ctx) })
		if m.w.Err == nil {
			step()
		}
	}
	return &m.Matched, m.w.Err
}

// interrupted ends the work on all ranks if one of them was interrupted.
func (m *matcher) interrupted(ctx context.Context) error {
	stop, err := comm.Any(m.f.Setting.World, ctx.Err() != nil)
	if err == nil && stop {
		err = fmt.Errorf("solver.method = \"matching\", which keeps no checkpoints, was interrupted: %w", context.Canceled)
	}
	return err
}

// matcher holds the vectors of one match.
type matcher struct {
	f *Formulation
	Matched
	w      dist.Work
	o      imaging.MatchOptions
	a      dist.Operator
	d      *dist.Vector
	m1, m2 *dist.Vector
	t      *dist.Vector // data
}

// migrate makes m1 = Aᵀd.
func (m *matcher) migrate() {
	m.History.Residual[0] = m.norm("the norm of the data", m.d)
	m.w.ApplyAdjoint(m.a, m.m1, m.d)
	m.History.Gradient[0] = m.norm("the norm of the migrated image", m.m1)
}

// remigrate makes m2 = AᵀA m1, and finds how far ⟨A m1, A m1⟩ and ⟨m1, m2⟩ are apart.
// The solvers in single precision have the same limits.
func (m *matcher) remigrate() {
	m.w.Apply(m.a, m.t, m.m1)
	m.w.ApplyAdjoint(m.a, m.m2, m.t)
	m.norm("the norm of the image migrated twice", m.m2)
	dots := m.w.Dots(dist.Pair{m.t, m.t}, dist.Pair{m.m1, m.m2})
	tt, mm := dots[0], dots[1]
	if tt > 0 {
		m.AdjointError = math.Abs(tt-mm) / tt
	}
	const warn, limit = 1e-4, 1e-3
	if m.AdjointError > limit {
		m.fail(&solver.Failure{Reason: solver.FailedAdjoint, Quantity: "the adjoint error", Value: m.AdjointError, Limit: limit})
	} else if m.AdjointError > warn {
		m.f.Setting.Report.Warn(fmt.Sprintf("matching: operator and adjoint differ by %.1e relative; the image may be wrong", m.AdjointError))
	}
}

// filter makes x = b ∗ m1, on rank 0.
func (m *matcher) filter() {
	defer m.f.Setting.Report.Time("filters")()
	gather := func(v *dist.Vector) (x []float32) {
		m.w.Do(func() (err error) {
			x, err = m.f.Setting.Gather(v)
			return err
		})
		return x
	}
	m1, m2 := gather(m.m1), gather(m.m2)
	var image []float32
	if m.w.Err == nil && m1 != nil {
		image = imaging.Match(m.f.Setting.Image.Shape, m2, m1, m.o).Apply(m1)
	}
	m.m2.Free()
	m.w.Do(func() (err error) {
		m.X, err = m.f.Setting.Scatter(image, m.m1.Layout)
		return err
	})
}

// fit scales x by the factor that makes ‖d − A x‖ least, and computes residual and gradient.
func (m *matcher) fit() {
	m.w.Apply(m.a, m.t, m.X)
	dots := m.w.Dots(dist.Pair{m.t, m.d}, dist.Pair{m.t, m.t})
	factor := 0.0
	if tt := dots[1]; tt > 0 {
		factor = dots[0] / tt
	}
	if m.w.Err == nil {
		m.f.Setting.Report.Infof("matching filters: the image is scaled by %.4g, where the data fit best", factor)
	}
	m.w.Axpby(factor, m.X, 0, m.X)
	m.w.Axpby(1, m.d, -factor, m.t)
	m.History.Residual[1] = m.norm("the residual norm", m.t)
	m.w.ApplyAdjoint(m.a, m.m1, m.t)
	m.History.Gradient[1] = m.norm("the gradient norm", m.m1)
}

// norm returns the norm of a vector, which must be finite.
func (m *matcher) norm(quantity string, v *dist.Vector) float64 {
	n := m.w.Norm(v)
	if math.IsNaN(n) || math.IsInf(n, 0) {
		m.fail(&solver.Failure{Reason: solver.FailedNaN, Quantity: quantity, Value: n})
	}
	return n
}

func (m *matcher) fail(f *solver.Failure) {
	f.Method, f.Iteration = "matching", 1
	m.w.Do(func() error { return f })
}
