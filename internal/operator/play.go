package operator

import (
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/forecast"
	"github.com/kirchhoff-lsm/lsm/internal/inputs"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// Play makes the operator of a rank that is played: laid out and lifted as Build does, with
// kernels that compute nothing. It is collective.
func Play(r *forecast.Role) (*Operator, error) {
	h := &Here{Ranks: inputs.Ranks{World: r.World, Report: progress.Discard()}, Grid: r.Share.Grid, Device: r.Device}
	if err := h.split(r.World); err != nil {
		return nil, err
	}
	op := &Operator{Plan: r.Plan, Here: h, Share: r.Share, Engine: played{kernels: r.Kernels}}
	if err := op.join(); err != nil {
		return nil, err
	}
	var err error
	op.Operator, err = op.Lift(op.LiftOptions())
	return op, err
}

// played is an engine that has nothing but kernels.
type played struct {
	kirchhoff.Engine
	kernels []dist.Kernel
}

// Kernels implements kirchhoff.Engine.
func (p played) Kernels() []dist.Kernel { return p.kernels }
