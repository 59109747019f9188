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

	held, streamed func(Options) Method
}

// Methods are all least-squares methods. Each takes real and complex vectors, rows
// below the data and a start model.
var Methods = []Info{
	{
		Name: "cg", Description: "conjugate gradients on the normal equations",
		Streamed: true,
		held:     func(o Options) Method { return NewCG(o) },
		streamed: func(o Options) Method {
			o.Orthogonalize = 0
			c := NewCGLS(o)
			c.name = "cg"
			return c
		},
	},
	{
		Name: "cgls", Description: "the same minimum, less sensitive to rounding; tests the adjoint in every iteration, at the cost of one dot product",
		Streamed: true, Preconditioned: true, Orthogonalizes: true,
		held: func(o Options) Method { return NewCGLS(o) },
	},
	{
		Name: "lsqr", Description: "the same iterates by bidiagonalisation, at the cost of one vector of data more",
		held: func(o Options) Method { return NewLSQR(o) },
	},
	{
		Name: "ista", Description: "a sparse image, by soft thresholding",
		Sparse: true,
		held:   func(o Options) Method { return NewISTA(o) },
	},
	{
		Name: "fista", Description: "the same with momentum, in fewer iterations",
		Sparse: true,
		held:   func(o Options) Method { return NewFISTA(o) },
	},
}

// New returns the method of the given configuration name for a problem that is held.
func New(name string, o Options) (Method, error) {
	m, err := find(name)
	if err != nil {
		return nil, err
	}
	return m.held(o), nil
}

// For returns the method of the given configuration name for a problem, which Init and
// Resume must then be given.
func For(p Problem, name string, o Options) (Method, error) {
	m, err := find(name)
	if _, held := p.(*Held); err != nil || held || m.streamed == nil {
		return New(name, o)
	}
	return m.streamed(o), nil
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

// inMemory returns the error of a method that does not work on streamed data.
func inMemory(name string) error {
	which := Names(func(m Info) bool { return m.Streamed })
	return fmt.Errorf("solver: method %q needs the data in memory, %s do not", name, strings.Join(which, " and "))
}
