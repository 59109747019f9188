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

	recurrence func(m *Method) recurrence // of data that are held
}

// Methods are all least-squares methods. Each takes rows below the data and a start model.
var Methods = []Info{
	{
		Name: "cg", Description: "conjugate gradients on the normal equations",
		recurrence: func(m *Method) recurrence { return &CG{Method: m} },
	},
	{
		Name: "cgls", Description: "the same minimum, less sensitive to rounding; tests the adjoint in every iteration, at the cost of one dot product",
		recurrence: newCGLS,
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
	if err != nil {
		return nil, err
	}
	if _, held := p.(*Held); held {
		return newMethod(name, o, m.recurrence), nil
	}
	if name == "cg" { // keeps no gradients
		o.Orthogonalize = 0
	}
	return newMethod(name, o, newCGLS), nil
}

func find(name string) (Info, error) {
	i := slices.IndexFunc(Methods, func(m Info) bool { return m.Name == name })
	if i < 0 {
		return Info{}, fmt.Errorf("solver: method %q is unknown, must be one of %s", name, strings.Join(Names(), ", "))
	}
	return Methods[i], nil
}

// Names lists the methods.
func Names() (list []string) {
	for _, m := range Methods {
		list = append(list, m.Name)
	}
	return list
}

// Options are a method's settings.
type Options struct {
	// TrueResidual: the true residual d − A x is computed every TrueResidual iterations, at
	// the cost of one forward. 0 means never.
	TrueResidual int

	// Last is the iteration limit. The residual of streamed data is known only by
	// recurrence, so the true one is computed there too, unless TrueResidual is 0.
	Last int

	// AdjointFail is the adjoint error at which a run ends with FailedAdjoint,
	// AdjointWarn the one from which reports carry a warning. 0 means by the
	// element type, 1e-3 and 1e-4 in single, 1e-8 and 1e-10 in double precision;
	// a negative value means never.
	AdjointFail, AdjointWarn float64

	// Orthogonalize is the number of gradients that CGLS keeps and makes every
	// later one orthogonal to. 0 means none.
	Orthogonalize int
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

// unitRoundoff is the distance from 1 to the next number in a layout's coarsest element type.
func unitRoundoff(l *dist.Layout) float64 {
	u := 0.0
	for _, p := range l.Parts {
		u = max(u, unitRoundoff(p))
	}
	switch {
	case l.Parts != nil:
		return u
	case l.Type == device.F32:
		return 0x1p-23
	}
	return 0x1p-52
}
