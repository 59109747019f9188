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
	op := dist.VStack(a, dist.Scale(lambda, dist.Identity(a.Domain())))
	zero, err := dist.NewVector(deviceOf(d), a.Domain())
	if err != nil {
		return nil, nil, err
	}
	return op, &dist.Vector{Layout: op.Range(), Parts: []*dist.Vector{d, zero}}, nil
}
