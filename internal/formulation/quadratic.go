package formulation

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// Quadratic holds the terms of the problem's quadratic form ½ xᵀHx − bᵀx + … other than the operator's
// part of H: H = S AᵀW²A S + λ². It knows no rows of solver.regularization.
type Quadratic struct {
	Damping float64      // λ
	Right   *dist.Vector // b = S AᵀW²d

	Start *dist.Vector // x of the start model; nil for none
	Slope *dist.Vector // b − H x there; nil for none
}

// Quadratic finds it, with the λ of a solve.
func (s *Setting) Quadratic(ctx context.Context) (*Quadratic, error) {
	f, err := New(ctx, s)
	if err != nil {
		return nil, err
	}
	q := &Quadratic{Damping: f.damping}
	w := &dist.Work{Ctx: ctx}
	w.New(f.Setting.Device, f.Problem.Domain(), &q.Right)
	w.Do(func() error { return f.Problem.Migrate(ctx, q.Right) })
	held, ok := f.Problem.(*solver.Held)
	if f.Start == nil || !ok {
		return q, w.Err
	}
	q.Start = f.Start
	var left *dist.Vector
	w.New(f.Setting.Device, held.D.Layout, &left)
	w.Apply(held.A, left, q.Start)
	w.Axpby(1, held.D, -1, left)
	w.New(f.Setting.Device, f.Problem.Domain(), &q.Slope)
	w.ApplyAdjoint(held.A, q.Slope, left)
	if w.Err == nil {
		left.Free()
	}
	return q, w.Err
}
