package solver

import (
	"context"
	"math"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// powerIteration returns the largest eigenvalue of AᴴA, from below, by the power
// method from v, which has norm one and is overwritten; t is a vector of data,
// overwritten. It ends where the value grows by less than a thousandth, after 30
// rounds at the latest.
func powerIteration(ctx context.Context, a dist.Operator, v, t *dist.Vector) (float64, error) {
	lambda := 0.0
	for range 30 {
		if err := a.Apply(ctx, t, v); err != nil {
			return 0, err
		}
		if err := a.ApplyAdjoint(ctx, v, t); err != nil {
			return 0, err
		}
		n, err := dist.Norm(v)
		if err != nil {
			return 0, err
		}
		// ‖AᴴA v‖ for a unit v lies between ‖A v‖² and the eigenvalue, and grows
		// from round to round.
		if n == 0 || !finite(n) || math.Abs(n-lambda) <= 1e-3*n {
			return n, nil
		}
		lambda = n
		if err := dist.Axpby(1/n, v, 0, v); err != nil {
			return 0, err
		}
	}
	return lambda, nil
}
