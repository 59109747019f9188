package job

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// match is Solve for solver.method = "matching": with the migrated image m1 = Aᵀd and
// m2 = AᵀA m1, filters b with b ∗ m2 ≈ m1 make the image b ∗ m1, which is scaled by
// the one factor that makes its misfit least. The history has two entries, before and
// after.
func (j *Job) match(ctx context.Context, op *Operator, d *dist.Vector) (*Result, error) {
	began := time.Now()
	// A signal ends it between applications, on all ranks, not in the middle of one.
	whole := context.WithoutCancel(ctx)
	f, err := j.formulate(whole, op, d)
	if err != nil {
		return nil, err
	}
	m := &matcher{job: j, a: f.held().A, residual: make([]float64, 2), gradient: make([]float64, 2)}
	if err := m.allocate(f.held().D); err != nil {
		return nil, err
	}
	live := j.Report.Solver("solver vectors", 1)
	defer live.End()
	for _, step := range []func(context.Context) error{
		m.migrate, m.remigrate, m.filter, m.fit,
	} {
		if err := j.interrupted(ctx); err != nil {
			return nil, err
		}
		if err := step(whole); err != nil {
			return nil, failure(err)
		}
	}
	h := solver.History{Residual: m.residual, Total: m.residual, Gradient: m.gradient}
	live.Iteration(progress.Iteration{
		N: 1, Limit: 1, Residual: relative(h.Residual), Gradient: relative(h.Gradient), Adjoint: m.adjointError, Took: time.Since(began),
	})
	x, err := f.image(whole, m.x)
	if err != nil {
		return nil, err
	}
	image, err := j.wholeImage(x)
	if err != nil {
		return nil, err
	}
	if h.Gradient[0] == 0 && j.Root() && zero(image) {
		j.warnUnseen()
	}
	return &Result{Image: image, History: h, Reason: solver.Matched, x: x}, nil
}

// interrupted ends all ranks where one was told to.
func (j *Job) interrupted(ctx context.Context) error {
	flag := uint64(0)
	if ctx.Err() != nil {
		flag = 1
	}
	all, err := j.World.Host().Agree(flag)
	if err == nil && all != 0 {
		err = fmt.Errorf("solver.method = \"matching\", which keeps no checkpoints, was interrupted: %w", context.Canceled)
	}
	return err
}

// matcher holds the vectors of one match.
type matcher struct {
	job    *Job
	a      dist.Operator
	d      *dist.Vector
	m1, m2 *dist.Vector
	x      *dist.Vector // the image, once filtered
	t      *dist.Vector // data

	residual, gradient []float64 // before and after
	adjointError       float64
}

func (m *matcher) allocate(d *dist.Vector) (err error) {
	m.d = d
	if m.m1, err = dist.NewVector(m.job.Device, m.a.Domain()); err != nil {
		return err
	}
	if m.m2, err = m.m1.Clone(); err != nil {
		return err
	}
	m.t, err = d.Clone()
	return err
}

// migrate makes m1 = Aᵀd.
func (m *matcher) migrate(ctx context.Context) (err error) {
	if m.residual[0], err = finiteNorm("the norm of the data", m.d); err != nil {
		return err
	}
	if err := m.a.ApplyAdjoint(ctx, m.m1, m.d); err != nil {
		return err
	}
	m.gradient[0], err = finiteNorm("the norm of the migrated image", m.m1)
	return err
}

// remigrate makes m2 = AᵀA m1, and finds how far ⟨A m1, A m1⟩ and ⟨m1, m2⟩ are apart.
// The limits are those of the solvers in single precision.
func (m *matcher) remigrate(ctx context.Context) error {
	if err := m.a.Apply(ctx, m.t, m.m1); err != nil {
		return err
	}
	if err := m.a.ApplyAdjoint(ctx, m.m2, m.t); err != nil {
		return err
	}
	if _, err := finiteNorm("the norm of the image migrated twice", m.m2); err != nil {
		return err
	}
	dots, err := dist.Dots([2]*dist.Vector{m.t, m.t}, [2]*dist.Vector{m.m1, m.m2})
	if err != nil {
		return err
	}
	tt, mm := real(dots[0]), real(dots[1])
	if tt > 0 {
		m.adjointError = math.Abs(tt-mm) / tt
	}
	const warn, limit = 1e-4, 1e-3
	if m.adjointError > limit {
		return &solver.Failure{Reason: solver.FailedAdjoint, Method: "matching", Iteration: 1, Quantity: "the adjoint error", Value: m.adjointError, Limit: limit}
	}
	if m.adjointError > warn {
		m.job.Report.Warn(fmt.Sprintf("matching: operator and adjoint differ by %.1e relative; the image may be wrong", m.adjointError))
	}
	return nil
}

// filter makes x = b ∗ m1, on rank 0.
func (m *matcher) filter(context.Context) error {
	defer m.job.Report.Time("filters")()
	j := m.job
	o, err := j.Matching()
	if err != nil {
		return err
	}
	m1, err := j.wholeImage(m.m1)
	if err != nil {
		return err
	}
	m2, err := j.wholeImage(m.m2)
	if err != nil {
		return err
	}
	var image []float32
	if j.Root() {
		image = imaging.Match(j.Image.Shape, m2, m1, o).Apply(m1)
	}
	m.m2.Free()
	m.x, err = j.spreadImage(image, m.m1.Layout)
	return err
}

// fit scales x by what makes ‖d − A x‖ least, and finds residual and gradient.
func (m *matcher) fit(ctx context.Context) error {
	if err := m.a.Apply(ctx, m.t, m.x); err != nil {
		return err
	}
	dots, err := dist.Dots([2]*dist.Vector{m.t, m.d}, [2]*dist.Vector{m.t, m.t})
	if err != nil {
		return err
	}
	factor := 0.0
	if tt := real(dots[1]); tt > 0 {
		factor = real(dots[0]) / tt
	}
	m.job.Report.Infof("matching filters: the image is scaled by %.4g, where the data fit best", factor)
	if err := dist.Axpby(factor, m.x, 0, m.x); err != nil {
		return err
	}
	if err := dist.Axpby(1, m.d, -factor, m.t); err != nil {
		return err
	}
	if m.residual[1], err = finiteNorm("the residual norm", m.t); err != nil {
		return err
	}
	if err := m.a.ApplyAdjoint(ctx, m.m1, m.t); err != nil {
		return err
	}
	m.gradient[1], err = finiteNorm("the gradient norm", m.m1)
	return err
}

func finiteNorm(quantity string, v *dist.Vector) (float64, error) {
	n, err := dist.Norm(v)
	if err == nil && (math.IsNaN(n) || math.IsInf(n, 0)) {
		err = &solver.Failure{Reason: solver.FailedNaN, Method: "matching", Iteration: 1, Quantity: quantity, Value: n}
	}
	return n, err
}
