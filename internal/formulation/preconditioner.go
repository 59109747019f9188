package formulation

import (
	"context"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// preconditioners change the variables of a problem, or give its solver an operator close
// to the inverse of AᵀA, as the last step of a formulation.
var preconditioners = registry[func(context.Context, *Formulation) error]{"solver.preconditioner", map[string]func(context.Context, *Formulation) error{}}

var _ = preconditioners.register("diagonal", "the solver works on the image times the root of the diagonal of A'A, found exactly in one pass, so that poorly lit parts converge as fast as others; for cg and cgls", diagonal)

// leastLight is ε: points lit by less hardly gain from P, for what they would gain is
// mostly noise.
const leastLight = 0.01

// diagonal has the solver look for x, the image being P x, with the diagonal
// P = √((1 + ε) max D / (D + ε max D)) and D the diagonal of what is minimised:
// S AᵀW²A S, exactly, and the squares of the rows below it, of derivatives at points
// away from the image's edges. P is 1 where the image is lit best and 1/√ε at most. Of
// several images by class each has its own D, and max D is that of all.
func diagonal(ctx context.Context, f *Formulation) error {
	d, err := f.Light(ctx)
	if err != nil {
		return err
	}
	p, err := f.scaling(d)
	if err != nil {
		return err
	}
	if f.Start != nil {
		if err := eachRow(d, p, func(v float64) float64 { return 1 / v }); err != nil {
			return err
		}
		if err := dist.Multiply(f.Start, d); err != nil {
			return err
		}
	}
	d.Free()
	return f.change(dist.Diagonal(p))
}

// Light is the diagonal of S AᵀW²A S, for several images by class a stack of theirs.
func (s *Setting) Light(ctx context.Context) (*dist.Vector, error) {
	squared, err := s.Squared()
	if err != nil {
		return nil, err
	}
	w := &dist.Work{Ctx: ctx}
	var w2, d *dist.Vector
	w.New(s.Device, squared.Range(), &w2)
	if s.Weights != nil {
		w.Copy(w2, s.Weights)
		w.Multiply(w2, s.Weights)
	} else {
		w.Do(func() error { return each(w2, w2, func(int, float64) float64 { return 1 }) })
	}
	w.New(s.Device, squared.Domain(), &d)
	w.ApplyAdjoint(squared, d, w2)
	if s.Below != nil {
		w.Multiply(d, s.Below)
		w.Multiply(d, s.Below)
	}
	if w.Err == nil {
		w2.Free()
	}
	return d, w.Err
}

// scaling returns P, given the diagonal d of the data's part and a constant for the
// diagonal of the rows below it.
func (f *Formulation) scaling(d *dist.Vector) (*dist.Vector, error) {
	p, err := d.Clone()
	if err := comm.Together(f.World, err); err != nil {
		return nil, err
	}
	top, err := f.top(d, f.rows)
	if err != nil {
		return nil, err
	}
	return p, eachRow(p, d, func(v float64) float64 {
		if top == 0 {
			return 1
		}
		return math.Sqrt((1 + leastLight) * top / (v + f.rows + leastLight*top))
	})
}

// top is the largest element of a diagonal, of all classes, plus a constant.
func (s *Setting) top(d *dist.Vector, constant float64) (float64, error) {
	top, err := s.most(d, func(v float64) float64 { return v + constant })
	if err == nil && (math.IsNaN(top) || math.IsInf(top, 0)) {
		err = status.Numerical(fmt.Errorf("the diagonal of the operator is not finite (%g)", top))
	}
	return top, err
}
