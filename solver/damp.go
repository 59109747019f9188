package solver

import (
	"github.com/kirchhoff-lsm/lsm/dist"
)

// Damp returns the operator and the data of min ‖A x − d‖² + λ²‖x‖²: the stack
// (A; λI) and (d; 0), which shares d. Data and image are weighed against each
// other in their own units, so λ has those of A. With λ = 0 it returns a and d.
func Damp(a dist.Operator, d *dist.Vector, lambda float64) (dist.Operator, *dist.Vector, error) {
	if lambda == 0 {
		return a, d, nil
	}
	return AddRows(a, d, dist.Scale(lambda, dist.Identity(a.Domain())))
}

// AddRows returns the operator and the data of min ‖A x − d‖² + Σ ‖B x‖² over the
// operators B given: the stack (A; B…) and (d; 0…), which shares d. Histories tell
// the misfit of A's row from the rest only if all rows are added at once. Without
// rows it returns a and d.
func AddRows(a dist.Operator, d *dist.Vector, rows ...dist.Operator) (dist.Operator, *dist.Vector, error) {
	if len(rows) == 0 {
		return a, d, nil
	}
	op := dist.VStack(append([]dist.Operator{a}, rows...)...)
	parts := []*dist.Vector{d}
	for _, b := range rows {
		zero, err := dist.NewVector(deviceOf(d), b.Range())
		if err != nil {
			return nil, nil, err
		}
		parts = append(parts, zero)
	}
	return op, &dist.Vector{Layout: op.Range(), Parts: parts}, nil
}
