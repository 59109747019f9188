package formulation

import (
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// weights of the penalties that only some methods have.
type penalties struct {
	sparsity  float64 // of the l1 norm
	variation float64 // of the total variation
	groups    float64 // of the lengths of the vectors that the classes have at a point
}

// set hands them to a method, with the gradient of the image that x stands for.
func (p penalties) set(o *solver.Options, f *Formulation) (err error) {
	o.Sparsity, o.TotalVariation, o.GroupSparsity = p.sparsity, p.variation, p.groups
	if p.variation > 0 {
		o.Variation, o.VariationNorm, err = f.gradient()
	}
	return err
}

// gradient is ∇S, the differences of neighbours in the image S x or in each class, and a
// bound of its norm: S is at most 1 and a difference of neighbours at most 2.
func (f *Formulation) gradient() (g dist.Operator, norm float64, err error) {
	l := f.Problem.Domain()
	one, classes := l, len(l.Parts)
	if classes > 0 {
		one = l.Parts[0]
	}
	if g, err = dist.Gradient(one); err != nil {
		return nil, 0, err
	}
	if classes > 0 {
		g = dist.BlockDiag(slices.Repeat([]dist.Operator{g}, classes)...)
	}
	if f.Below != nil {
		g = dist.Chain(g, dist.Diagonal(f.Below))
	}
	return g, 2 * math.Sqrt(float64(len(one.Shape))), nil
}

// longest is the length of the longest vector that the classes of x have at a point.
func (s *Setting) longest(x *dist.Vector) (float64, error) {
	w := &dist.Work{}
	var square, sum *dist.Vector
	w.New(x.Device(), x.Rows()[0].Layout, &square, &sum)
	for _, part := range x.Rows() {
		w.Copy(square, part)
		w.Multiply(square, part)
		w.Axpby(1, square, 1, sum)
	}
	if w.Err != nil {
		return 0, w.Err
	}
	defer square.Free()
	defer sum.Free()
	return s.most(sum, math.Sqrt)
}
