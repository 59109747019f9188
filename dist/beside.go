package dist

import (
	"context"
	"fmt"
)

// LiftBeside makes a distributed operator of local kernels that add to one
// destination: (A B …)(x; y; …) = A x + B y + …. Its domain is the stack of a layout
// for each kernel. A forward needs no scratch, and sums over the ranks what LiftWith
// would for each kernel; see there.
func LiftBeside(kernels []Kernel, domain, rng *Layout, o LiftOptions) (Operator, error) {
	if len(kernels) != len(domain.Parts) {
		panic(fmt.Sprintf("dist: %d kernels for %v", len(kernels), domain))
	}
	b := &beside{domain: domain, rng: rng}
	o.Choose = nil
	for i, k := range kernels {
		op, err := LiftWith(k, domain.Parts[i], rng, o)
		if err != nil {
			return nil, err
		}
		b.ops = append(b.ops, op.(*lifted))
	}
	return b, nil
}

type beside struct {
	ops         []*lifted
	domain, rng *Layout
}

func (b *beside) Domain() *Layout { return b.domain }
func (b *beside) Range() *Layout  { return b.rng }

func (b *beside) Apply(ctx context.Context, dst, src *Vector) error {
	mustEqual("apply", b.rng, dst.Layout)
	mustEqual("apply", b.domain, src.Layout)
	if err := dst.Zero(); err != nil {
		return err
	}
	var whole *lifted // of those that work in one piece, whose sum is summed once
	for i, op := range b.ops {
		if op.pieced == nil {
			if err := op.k.Forward(ctx, dst.Buf, src.Parts[i].Buf); err != nil {
				return err
			}
			whole = op
		} else if err := op.add(ctx, Forward, dst, src.Parts[i]); err != nil {
			return err
		}
	}
	if whole == nil {
		return nil
	}
	return whole.observed(Forward, dst, func(a *application) error { return a.sumAll(dst) })
}

func (b *beside) ApplyAdjoint(ctx context.Context, dst, src *Vector) error {
	mustEqual("adjoint", b.domain, dst.Layout)
	for i, op := range b.ops {
		if err := op.ApplyAdjoint(ctx, dst.Parts[i], src); err != nil {
			return err
		}
	}
	return nil
}
