package solver

import (
	"fmt"
	"slices"
	"strings"
)

// Info describes a least-squares method for whoever configures one.
type Info struct {
	Name        string // in a configuration
	Description string // for its help, without a period; methods are told in the order of the table

	Streamed       bool // works where data are streamed
	Preconditioned bool // takes Options.Preconditioner
	Orthogonalizes bool // takes Options.Orthogonalize
	Sparse         bool // takes Options.Sparsity and Options.Backtracking

	held func(name string, o Options) *Method
}

// Methods are all least-squares methods. Each takes real and complex vectors, rows
// below the data and a start model.
var Methods = []Info{
	{
		Name: "cg", Description: "conjugate gradients on the normal equations",
		Streamed: true,
		held:     newCG,
	},
	{
		Name: "cgls", Description: "the same minimum, less sensitive to rounding; tests the adjoint in every iteration, at the cost of one dot product",
		Streamed: true, Preconditioned: true, Orthogonalizes: true,
		held: newCGLS,
	},
	{
		Name: "lsqr", Description: "the same iterates by bidiagonalisation, at the cost of one vector of data more",
		held: newLSQR,
	},
	{
		Name: "ista", Description: "a sparse image, by soft thresholding",
		Sparse: true,
		held:   newProximal,
	},
	{
		Name: "fista", Description: "the same with momentum, in fewer iterations",
		Sparse: true,
		held:   newProximal,
	},
}

// New returns the method of the given configuration name for a problem that is held.
func New(name string, o Options) (*Method, error) {
	m, err := find(name)
	if err != nil {
		return nil, err
	}
	return m.held(name, o), nil
}

// For returns the method of the given configuration name for a problem, which Init and
// Resume must then be given. Streamed data are for the recurrence of CGLS.
func For(p Problem, name string, o Options) (*Method, error) {
	m, err := find(name)
	if _, held := p.(*Held); err != nil || held || !m.Streamed {
		return New(name, o)
	}
	if !m.Orthogonalizes {
		o.Orthogonalize = 0
	}
	return newCGLS(name, o), nil
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
