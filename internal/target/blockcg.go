package target

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist/dense"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// conjugate solves H X = B for the given columns B, by block conjugate gradients: the search
// space of each iteration is that of all columns together (O'Leary 1980). Residuals are kept
// orthonormal, so that columns may depend on each other (Dubrulle 2001, BCGrQ). It ends when
// every column's residual is below tolerance times the norm of the column, and fails after
// limit iterations. All ranks have B and X; H is not factored. It is collective.
func (s *system) conjugate(ctx context.Context, b [][]float64, tolerance float64, limit int) (x [][]float64, iterations int, err error) {
	n, k := s.cuts.Len(), len(b)
	if k > n {
		return nil, 0, fmt.Errorf("target: %d right sides of %d elements", k, n)
	}
	residual := mat.NewDense(n, k, nil)
	for j, column := range b {
		residual.SetCol(j, column)
	}
	want := norms(residual)
	q, c := orthonormal(residual)
	p, solution := mat.DenseCopyOf(q), mat.NewDense(n, k, nil)
	for ; !below(norms(c), want, tolerance); iterations++ {
		if iterations == limit {
			return nil, iterations, status.Numerical(fmt.Errorf("target: conjugate gradients have not reached a residual of %.1e after %d iterations", tolerance, limit))
		}
		z, err := s.times(ctx, p)
		if err != nil {
			return nil, iterations, err
		}
		var curve, alpha mat.Dense
		curve.Mul(p.T(), z)
		if err := alpha.Solve(&curve, identity(k)); err != nil {
			return nil, iterations, status.Numerical(fmt.Errorf("target: conjugate gradients: the search directions of iteration %d depend on each other: %w", iterations+1, err))
		}
		var step, change mat.Dense
		step.Product(p, &alpha, c)
		solution.Add(solution, &step)
		change.Mul(z, &alpha)
		q.Sub(q, &change)
		next, r := orthonormal(q)
		var grown, along mat.Dense
		grown.Mul(r, c)
		along.Mul(p, r.T())
		along.Add(&along, next)
		q, p, c = next, &along, &grown
	}
	for j := range k {
		x = append(x, mat.Col(nil, j, solution))
	}
	return x, iterations, nil
}

// times is H P.
func (s *system) times(ctx context.Context, p *mat.Dense) (*mat.Dense, error) {
	n, k := p.Dims()
	from, err := s.columns(k, p.At)
	if err != nil {
		return nil, err
	}
	defer from.Free()
	to, err := dense.New(s.grid, device.F64, s.cuts, from.Columns)
	if err != nil {
		return nil, err
	}
	defer to.Free()
	if err := dense.Multiply(ctx, to, 1, dense.Of(s.h), dense.Of(from), 0); err != nil {
		return nil, err
	}
	columns, err := gathered(to)
	if err == nil {
		columns, err = broadcast(s.grid.World, columns)
	}
	if err != nil {
		return nil, err
	}
	z := mat.NewDense(n, k, nil)
	for j, column := range columns {
		z.SetCol(j, column)
	}
	return z, nil
}

// orthonormal is A = Q R with orthonormal columns of Q.
func orthonormal(a *mat.Dense) (q, r *mat.Dense) {
	_, k := a.Dims()
	q, r = mat.DenseCopyOf(a), mat.NewDense(k, k, nil)
	tau := make([]float64, k)
	work := make([]float64, max(1, 64*k))
	lapack64.Geqrf(q.RawMatrix(), tau, work, len(work))
	for i := range k {
		for j := i; j < k; j++ {
			r.Set(i, j, q.At(i, j))
		}
	}
	lapack64.Orgqr(q.RawMatrix(), tau, work, len(work))
	return q, r
}

// norms are those of the columns.
func norms(m *mat.Dense) []float64 {
	_, k := m.Dims()
	out := make([]float64, k)
	for j := range out {
		out[j] = mat.Norm(m.ColView(j), 2)
	}
	return out
}

// below reports whether all residuals are below a tolerance times what they began with.
func below(have, want []float64, tolerance float64) bool {
	for j, v := range have {
		if !(v <= tolerance*want[j]) {
			return false
		}
	}
	return true
}

func identity(n int) *mat.Dense {
	m := mat.NewDense(n, n, nil)
	for i := range n {
		m.Set(i, i, 1)
	}
	return m
}
