package dist

import (
	"context"
	"fmt"
)

// Steered is the derivative along directions that differ from point to point: with
// the components u[k][a] of direction k, in grid steps, row k of its range, a stack
// even of one, is
//
//	y_k[i] = Σ_a u[k][a][i] (C_a x)[i],
//
// C_a the difference along axis a averaged over the neighbours along the others, so
// that all components belong to the middle of the cell of 2ⁿ points that begins at
// i; zero for cells at the ends of an axis. Axes of less than three points are left
// out. It shares u.
func Steered(u ...[]*Vector) (Operator, error) {
	l := u[0][0].Layout
	s := &steered{u: u, axes: long(l), cell: make(map[int][]Operator)}
	if len(s.axes) == 0 {
		return nil, fmt.Errorf("dist: derivative along directions in %v, which has no axis of three points", l)
	}
	for _, a := range s.axes {
		for _, axis := range s.axes {
			of := mean
			if axis == a {
				of = Difference
			}
			op, err := of(l, axis)
			if err != nil {
				return nil, err
			}
			s.cell[a] = append(s.cell[a], op)
		}
	}
	parts := make([]*Layout, len(u))
	for k, components := range u {
		if len(components) != len(l.Shape) {
			panic(fmt.Sprintf("dist: direction of %d components in %v", len(components), l))
		}
		for _, c := range components {
			mustEqual("steered", l, c.Layout)
		}
		parts[k] = l
	}
	s.rng = Stack(parts...)
	return s, nil
}

type steered struct {
	u    [][]*Vector
	axes []int
	cell map[int][]Operator // C_a is their product
	rng  *Layout
	tmp  [2]*Vector // allocated at the first application
}

func (s *steered) Domain() *Layout { return s.u[0][0].Layout }
func (s *steered) Range() *Layout  { return s.rng }

func (s *steered) Apply(ctx context.Context, dst, src *Vector) error {
	mustEqual("steered", s.rng, dst.Layout)
	return s.each(dst, src, func(a int, x, free *Vector) error {
		from := src
		for _, op := range s.cell[a] {
			if err := op.Apply(ctx, x, from); err != nil {
				return err
			}
			from, x, free = x, free, x
		}
		return each(len(s.u), func(k int) error { return addProduct(dst.Parts[k], s.u[k][a], from, x) })
	})
}

func (s *steered) ApplyAdjoint(ctx context.Context, dst, src *Vector) error {
	mustEqual("steered", s.rng, src.Layout)
	return s.each(dst, dst, func(a int, x, free *Vector) error {
		if err := x.Zero(); err != nil {
			return err
		}
		for k := range s.u {
			if err := addProduct(x, s.u[k][a], src.Parts[k], free); err != nil {
				return err
			}
		}
		for i := range s.cell[a] {
			if err := s.cell[a][len(s.cell[a])-1-i].ApplyAdjoint(ctx, free, x); err != nil {
				return err
			}
			x, free = free, x
		}
		return Axpby(1, x, 1, dst)
	})
}

// each zeroes dst and calls f for every axis with two vectors of scratch.
func (s *steered) each(dst, like *Vector, f func(axis int, x, free *Vector) error) error {
	for i := range s.tmp {
		if err := scratch(&s.tmp[i], like); err != nil {
			return err
		}
	}
	if err := dst.Zero(); err != nil {
		return err
	}
	return each(len(s.axes), func(i int) error { return f(s.axes[i], s.tmp[0], s.tmp[1]) })
}

// addProduct adds u·x to y through the scratch vector tmp.
func addProduct(y, u, x, tmp *Vector) error {
	if err := Copy(tmp, x); err != nil {
		return err
	}
	if err := Multiply(tmp, u); err != nil {
		return err
	}
	return Axpby(1, tmp, 1, y)
}
