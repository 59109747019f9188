package job

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// formulation is the problem that the solver is given.
type formulation struct {
	problem  solver.Problem
	start    *dist.Vector  // of x; nil stands for zero
	damping  float64       // weight of the rows of solver.damping
	sparsity float64       // weight of the l1 norm, for the methods that have one
	rows     float64       // what rows below the data's add to the diagonal of aᵀa
	m        dist.Operator // close to the inverse of aᵀa; nil: the solver goes without
	close    func()        // after the solve
	// image returns the image of an iterate: x itself unless a step changed variables.
	image func(ctx context.Context, x *dist.Vector) (*dist.Vector, error)
}

// held is the problem where the traces are in memory.
func (f *formulation) held() *solver.Held { return f.problem.(*solver.Held) }

// formulate turns the operator and the data into the problem to be solved. Each step
// wraps what the steps before it made: those that act on data come first, then rows of
// their own, then changes of variables.
func (j *Job) formulate(ctx context.Context, op *Operator, d *dist.Vector) (*formulation, error) {
	f, err := j.weightedProblem(op, d)
	if err != nil {
		return nil, err
	}
	if f.start, err = j.startModel(op); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context, *formulation) error{
		j.keepBelow,
		j.addRows,
		func(ctx context.Context, f *formulation) error {
			return j.precondition(context.WithoutCancel(ctx), op, f)
		},
	} {
		if err := step(ctx, f); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// change changes variables: from here on the solver looks for x, and what it looked for
// before is D x with the diagonal d. The start is the caller's to change.
func (f *formulation) change(d *dist.Vector) (err error) {
	f.problem, err = f.problem.Change(dist.Diagonal(d))
	image := f.image
	f.image = func(ctx context.Context, x *dist.Vector) (*dist.Vector, error) {
		dx, err := product(x, d)
		if err != nil {
			return nil, err
		}
		return image(ctx, dx)
	}
	return err
}

// product is a new vector, the product of x and y element by element.
func product(x, y *dist.Vector) (*dist.Vector, error) {
	v, err := x.Clone()
	if err != nil {
		return nil, err
	}
	if err := dist.Copy(v, x); err != nil {
		return nil, err
	}
	return v, dist.Multiply(v, y)
}
