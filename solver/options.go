package solver

import (
	"fmt"
	"strings"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// Options are a method's settings; DefaultOptions has the defaults.
type Options struct {
	// TrueResidual: the true residual d − A x is computed every so many
	// iterations, at the cost of one forward. 0 means never.
	TrueResidual int

	// Last is the iteration limit: NewStream's method, whose residual is known by
	// recurrence alone, computes the true one there too, unless TrueResidual is 0.
	Last int

	// AdjointFail is the adjoint error at which a run ends with FailedAdjoint,
	// AdjointWarn the one from which reports carry a warning. 0 means by the
	// element type, 1e-3 and 1e-4 in single, 1e-8 and 1e-10 in double precision;
	// a negative value means never.
	AdjointFail, AdjointWarn float64

	// Orthogonalize is the number of gradients that CGLS keeps and makes every
	// later one orthogonal to, of directions for PCGLS. 0 means none.
	Orthogonalize int

	// Preconditioner is M of PCGLS, which New then gives for "cgls": symmetric and
	// positive, from the image to the image, and the nearer to (AᴴA)⁻¹, up to a factor,
	// the better. nil means none.
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

// DefaultOptions returns the defaults: the true residual every 10 iterations,
// adjoint limits by element type.
func DefaultOptions() Options { return Options{TrueResidual: 10} }

// New returns the least-squares method of the given configuration name.
func New(name string, o Options) (Method, error) {
	switch name {
	case "cg":
		return NewNormalCG(o), nil
	case "cgls":
		if o.Preconditioner != nil {
			return NewPCGLS(o), nil
		}
		return NewCGLS(o), nil
	case "lsqr":
		return NewLSQR(o), nil
	case "ista":
		return NewISTA(o), nil
	case "fista":
		return NewFISTA(o), nil
	}
	return nil, fmt.Errorf("solver: method %q is unknown, must be one of %s", name, strings.Join(Names(), ", "))
}

// Names lists the configuration names of the least-squares methods.
func Names() []string { return []string{"cg", "cgls", "lsqr", "ista", "fista"} }

// limits sets the limits that the rounding unit leaves open.
func (o Options) limits(eps float64) Options {
	warn, fail := 1e-4, 1e-3
	if eps < 1e-10 {
		warn, fail = 1e-10, 1e-8
	}
	if o.AdjointWarn == 0 {
		o.AdjointWarn = warn
	}
	if o.AdjointFail == 0 {
		o.AdjointFail = fail
	}
	return o
}

// rounding is the distance from 1 to the next number in the coarsest element
// type of A's domain and range.
func rounding(a dist.Operator) float64 { return max(ulp(a.Domain()), ulp(a.Range())) }

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
