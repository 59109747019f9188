package dist

import (
	"context"
	"fmt"

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

// VStack stacks operators with one domain below each other: (A; B) x = (A x; B x). Its
// range is the stack of their ranges.
func VStack(ops ...Operator) Operator {
	if len(ops) == 0 {
		panic("dist: a stack of no operators")
	}
	rows := make([]*Layout, len(ops))
	for i, op := range ops {
		mustEqual("vstack", ops[0].Domain(), op.Domain())
		rows[i] = op.Range()
	}
	var tmp *Vector // allocated at the first adjoint
	return Map("vstack", ops[0].Domain(), Stack(rows...),
		func(w *Work, dst, src *Vector) {
			for i, op := range ops {
				w.Apply(op, dst.Parts[i], src)
			}
		},
		func(w *Work, dst, src *Vector) {
			addUp(w, dst, &tmp, ops, func(i int, to *Vector) { w.ApplyAdjoint(ops[i], to, src.Parts[i]) })
		})
}

// addUp sets dst to the sum over all operators of the vectors that f computes. The first
// is computed in dst itself, the others in the scratch vector *tmp.
func addUp(w *Work, dst *Vector, tmp **Vector, ops []Operator, f func(i int, to *Vector)) {
	f(0, dst)
	for i := range ops[1:] {
		w.Scratch(dst, tmp)
		f(i+1, *tmp)
		w.Axpby(1, *tmp, 1, dst)
	}
}

// BlockDiag applies each operator to its own part: (A 0; 0 B)(x; y) = (A x; B y). Its
// domain is the stack of their domains, its range the stack of their ranges.
func BlockDiag(ops ...Operator) Operator {
	if len(ops) == 0 {
		panic("dist: a block diagonal of no operators")
	}
	dom, rng := make([]*Layout, len(ops)), make([]*Layout, len(ops))
	for i, op := range ops {
		dom[i], rng[i] = op.Domain(), op.Range()
	}
	return Map("block diagonal", Stack(dom...), Stack(rng...),
		func(w *Work, dst, src *Vector) {
			for i, op := range ops {
				w.Apply(op, dst.Parts[i], src.Parts[i])
			}
		},
		func(w *Work, dst, src *Vector) {
			for i, op := range ops {
				w.ApplyAdjoint(op, dst.Parts[i], src.Parts[i])
			}
		})
}

// Chain is the product A·B·…: the last operator is applied first.
func Chain(ops ...Operator) Operator {
	if len(ops) == 0 {
		panic("dist: a product of no operators")
	}
	for i := 1; i < len(ops); i++ {
		mustEqual(fmt.Sprintf("chain, between operators %d and %d", i-1, i), ops[i-1].Domain(), ops[i].Range())
	}
	last := len(ops) - 1
	tmp := make([]*Vector, last) // tmp[i] lies between ops[i] and ops[i+1]
	// between returns the intermediate vectors of the product, from its range to its domain.
	between := func(w *Work, rng, dom *Vector) []*Vector {
		for i := range tmp {
			if tmp[i] == nil {
				w.New(dom.Device(), ops[i].Domain(), &tmp[i])
			}
		}
		return append(append([]*Vector{rng}, tmp...), dom)
	}
	return Map("chain", ops[last].Domain(), ops[0].Range(),
		func(w *Work, dst, src *Vector) {
			v := between(w, dst, src)
			for i := last; i >= 0; i-- {
				w.Apply(ops[i], v[i], v[i+1])
			}
		},
		func(w *Work, dst, src *Vector) {
			v := between(w, src, dst)
			for i, op := range ops {
				w.ApplyAdjoint(op, v[i+1], v[i])
			}
		})
}

// Scale is c·A.
func Scale(c float64, op Operator) Operator {
	return Map("scale", op.Domain(), op.Range(),
		func(w *Work, dst, src *Vector) {
			w.Apply(op, dst, src)
			w.Axpby(c, dst, 0, dst)
		},
		func(w *Work, dst, src *Vector) {
			w.ApplyAdjoint(op, dst, src)
			w.Axpby(c, dst, 0, dst)
		})
}

// Identity maps every vector of a layout to itself.
func Identity(l *Layout) Operator { return Map("identity", l, l, (*Work).Copy, (*Work).Copy) }

// Diagonal multiplies a vector element by element with the vector by, such as a
// mask, a taper, or data weights.
func Diagonal(by *Vector) Operator {
	multiply := func(w *Work, dst, src *Vector) {
		w.Copy(dst, src)
		w.Multiply(dst, by)
	}
	return Map("diagonal", by.Layout, by.Layout, multiply, multiply)
}
