package dist

import "context"

// BlockDiag applies each operator to a part of its own: (A 0; 0 B)(x; y) =
// (A x; B y). Its domain is the stack of their domains, its range that of their
// ranges.
func BlockDiag(ops ...Operator) Operator {
	if len(ops) == 0 {
		panic("dist: a block diagonal of no operators")
	}
	dom, rng := make([]*Layout, len(ops)), make([]*Layout, len(ops))
	for i, op := range ops {
		dom[i], rng[i] = op.Domain(), op.Range()
	}
	return &blockDiag{ops, Stack(dom...), Stack(rng...)}
}

type blockDiag struct {
	ops         []Operator
	domain, rng *Layout
}

func (b *blockDiag) Domain() *Layout { return b.domain }
func (b *blockDiag) Range() *Layout  { return b.rng }

func (b *blockDiag) Apply(ctx context.Context, dst, src *Vector) error {
	mustEqual("block diagonal", b.rng, dst.Layout)
	mustEqual("block diagonal", b.domain, src.Layout)
	for i, op := range b.ops {
		if err := op.Apply(ctx, dst.Parts[i], src.Parts[i]); err != nil {
			return err
		}
	}
	return nil
}

func (b *blockDiag) ApplyAdjoint(ctx context.Context, dst, src *Vector) error {
	mustEqual("block diagonal", b.domain, dst.Layout)
	mustEqual("block diagonal", b.rng, src.Layout)
	for i, op := range b.ops {
		if err := op.ApplyAdjoint(ctx, dst.Parts[i], src.Parts[i]); err != nil {
			return err
		}
	}
	return nil
}
