package dist

import (
	"context"
	"fmt"
)

// VStack lays operators with one domain below each other: (A; B) x = (A x; B x).
// Its range is the stack of theirs.
func VStack(ops ...Operator) Operator {
	if len(ops) == 0 {
		panic("dist: a stack of no operators")
	}
	rows := make([]*Layout, len(ops))
	for i, op := range ops {
		mustEqual("vstack", ops[0].Domain(), op.Domain())
		rows[i] = op.Range()
	}
	return &vstack{ops: ops, rng: Stack(rows...)}
}

type vstack struct {
	ops []Operator
	rng *Layout
	tmp *Vector // one model vector, allocated at the first adjoint
}

func (v *vstack) Domain() *Layout { return v.ops[0].Domain() }
func (v *vstack) Range() *Layout  { return v.rng }

func (v *vstack) Apply(ctx context.Context, dst, src *Vector) error {
	mustEqual("vstack", v.rng, dst.Layout)
	return each(len(v.ops), func(i int) error { return v.ops[i].Apply(ctx, dst.Parts[i], src) })
}

func (v *vstack) ApplyAdjoint(ctx context.Context, dst, src *Vector) error {
	mustEqual("vstack", v.rng, src.Layout)
	return addUp(dst, &v.tmp, len(v.ops), func(i int, to *Vector) error { return v.ops[i].ApplyAdjoint(ctx, to, src.Parts[i]) })
}

// each calls f for 0 to n − 1 until one fails.
func each(n int, f func(i int) error) error {
	for i := range n {
		if err := f(i); err != nil {
			return err
		}
	}
	return nil
}

// addUp sets dst to the sum of what f sets a vector to for 0 to n − 1, the first dst
// itself, the others the scratch vector *tmp.
func addUp(dst *Vector, tmp **Vector, n int, f func(i int, to *Vector) error) error {
	if err := f(0, dst); err != nil || n == 1 {
		return err
	}
	if err := scratch(tmp, dst); err != nil {
		return err
	}
	return each(n-1, func(i int) error {
		if err := f(i+1, *tmp); err != nil {
			return err
		}
		return Axpby(1, *tmp, 1, dst)
	})
}

func scratch(tmp **Vector, like *Vector) error {
	if *tmp != nil {
		return nil
	}
	var err error
	*tmp, err = like.Clone()
	return err
}

// sum is A + B + … of operators with one domain and one range.
type sum struct {
	ops      []Operator
	dom, rng *Vector // scratch
}

func (s *sum) Domain() *Layout { return s.ops[0].Domain() }
func (s *sum) Range() *Layout  { return s.ops[0].Range() }

func (s *sum) Apply(ctx context.Context, dst, src *Vector) error {
	return addUp(dst, &s.rng, len(s.ops), func(i int, to *Vector) error { return s.ops[i].Apply(ctx, to, src) })
}

func (s *sum) ApplyAdjoint(ctx context.Context, dst, src *Vector) error {
	return addUp(dst, &s.dom, len(s.ops), func(i int, to *Vector) error { return s.ops[i].ApplyAdjoint(ctx, to, src) })
}

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
	return each(len(b.ops), func(i int) error { return b.ops[i].Apply(ctx, dst.Parts[i], src.Parts[i]) })
}

func (b *blockDiag) ApplyAdjoint(ctx context.Context, dst, src *Vector) error {
	mustEqual("block diagonal", b.domain, dst.Layout)
	mustEqual("block diagonal", b.rng, src.Layout)
	return each(len(b.ops), func(i int) error { return b.ops[i].ApplyAdjoint(ctx, dst.Parts[i], src.Parts[i]) })
}

// Chain is the product A·B·…: the last operator is applied first.
func Chain(ops ...Operator) Operator {
	if len(ops) == 0 {
		panic("dist: a product of no operators")
	}
	for i := 1; i < len(ops); i++ {
		mustEqual(fmt.Sprintf("chain, between operators %d and %d", i-1, i), ops[i-1].Domain(), ops[i].Range())
	}
	return &chain{ops: ops, tmp: make([]*Vector, len(ops)-1)}
}

type chain struct {
	ops []Operator
	tmp []*Vector // tmp[i] lies between ops[i] and ops[i+1]
}

func (c *chain) Domain() *Layout { return c.ops[len(c.ops)-1].Domain() }
func (c *chain) Range() *Layout  { return c.ops[0].Range() }

// between returns the vectors src, tmp…, dst that the product passes through,
// in the order of the operators from first to last: v[0] is in the range of
// the product, v[len] in its domain.
func (c *chain) between(rng, dom *Vector) ([]*Vector, error) {
	v := append(append([]*Vector{rng}, c.tmp...), dom)
	for i := range c.tmp {
		if c.tmp[i] == nil {
			t, err := NewVector(dom.Device(), c.ops[i].Domain())
			if err != nil {
				return nil, err
			}
			c.tmp[i], v[i+1] = t, t
		}
	}
	return v, nil
}

func (c *chain) Apply(ctx context.Context, dst, src *Vector) error {
	v, err := c.between(dst, src)
	if err != nil {
		return err
	}
	last := len(c.ops) - 1
	return each(len(c.ops), func(i int) error { return c.ops[last-i].Apply(ctx, v[last-i], v[last-i+1]) })
}

func (c *chain) ApplyAdjoint(ctx context.Context, dst, src *Vector) error {
	v, err := c.between(src, dst)
	if err != nil {
		return err
	}
	return each(len(c.ops), func(i int) error { return c.ops[i].ApplyAdjoint(ctx, v[i+1], v[i]) })
}

// Adjoint swaps the two directions of an operator.
func Adjoint(op Operator) Operator {
	if a, ok := op.(adjoint); ok {
		return a.Operator
	}
	return adjoint{op}
}

type adjoint struct{ Operator }

func (a adjoint) Domain() *Layout { return a.Operator.Range() }
func (a adjoint) Range() *Layout  { return a.Operator.Domain() }
func (a adjoint) Apply(ctx context.Context, dst, src *Vector) error {
	return a.Operator.ApplyAdjoint(ctx, dst, src)
}
func (a adjoint) ApplyAdjoint(ctx context.Context, dst, src *Vector) error {
	return a.Operator.Apply(ctx, dst, src)
}

// Scale is c·A for a real factor c.
func Scale(c float64, op Operator) Operator { return scale{op, c} }

type scale struct {
	Operator
	c float64
}

func (s scale) Apply(ctx context.Context, dst, src *Vector) error {
	if err := s.Operator.Apply(ctx, dst, src); err != nil {
		return err
	}
	return Axpby(s.c, dst, 0, dst)
}

func (s scale) ApplyAdjoint(ctx context.Context, dst, src *Vector) error {
	if err := s.Operator.ApplyAdjoint(ctx, dst, src); err != nil {
		return err
	}
	return Axpby(s.c, dst, 0, dst)
}

// Identity maps every vector of a layout to itself.
func Identity(l *Layout) Operator { return identity{l} }

type identity struct{ l *Layout }

func (i identity) Domain() *Layout                                        { return i.l }
func (i identity) Range() *Layout                                         { return i.l }
func (i identity) Apply(_ context.Context, dst, src *Vector) error        { return Copy(dst, src) }
func (i identity) ApplyAdjoint(_ context.Context, dst, src *Vector) error { return Copy(dst, src) }

// Diagonal multiplies element by element with a real vector w: a mask, a taper,
// data weights, a preconditioner.
func Diagonal(w *Vector) Operator { return diagonal{w} }

type diagonal struct{ w *Vector }

func (d diagonal) Domain() *Layout { return d.w.Layout }
func (d diagonal) Range() *Layout  { return d.w.Layout }
func (d diagonal) Apply(_ context.Context, dst, src *Vector) error {
	if err := Copy(dst, src); err != nil {
		return err
	}
	return Multiply(dst, d.w)
}
func (d diagonal) ApplyAdjoint(ctx context.Context, dst, src *Vector) error {
	return d.Apply(ctx, dst, src)
}
