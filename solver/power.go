package solver

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// A step length is 1/(stepMargin·λ) with λ as stepRounds rounds of the power
// method find it, from below.
const (
	stepMargin    = 1.05
	stepRounds    = 30
	stepTolerance = 0.01
)

// LargestEigenvalue is a rough estimate of the largest eigenvalue of AᴴA, from below
// and good to about a fifth, by at most ten rounds of the power method from a vector
// that is not orthogonal to its eigenvector, such as Aᴴd. A round costs one forward
// and one adjoint.
func LargestEigenvalue(ctx context.Context, a dist.Operator, from *dist.Vector) (float64, error) {
	n, err := dist.Norm(from)
	if err != nil || n == 0 || !finite(n) {
		return n, err
	}
	v, err := from.Clone()
	if err != nil {
		return 0, err
	}
	defer v.Free()
	t, err := dist.NewVector(deviceOf(from), a.Range())
	if err != nil {
		return 0, err
	}
	defer t.Free()
	if err := dist.Axpby(1/n, from, 0, v); err != nil {
		return 0, err
	}
	return powerIteration(ctx, a, v, t, 10, 0.05)
}

// powerIteration estimates the largest eigenvalue of AᴴA, from below, by the power
// method from v, which has norm one and is overwritten; t is a vector of data,
// overwritten. It ends where what is still to come is estimated to be less than the
// tolerance, after the given rounds at the latest.
//
// ‖AᴴA v‖ for a unit v lies between ‖A v‖² and the eigenvalue, and grows from round
// to round, in the end geometrically: growth g after growth h leaves g·q/(1 − q)
// with q = g/h. Where the growth itself grows, another eigenvector is only just
// coming up.
func powerIteration(ctx context.Context, a dist.Operator, v, t *dist.Vector, rounds int, tolerance float64) (float64, error) {
	lambda, grew := 0.0, 0.0
	for round := range rounds {
		if err := a.Apply(ctx, t, v); err != nil {
			return 0, err
		}
		if err := a.ApplyAdjoint(ctx, v, t); err != nil {
			return 0, err
		}
		n, err := dist.Norm(v)
		if err != nil || n == 0 || !finite(n) {
			return n, err
		}
		growth := n - lambda
		if growth <= 4*rounding(a)*n || growth < grew && growth*growth <= tolerance*n*(grew-growth) {
			return n, nil
		}
		lambda = n
		if round > 0 {
			grew = growth
		}
		if err := dist.Axpby(1/n, v, 0, v); err != nil {
			return 0, err
		}
	}
	return lambda, nil
}
