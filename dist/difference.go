package dist

import (
	"context"
	"fmt"
)

// Difference is the difference of neighbours along an axis,
//
//	y[i] = x[i+1] − x[i],
//
// zero at both ends. Unlike the centred derivative it sees what alternates from
// point to point. All else is as for FirstDerivative with a spacing of 1.
func Difference(l *Layout, axis int) (Operator, error) {
	return newDerivative(l, axis, 1, [3]float64{0, -1, 1})
}

// mean is y[i] = (x[i] + x[i+1])/2 along an axis, zero at both ends.
func mean(l *Layout, axis int) (Operator, error) {
	return newDerivative(l, axis, 1, [3]float64{0, 0.5, 0.5})
}

// Gradient is the stack of the differences along all axes that have any: those of
// at least three points.
func Gradient(l *Layout) (Operator, error) {
	var rows []Operator
	for _, axis := range long(l) {
		d, err := Difference(l, axis)
		if err != nil {
			return nil, err
		}
		rows = append(rows, d)
	}
	if rows == nil {
		return nil, fmt.Errorf("dist: gradient of %v, which has no axis of three points", l)
	}
	return VStack(rows...), nil
}

// long lists the axes of a leaf with at least three points.
func long(l *Layout) (axes []int) {
	for axis, n := range l.Shape {
		if n > 2 {
			axes = append(axes, axis)
		}
	}
	return axes
}

// Steered is the derivative along directions that differ from point to point: with
// the components u[k][a] of direction k, in grid steps, row k of its range, a stack
// even of one, is
//
//	y_k[i] = Σ_a u[k][a][i] (C_a x)[i],
//
// C_a the difference along axis a averaged over the neighbours along the others, so
// that all components belong to the middle of the cell of 2ⁿ points that begins at
// i; zero for cells at the ends of an axis. Axes of less than three points are left
// out. It shares u, and all else is as for FirstDerivative.
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
	if err := s.allocate(src); err != nil {
		return err
	}
	if err := dst.Zero(); err != nil {
		return err
	}
	for _, a := range s.axes {
		x, free := src, s.tmp
		for _, op := range s.cell[a] {
			if err := op.Apply(ctx, free[0], x); err != nil {
				return err
			}
			x, free = free[0], [2]*Vector{free[1], free[0]}
		}
		for k := range s.u {
			if err := addProduct(dst.Parts[k], s.u[k][a], x, free[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *steered) ApplyAdjoint(ctx context.Context, dst, src *Vector) error {
	mustEqual("steered", s.rng, src.Layout)
	if err := s.allocate(dst); err != nil {
		return err
	}
	if err := dst.Zero(); err != nil {
		return err
	}
	for _, a := range s.axes {
		x, free := s.tmp[0], s.tmp[1]
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
		if err := Axpby(1, x, 1, dst); err != nil {
			return err
		}
	}
	return nil
}

func (s *steered) allocate(like *Vector) error {
	for i := range s.tmp {
		if err := scratch(&s.tmp[i], like); err != nil {
			return err
		}
	}
	return nil
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
