package formulation

import (
	"context"
	"math"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// inImage is the problem (C + rows) x = AᵀW²d with point-spread functions C for AᵀW²A, whose
// solution no longer needs the data (solver.method = "image-domain"). C is that of the image
// before topography cuts it, so that the functions of points above do not count below. It is
// made as strong as AᵀW²A is on the migrated image.
func (f *Formulation) inImage(ctx context.Context) (solver.Problem, error) {
	defer f.Report.Time("point-spread functions")()
	w := &dist.Work{Ctx: ctx}
	a := f.Problem.(*solver.Held).A
	var b *dist.Vector
	w.New(f.Device, a.Domain(), &b)
	w.ApplyAdjoint(a, b, f.data)
	p := f.spread(w, a, false)
	p.calibrate(b)
	if w.Err != nil {
		return nil, w.Err
	}
	p.free()
	f.Report.Infof("image-domain: point-spread functions %s; the residual of an iteration is that of the image", f.Lattice.About())
	return &solver.Definite{B: p.operator(), RHS: b}, nil
}

// InImage reports whether the problem that is solved is one in the image.
func (f *Formulation) InImage() bool {
	_, ok := f.Problem.(*solver.Definite)
	return ok
}

// Fit tells, of a problem in the image, the norm of the data misfit W (d − A S x) of an
// iterate, nil for zero, and that of the gradient of all that is minimised, both with A
// itself. It costs a forward and an adjoint.
func (f *Formulation) Fit(ctx context.Context, x *dist.Vector) (residual, gradient float64, err error) {
	w := &dist.Work{Ctx: ctx}
	a := f.Scaled()
	var r, g *dist.Vector
	w.New(f.Device, a.Range(), &r)
	w.New(f.Device, a.Domain(), &g)
	if x != nil {
		w.Apply(a, r, x)
	}
	w.Axpby(1, f.data, -1, r)
	w.ApplyAdjoint(a, g, r)
	if x != nil && f.below != nil {
		var below, rows *dist.Vector
		w.New(f.Device, f.below.Range(), &below)
		w.New(f.Device, f.below.Domain(), &rows)
		w.Apply(f.below, below, x)
		w.ApplyAdjoint(f.below, rows, below)
		w.Axpby(-1, rows, 1, g)
	}
	residual, gradient = w.Norm(r), w.Norm(g)
	if v := residual + gradient; w.Err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		w.Err = &solver.Failure{Reason: solver.FailedNaN, Method: f.Config.Method, Quantity: "the norm of residual or gradient", Value: v}
	}
	return residual, gradient, w.Err
}
