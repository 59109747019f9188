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
	for i, op := range v.ops {
		if err := op.Apply(ctx, dst.Parts[i], src); err != nil {
			return err
		}
	}
	return nil
}

func (v *vstack) ApplyAdjoint(ctx context.Context, dst, src *Vector) error {
	mustEqual("vstack", v.rng, src.Layout)
	for i, op := range v.ops {
		if i == 0 {
			if err := op.ApplyAdjoint(ctx, dst, src.Parts[0]); err != nil {
				return err
			}
			continue
		}
		if err := addAdjoint(ctx, op, dst, src.Parts[i], &v.tmp); err != nil {
			return err
		}
	}
	return nil
}

// addAdjoint adds opᴴ src to dst through the scratch vector *tmp.
func addAdjoint(ctx context.Context, op Operator, dst, src *Vector, tmp **Vector) error {
	if err := scratch(tmp, dst); err != nil {
		return err
	}
	if err := op.ApplyAdjoint(ctx, *tmp, src); err != nil {
		return err
	}
	return Axpby(1, *tmp, 1, dst)
}

func scratch(tmp **Vector, like *Vector) error {
	if *tmp != nil {
		return nil
	}
	var err error
	*tmp, err = like.Clone()
	return err
}

// Sum is A + B + …; all operators have the same domain and range.
func Sum(ops ...Operator) Operator {
	if len(ops) == 0 {
		panic("dist: a sum of no operators")
	}
	for _, op := range ops {
		mustEqual("sum", ops[0].Domain(), op.Domain())
		mustEqual("sum", ops[0].Range(), op.Range())
	}
	return &sum{ops: ops}
}

type sum struct {
	ops      []Operator
	dom, rng *Vector // scratch
}

func (s *sum) Domain() *Layout { return s.ops[0].Domain() }
func (s *sum) Range() *Layout  { return s.ops[0].Range() }

func (s *sum) Apply(ctx context.Context, dst, src *Vector) error {
	if err := s.ops[0].Apply(ctx, dst, src); err != nil {
		return err
	}
	for _, op := range s.ops[1:] {
		if err := addAdjoint(ctx, Adjoint(op), dst, src, &s.rng); err != nil {
			return err
		}
	}
	return nil
}

func (s *sum) ApplyAdjoint(ctx context.Context, dst, src *Vector) error {
	if err := s.ops[0].ApplyAdjoint(ctx, dst, src); err != nil {
		return err
	}
	for _, op := range s.ops[1:] {
		if err := addAdjoint(ctx, op, dst, src, &s.dom); err != nil {
			return err
		}
	}
	return nil
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
	for i := len(c.ops) - 1; i >= 0; i-- {
		if err := c.ops[i].Apply(ctx, v[i], v[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (c *chain) ApplyAdjoint(ctx context.Context, dst, src *Vector) error {
	v, err := c.between(src, dst)
	if err != nil {
		return err
	}
	for i, op := range c.ops {
		if err := op.ApplyAdjoint(ctx, v[i+1], v[i]); err != nil {
			return err
		}
	}
	return nil
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
