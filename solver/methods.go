package solver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// Info describes a least-squares method for whoever configures one.
type Info struct {
	Name        string // in a configuration
	Description string // for its help, without a period; methods are told in the order of the table

	Streamed       bool // works where data are streamed
	Orthogonalizes bool // takes Options.Orthogonalize
	Sparse         bool // takes Options.Sparsity
	Backtracks     bool // takes Options.Backtracking
	Dual           bool // takes Options.TotalVariation and Options.GroupSparsity, and has a duality gap

	recurrence func(m *Method) recurrence // of data that are held
}

// Methods are all least-squares methods. Each takes real and complex vectors, rows
// below the data and a start model.
var Methods = []Info{
	{
		Name: "cg", Description: "conjugate gradients on the normal equations",
		Streamed:   true,
		recurrence: func(m *Method) recurrence { return &CG{Method: m} },
	},
	{
		Name: "cgls", Description: "the same minimum, less sensitive to rounding; tests the adjoint in every iteration, at the cost of one dot product",
		Streamed: true, Orthogonalizes: true,
		recurrence: newCGLS,
	},
	{
		Name: "lsqr", Description: "the same iterates by bidiagonalisation, at the cost of one vector of data more",
		recurrence: func(m *Method) recurrence { return &LSQR{Method: m} },
	},
	{
		Name: "ista", Description: "a sparse image, by soft thresholding",
		Sparse: true, Backtracks: true,
		recurrence: func(m *Method) recurrence { return &Proximal{Method: m} },
	},
	{
		Name: "fista", Description: "the same with momentum, in fewer iterations",
		Sparse: true, Backtracks: true,
		recurrence: func(m *Method) recurrence { return &Proximal{Method: m, momentum: true} },
	},
	{
		Name: "primal-dual", Description: "a blocky image by total variation, gathers that are sparse together, or a sparse image, with a bound on what is left to gain (Chambolle and Pock 2011)",
		Sparse: true, Dual: true,
		recurrence: func(m *Method) recurrence { return &PrimalDual{Method: m} },
	},
}

// New returns the method of the given configuration name for a problem that is held.
func New(name string, o Options) (*Method, error) {
	m, err := find(name)
	if err != nil {
		return nil, err
	}
	return newMethod(name, o, m.recurrence), nil
}

func newMethod(name string, o Options, of func(m *Method) recurrence) *Method {
	m := &Method{name: name, opt: o}
	m.recurrence = of(m)
	return m
}

func newCGLS(m *Method) recurrence {
	m.streams = true
	return &CGLS{Method: m}
}

// For returns the method of the given configuration name for a problem, which Init and
// Resume must then be given. Streamed data are for the recurrence of CGLS, under the
// name given.
func For(p Problem, name string, o Options) (*Method, error) {
	m, err := find(name)
	if _, held := p.(*Held); err != nil || held || !m.Streamed {
		return New(name, o)
	}
	if !m.Orthogonalizes {
		o.Orthogonalize = 0
	}
	return newMethod(name, o, newCGLS), nil
}

func find(name string) (Info, error) {
	i := slices.IndexFunc(Methods, func(m Info) bool { return m.Name == name })
	if i < 0 {
		return Info{}, fmt.Errorf("solver: method %q is unknown, must be one of %s", name, strings.Join(Names(nil), ", "))
	}
	return Methods[i], nil
}

// Names lists the methods for which a condition holds. A nil condition lists all.
func Names(which func(Info) bool) (list []string) {
	for _, m := range Methods {
		if which == nil || which(m) {
			list = append(list, m.Name)
		}
	}
	return list
}

// Takes reports whether a condition holds for the named method.
func Takes(name string, which func(Info) bool) bool {
	return slices.Contains(Names(which), name)
}

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
	// later one orthogonal to. 0 means none.
	Orthogonalize int

	// Direct, where given, has CGLS correct its iterate after Last iterations, which apply an operator
	// near the one that is meant. It has that one applied from now on, or no longer. Run then needs a
	// limit of Last + 1.
	Direct func(on bool)

	// Sparsity is μ of Proximal and PrimalDual, in units of data² per image.
	Sparsity float64
	// Sparsities, if not nil, are μ of the parts of the image, which is a stack, in place of
	// Sparsity: for ISTA and FISTA alone.
	Sparsities []float64
	// TotalVariation and GroupSparsity are β and γ of PrimalDual, in the same units.
	TotalVariation, GroupSparsity float64
	// Variation is D of PrimalDual, from the image to fields of vectors, and VariationNorm
	// a bound of its norm. They are needed for TotalVariation alone.
	Variation     dist.Operator
	VariationNorm float64
	// StepLength is the fixed step of ISTA and FISTA, and 1/‖A‖² for PrimalDual. 0 means
	// 1/‖A‖², with ‖A‖ from a power iteration.
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
