package dist

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Operator is a linear map between two layouts and its exact adjoint. Apply and
// ApplyAdjoint overwrite dst.
type Operator interface {
	Domain() *Layout
	Range() *Layout
	Apply(ctx context.Context, dst, src *Vector) error
	ApplyAdjoint(ctx context.Context, dst, src *Vector) error
}

// Kernel is the local half of an operator: it maps this rank's share of the source to a
// contribution to this rank's share of the destination, which it adds into dst.
type Kernel interface {
	Forward(ctx context.Context, dst, src device.Buf) error
	Adjoint(ctx context.Context, dst, src device.Buf) error
}

// Map makes an operator from the functions that apply it and its adjoint. Both overwrite
// dst and leave errors in w. The name appears in panics about wrong layouts.
func Map(name string, domain, rng *Layout, forward, adjoint func(w *Work, dst, src *Vector)) Operator {
	return &mapped{name, domain, rng, forward, adjoint}
}

// Unapplied is an operator between two layouts that does not touch its destinations. It
// stands in for a real one when a device.Counter measures the memory of vectors.
func Unapplied(domain, rng *Layout) Operator {
	nothing := func(*Work, *Vector, *Vector) {}
	return Map("unapplied", domain, rng, nothing, nothing)
}

type mapped struct {
	name             string
	domain, rng      *Layout
	forward, adjoint func(w *Work, dst, src *Vector)
}

func (m *mapped) Domain() *Layout { return m.domain }
func (m *mapped) Range() *Layout  { return m.rng }

func (m *mapped) Apply(ctx context.Context, dst, src *Vector) error {
	mustEqual(m.name, m.rng, dst.Layout)
	mustEqual(m.name, m.domain, src.Layout)
	w := &Work{Ctx: ctx}
	m.forward(w, dst, src)
	return w.Err
}

func (m *mapped) ApplyAdjoint(ctx context.Context, dst, src *Vector) error {
	mustEqual(m.name, m.domain, dst.Layout)
	mustEqual(m.name, m.rng, src.Layout)
	w := &Work{Ctx: ctx}
	m.adjoint(w, dst, src)
	return w.Err
}
