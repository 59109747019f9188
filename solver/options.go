package solver

import (
	"cmp"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// Options are a method's settings.
type Options struct {
	// TrueResidual: the true residual d − A x is computed every so many
	// iterations, at the cost of one forward. 0 means never.
	TrueResidual int

	// Last is the iteration limit. Of streamed data, whose residual is known by
	// recurrence alone, the true one is computed there too, unless TrueResidual is 0.
	Last int

	// AdjointFail is the adjoint error at which a run ends with FailedAdjoint,
	// AdjointWarn the one from which reports carry a warning. 0 means by the
	// element type, 1e-3 and 1e-4 in single, 1e-8 and 1e-10 in double precision;
	// a negative value means never.
	AdjointFail, AdjointWarn float64

	// Orthogonalize is the number of gradients that CGLS keeps and makes every
	// later one orthogonal to, with a preconditioner of directions. 0 means none.
	Orthogonalize int

	// Preconditioner is M of CGLS: symmetric and positive, from the image to the image,
	// and the nearer to (AᴴA)⁻¹, up to a factor, the better. nil means none.
	Preconditioner dist.Operator

	// Sparsity is μ of ISTA and FISTA, in units of data² per image.
	Sparsity float64
	// StepLength is the fixed step of ISTA and FISTA. 0 means 1/‖A‖², with ‖A‖
	// from a power iteration.
	StepLength float64
	// Backtracking lets ISTA and FISTA find their step by halving it until the model
	// of the misfit holds. StepLength is then the first to be tried; 0 means that of
	// steepest descent at the start.
	Backtracking bool
	// Restart lets FISTA drop its momentum whenever the objective has grown.
	Restart bool
}

// limits fills in the limits that depend on the rounding unit eps.
func (o Options) limits(eps float64) Options {
	warn, fail := 1e-4, 1e-3
	if eps < 1e-10 {
		warn, fail = 1e-10, 1e-8
	}
	o.AdjointWarn, o.AdjointFail = cmp.Or(o.AdjointWarn, warn), cmp.Or(o.AdjointFail, fail)
	return o
}

// ulp is the distance from 1 to the next number in a layout's coarsest element type.
func ulp(l *dist.Layout) float64 {
	u := 0.0
	for _, p := range l.Parts {
		u = max(u, ulp(p))
	}
	switch {
	case l.Parts != nil:
		return u
	case l.Type == device.F32 || l.Type == device.C64:
		return 0x1p-23
	}
	return 0x1p-52
}
