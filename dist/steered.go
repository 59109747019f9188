package dist

import "fmt"

// Steered is the derivative along directions that differ from point to point: with
// the components u[k][a] of direction k, in grid steps, row k of its range, a stack
// even of one, is
//
//	y_k[i] = Σ_a u[k][a][i] (C_a x)[i],
//
// C_a the difference along axis a averaged over the neighbours along the others, so that
// all components belong to the middle of the cell of 2ⁿ points that begins at i; zero for
// cells at the ends of an axis. Axes of less than three points are left out. It shares u.
func Steered(u ...[]*Vector) (Operator, error) {
	l := u[0][0].Layout
	axes := axes(l)
	if len(axes) == 0 {
		return nil, fmt.Errorf("dist: derivative along directions in %v, which has no axis of three points", l)
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
	cell := make(map[int][]Operator) // C_a is their product
	for _, a := range axes {
		ops, err := operators(axes, func(axis int) (Operator, error) {
			if axis == a {
				return Difference(l, a)
			}
			return newDerivative(l, axis, mean)
		})
		if err != nil {
			return nil, err
		}
		cell[a] = ops
	}
	var x, y *Vector // scratch
	return Map("steered", l, Stack(parts...),
		func(w *Work, dst, src *Vector) {
			w.Scratch(src, &x, &y)
			w.Zero(dst)
			for _, a := range axes {
				from, to, free := src, x, y
				for _, op := range cell[a] {
					w.Apply(op, to, from)
					from, to, free = to, free, to
				}
				for k := range u {
					addProduct(w, dst.Parts[k], u[k][a], from, to)
				}
			}
		},
		func(w *Work, dst, src *Vector) {
			w.Scratch(dst, &x, &y)
			w.Zero(dst)
			for _, a := range axes {
				from, to := x, y
				w.Zero(from)
				for k := range u {
					addProduct(w, from, u[k][a], src.Parts[k], to)
				}
				for i := len(cell[a]) - 1; i >= 0; i-- {
					w.ApplyAdjoint(cell[a][i], to, from)
					from, to = to, from
				}
				w.Axpby(1, from, 1, dst)
			}
		}), nil
}

// addProduct adds u·x to y, using the scratch vector tmp.
func addProduct(w *Work, y, u, x, tmp *Vector) {
	w.Copy(tmp, x)
	w.Multiply(tmp, u)
	w.Axpby(1, tmp, 1, y)
}
