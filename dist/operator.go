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

// Kernel is the local half of an operator: it maps this rank's share of the
// source to a contribution to this rank's share of the destination, which it
// adds into dst.
type Kernel interface {
	Forward(ctx context.Context, dst, src device.Buf) error
	Adjoint(ctx context.Context, dst, src device.Buf) error
}
