package dist

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/device"
)

// Operator is a linear map between two layouts and its exact adjoint. Apply and
// ApplyAdjoint overwrite dst.
type Operator interface {
	Domain() *Layout
	Range() *Layout
	Apply(ctx context.Context, dst, src *Vector) error
	ApplyAdjoint(ctx context.Context, dst, src *Vector) error
}

// Kernel is the local half of an operator: it maps this rank's share of the
// source to a contribution to this rank's share of the destination, which it
// adds into dst.
type Kernel interface {
	Forward(ctx context.Context, dst, src device.Buf) error
	Adjoint(ctx context.Context, dst, src device.Buf) error
}

// Lift makes a distributed operator of a local kernel.
func Lift(k Kernel, domain, rng *Layout) Operator { return &lifted{k, domain, rng} }

type lifted struct {
	k           Kernel
	domain, rng *Layout
}

func (l *lifted) Domain() *Layout { return l.domain }
func (l *lifted) Range() *Layout  { return l.rng }

func (l *lifted) Apply(ctx context.Context, dst, src *Vector) error {
	mustEqual("apply", l.rng, dst.Layout)
	mustEqual("apply", l.domain, src.Layout)
	return apply(ctx, l.k.Forward, dst, src)
}

func (l *lifted) ApplyAdjoint(ctx context.Context, dst, src *Vector) error {
	mustEqual("adjoint", l.domain, dst.Layout)
	mustEqual("adjoint", l.rng, src.Layout)
	return apply(ctx, l.k.Adjoint, dst, src)
}

func apply(ctx context.Context, f func(context.Context, device.Buf, device.Buf) error, dst, src *Vector) error {
	if err := dst.Zero(); err != nil {
		return err
	}
	if err := f(ctx, dst.Buf, src.Buf); err != nil {
		return err
	}
	if dst.Layout.Copies.Size() == 1 {
		return nil
	}
	return dst.Layout.Copies.AllReduce(dst.Buf, comm.Sum)
}
