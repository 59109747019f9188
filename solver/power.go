package solver

import (
	"context"
	"errors"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// A step length is 1/(stepMargin·λ) with λ as stepRounds rounds of the power
// method find it, from below.
const (
	stepMargin    = 1.05
	stepRounds    = 30
	stepTolerance = 0.01
)

// eigenvalueRounds are those of LargestEigenvalue.
const eigenvalueRounds = 3

// LargestEigenvalue is a rough estimate of the largest eigenvalue of AᴴA, from below
// and good to about a tenth, by three rounds of the Lanczos method (Lanczos, J. Res. NBS 45, 1950) from a
// vector that is not orthogonal to its eigenvector, such as Aᴴd. A round costs one forward
// and one adjoint.
func LargestEigenvalue(ctx context.Context, p Problem, from *dist.Vector) (float64, error) {
	w := &dist.Work{Ctx: ctx}
	n := w.Norm(from)
	if w.Err != nil || n == 0 || !finite(n) {
		return n, w.Err
	}
	layout, normal := p.Domain(), func(q, t, v *dist.Vector) {}
	switch p := p.(type) {
	case *Held:
		layout = p.D.Layout
		normal = func(q, t, v *dist.Vector) {
			w.Apply(p.A, t, v)
			w.ApplyAdjoint(p.A, q, t)
		}
	case *Definite:
		normal = func(q, t, v *dist.Vector) {
			w.Apply(p.B, t, v)
			w.Copy(q, t)
		}
	case *streamed:
		normal = func(q, t, v *dist.Vector) {
			w.Do(func() error {
				_, err := p.Normal(ctx, t, v)
				return err
			})
			w.Copy(q, t)
		}
	}
	var before, v, q, t *dist.Vector
	w.New(from.Device(), p.Domain(), &before, &v, &q)
	if w.New(from.Device(), layout, &t); w.Err != nil {
		return 0, w.Err
	}
	for _, of := range []*dist.Vector{before, v, q, t} {
		defer of.Free()
	}
	w.Axpby(1/n, from, 0, v)
	w.Zero(before)
	tridiagonal, beta := mat.NewSymDense(eigenvalueRounds, nil), 0.0
	for k := range eigenvalueRounds {
		normal(q, t, v)
		alpha := real(w.Dots(dist.Pair{v, q})[0])
		w.Axpby(-alpha, v, 1, q)
		w.Axpby(-beta, before, 1, q)
		tridiagonal.SetSym(k, k, alpha)
		beta = w.Norm(q)
		if w.Err != nil || !finite(alpha+beta) {
			return alpha + beta, w.Err
		}
		if beta <= p.epsilon()*alpha || k+1 == eigenvalueRounds {
			break
		}
		tridiagonal.SetSym(k, k+1, beta)
		w.Copy(before, v)
		w.Axpby(1/beta, q, 0, v)
	}
	var values mat.EigenSym
	if w.Err == nil && !values.Factorize(tridiagonal, false) {
		return 0, errors.New("solver: no eigenvalues of a tridiagonal matrix")
	}
	return slices.Max(values.Values(nil)), w.Err
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
