package solver

import (
	"context"
	"errors"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// eigenvalueRounds is the number of rounds of LargestEigenvalue.
const eigenvalueRounds = 3

// LargestEigenvalue is a rough estimate of the largest eigenvalue of AᵀA, from below
// and good to about a tenth, by three rounds of the Lanczos method (Lanczos, J. Res. NBS 45, 1950) from a
// vector that is not orthogonal to its eigenvector, such as Aᵀd. A round costs one forward
// and one adjoint, the last of data that are held a forward alone.
func LargestEigenvalue(ctx context.Context, p Problem, from *dist.Vector) (float64, error) {
	w := &dist.Work{Ctx: ctx}
	n := w.Norm(from)
	if w.Err != nil || n == 0 || !finite(n) {
		return n, w.Err
	}
	var before, v, q, t *dist.Vector
	w.New(from.Device(), p.Domain(), &before, &v, &q)
	// normal sets q = AᵀA v, unless this is the last round, and returns ⟨v, AᵀA v⟩.
	var normal func(last bool) float64
	switch p := p.(type) {
	case *Held:
		w.New(from.Device(), p.D.Layout, &t)
		normal = func(last bool) float64 {
			if w.Apply(p.A, t, v); !last {
				w.ApplyAdjoint(p.A, q, t)
			}
			return w.Square(t)
		}
	case *streamed:
		normal = func(bool) (square float64) {
			w.Do(func() (err error) {
				square, err = p.Normal(ctx, q, v)
				return err
			})
			return square
		}
	}
	if w.Err != nil {
		return 0, w.Err
	}
	for _, of := range []*dist.Vector{before, v, q, t} {
		if of != nil {
			defer of.Free()
		}
	}
	w.Axpby(1/n, from, 0, v)
	w.Zero(before)
	tridiagonal, beta := mat.NewSymDense(eigenvalueRounds, nil), 0.0
	for k := range eigenvalueRounds {
		last := k+1 == eigenvalueRounds
		alpha := normal(last)
		tridiagonal.SetSym(k, k, alpha)
		if last || w.Err != nil || !finite(alpha) {
			break
		}
		w.Axpby(-alpha, v, 1, q)
		w.Axpby(-beta, before, 1, q)
		if beta = w.Norm(q); beta <= p.epsilon()*alpha {
			break
		}
		tridiagonal.SetSym(k, k+1, beta)
		w.Copy(before, v)
		w.Axpby(1/beta, q, 0, v)
	}
	if sum := mat.Sum(tridiagonal); w.Err != nil || !finite(sum) {
		return sum, w.Err
	}
	var values mat.EigenSym
	if !values.Factorize(tridiagonal, false) {
		return 0, errors.New("solver: no eigenvalues of a tridiagonal matrix")
	}
	return slices.Max(values.Values(nil)), nil
}
