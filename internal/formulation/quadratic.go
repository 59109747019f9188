package formulation

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// Quadratic is what the problem's quadratic form ½ xᵀHx − bᵀx + … has besides the operator's
// part of H: H = S AᵀW²A S + λ² + PᵀP.
type Quadratic struct {
	Damping float64       // λ
	Penalty dist.Operator // P = ρR; nil: none
	Right   *dist.Vector  // b = S AᵀW²d
}

// Quadratic finds it, with the λ and ρ of a solve. A preconditioner changes variables and
// not the problem, so it is left out.
func (s *Setting) Quadratic(ctx context.Context) (*Quadratic, error) {
	plain := *s
	plain.Config.Preconditioner = "none"
	f, err := New(ctx, &plain)
	if err != nil {
		return nil, err
	}
	q := &Quadratic{Damping: f.damping, Penalty: f.penalty}
	w := &dist.Work{Ctx: ctx}
	w.New(f.Device, f.Problem.Domain(), &q.Right)
	w.Do(func() error { return f.Problem.Migrate(ctx, q.Right) })
	return q, w.Err
}
