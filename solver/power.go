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
func LargestEigenvalue(ctx context.Context, p Problem, from *dist.Vector) (float64, error) {
	w := &dist.Work{Ctx: ctx}
	n := w.Norm(from)
	if w.Err != nil || n == 0 || !finite(n) {
		return n, w.Err
	}
	var v, t *dist.Vector
	var layout *dist.Layout // of t, the same in all rounds
	var normal func()
	switch p := p.(type) {
	case *Held:
		layout = p.D.Layout
		normal = func() {
			w.Apply(p.A, t, v)
			w.ApplyAdjoint(p.A, v, t)
		}
	case *Definite:
		layout = p.Domain()
		normal = func() {
			w.Apply(p.B, t, v)
			w.Copy(v, t)
		}
	case *streamed:
		layout = p.Domain()
		normal = func() {
			w.Do(func() error {
				_, err := p.Normal(ctx, t, v)
				return err
			})
			w.Copy(v, t)
		}
	}
	w.New(from.Device(), p.Domain(), &v)
	if w.New(from.Device(), layout, &t); w.Err != nil {
		return 0, w.Err
	}
	defer v.Free()
	defer t.Free()
	w.Axpby(1/n, from, 0, v)
	lambda := powerIteration(w, v, p.epsilon(), 10, 0.05, normal)
	return lambda, w.Err
}

// powerIteration estimates the largest eigenvalue of AᴴA, from below, by the power
// method from v, which has norm one and is overwritten; normal sets v = AᴴA v, up to
// the rounding unit ε. It ends where what is still to come is estimated to be less than
// the tolerance, after the given rounds at the latest.
//
// ‖AᴴA v‖ for a unit v lies between ‖A v‖² and the eigenvalue, and grows from round to
// round, in the end geometrically: growth g after growth h leaves g·q/(1 − q) with q =
// g/h. Where the growth itself grows, another eigenvector is only just coming up.
func powerIteration(w *dist.Work, v *dist.Vector, eps float64, rounds int, tolerance float64, normal func()) float64 {
	lambda, grew := 0.0, 0.0
	for round := range rounds {
		normal()
		n := w.Norm(v)
		if w.Err != nil || n == 0 || !finite(n) {
			return n
		}
		growth := n - lambda
		if growth <= 4*eps*n || growth < grew && growth*growth <= tolerance*n*(grew-growth) {
			return n
		}
		lambda = n
		if round > 0 {
			grew = growth
		}
		w.Axpby(1/n, v, 0, v)
	}
	return lambda
}
