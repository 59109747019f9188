package solver

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// NormalCG is CG on the normal equations AᴴA x = Aᴴd of min ‖A x − d‖²: in exact
// arithmetic the iterates of CGLS, with the gradient carried along by recursion
// instead of computed from the residual, which squares the condition number
// that rounding sees. One forward and one adjoint an iteration.
//
// The history shows the data residual, which is carried along beside the
// recursion from the A p that passes by: two vectors of data and five of image
// besides x and d. Drift and AdjointError are those of AᴴA.
type NormalCG struct {
	CG
	b *dist.Vector // Aᴴd
	m misfit
}

// misfit carries the data residual of NormalCG.
type misfit struct {
	r *dist.Vector // d − A x
	t *dist.Vector // A p, as the normal operator left it
}

func (m *misfit) update(alpha float64) error { return dist.Axpby(-alpha, m.t, 1, m.r) }

// NewNormalCG returns the method with the given options.
func NewNormalCG(o Options) *NormalCG {
	n := &NormalCG{CG: *NewCG(o)}
	n.misfit = &n.m
	return n
}

// normal is AᴴA, which leaves A p in t.
type normal struct {
	a dist.Operator
	m *misfit
}

func (n normal) Domain() *dist.Layout { return n.a.Domain() }
func (n normal) Range() *dist.Layout  { return n.a.Domain() }

func (n normal) Apply(ctx context.Context, dst, src *dist.Vector) error {
	if err := n.a.Apply(ctx, n.m.t, src); err != nil {
		return err
	}
	return n.a.ApplyAdjoint(ctx, dst, n.m.t)
}

func (n normal) ApplyAdjoint(ctx context.Context, dst, src *dist.Vector) error {
	return n.Apply(ctx, dst, src)
}

func (n *NormalCG) allocate(a dist.Operator, d *dist.Vector) (err error) {
	if err := allocate(d.Clone, &n.m.r, &n.m.t); err != nil {
		return err
	}
	n.b, err = dist.NewVector(deviceOf(d), a.Domain())
	return err
}

// Init implements Method. It costs one adjoint, and one forward more and one
// adjoint more where x0 is given.
func (n *NormalCG) Init(ctx context.Context, a dist.Operator, d, x0 *dist.Vector) error {
	norm, err := dist.Norm(d)
	if err != nil {
		return err
	}
	if !finite(norm) {
		n.st = State{Method: n.name}
		return n.nan("the norm of the data", norm)
	}
	if err := n.allocate(a, d); err != nil {
		return err
	}
	if err := a.ApplyAdjoint(ctx, n.b, d); err != nil {
		return err
	}
	// CG.Init shows n.m.r, so that must be right before.
	if x0 == nil {
		err = dist.Copy(n.m.r, d)
	} else if err = a.Apply(ctx, n.m.r, x0); err == nil {
		err = dist.Axpby(1, d, -1, n.m.r)
	}
	if err != nil {
		return err
	}
	if err := n.CG.Init(ctx, normal{a, &n.m}, n.b, x0); err != nil {
		return err
	}
	n.st.DataNorm = norm
	return nil
}

// Vectors implements Method: those of CG and the data residual.
func (n *NormalCG) Vectors() map[string]*dist.Vector {
	v := n.CG.Vectors()
	v["data_residual"], v["b"] = n.m.r, n.b
	return v
}

// Resume implements Method.
func (n *NormalCG) Resume(a dist.Operator, d *dist.Vector, s *State) error {
	if err := n.allocate(a, d); err != nil {
		return err
	}
	return n.CG.Resume(normal{a, &n.m}, n.b, s)
}
