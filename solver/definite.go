package solver

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// Definite is a problem whose normal equations are known, B x = b with a Hermitian operator B
// that is positive definite: it has neither data nor their operator. For returns CG for it,
// whatever the name of the method. Histories hold ‖b − B x‖, over all rows, as residual,
// total and gradient alike, and DataNorm is ‖b‖.
type Definite struct {
	B   dist.Operator
	RHS *dist.Vector // b
}

// Domain implements Problem.
func (p *Definite) Domain() *dist.Layout { return p.B.Domain() }

// Device implements Problem.
func (p *Definite) Device() device.Device { return p.RHS.Device() }

// DataNorm implements Problem.
func (p *Definite) DataNorm() (float64, error) { return dist.Norm(p.RHS) }

// Migrate implements Problem: m = b.
func (p *Definite) Migrate(_ context.Context, m *dist.Vector) error { return dist.Copy(m, p.RHS) }

func (p *Definite) epsilon() float64 { return ulp(p.Domain()) }

// residual implements Problem. No method of data works on p.
func (p *Definite) residual(*Method) residual { return nil }

// AddRows implements Problem: (B + Σ RᴴR) x = b.
func (p *Definite) AddRows(rows ...dist.Operator) (Problem, error) {
	if len(rows) == 0 {
		return p, nil
	}
	r := dist.VStack(rows...)
	var rx, sum *dist.Vector // scratch
	apply := func(w *dist.Work, dst, src *dist.Vector) {
		if rx == nil {
			w.New(src.Device(), r.Range(), &rx)
		}
		w.Scratch(src, &sum)
		w.Apply(p.B, dst, src)
		w.Apply(r, rx, src)
		w.ApplyAdjoint(r, sum, rx)
		w.Axpby(1, sum, 1, dst)
	}
	return &Definite{dist.Map("normal equations", p.Domain(), p.Domain(), apply, apply), p.RHS}, nil
}

// Change implements Problem: CᴴB C y = Cᴴb.
func (p *Definite) Change(c dist.Operator) (Problem, error) {
	b, err := dist.NewVector(p.Device(), c.Domain())
	if err == nil {
		err = c.ApplyAdjoint(context.Background(), b, p.RHS)
	}
	return &Definite{dist.Chain(adjoint(c), p.B, c), b}, err
}

// adjoint is Aᴴ.
func adjoint(a dist.Operator) dist.Operator {
	return dist.Map("adjoint", a.Range(), a.Domain(),
		func(w *dist.Work, dst, src *dist.Vector) { w.ApplyAdjoint(a, dst, src) },
		func(w *dist.Work, dst, src *dist.Vector) { w.Apply(a, dst, src) })
}
