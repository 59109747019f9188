package dense

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/blas"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Factor is the Cholesky factor L of a matrix A = L Lᵀ.
type Factor struct{ l *Matrix }

// Cholesky overwrites a symmetric positive definite matrix with its factor L: tiles below the
// diagonal, and the lower triangle of those on it. Tiles above are neither read nor written.
// Rows and columns must be cut alike. A matrix that is not positive definite is an error with
// the status of a numerical failure, around a *blas.NotDefinite, and leaves a without meaning.
//
// The factorisation is the right-looking one in tiles. In step K the tile on the diagonal is
// factored, the tiles below it are divided by it, broadcast along rows and columns of the grid,
// and their products are taken off what remains. Messages and products take turns. It is
// collective.
func Cholesky(ctx context.Context, a *Matrix) (*Factor, error) {
	if err := a.square(); err != nil {
		return nil, err
	}
	if err := a.Grid.needSolver(); err != nil {
		return nil, err
	}
	s, err := newSteps(a)
	if err != nil {
		return nil, err
	}
	defer s.free()
	for k := range a.Rows.Tiles() {
		if err := s.step(ctx, k); err != nil {
			return nil, err
		}
	}
	return &Factor{a}, nil
}

// steps are the steps of a factorisation.
type steps struct {
	a     *Matrix
	left  *panels
	diag  device.Buf // a tile on the diagonal
	right device.Buf // adjoints of the tiles of a column, for this rank's columns
}

func newSteps(a *Matrix) (*steps, error) {
	s := &steps{a: a}
	var err error
	if s.left, err = newPanels(Of(a), true); err != nil {
		return nil, err
	}
	n := longest(a.Rows)
	if s.diag, err = a.Grid.Device.Alloc(n*n, a.Type); err == nil {
		s.right, err = a.Grid.Device.Alloc(a.columns.len()*n, a.Type)
	}
	return s, comm.Together(a.Grid.World, err)
}

func (s *steps) free() {
	s.left.free()
	s.a.Grid.Device.Free(s.diag)
	s.a.Grid.Device.Free(s.right)
}

// step is step k of the factorisation.
func (s *steps) step(ctx context.Context, k int) error {
	a, g := s.a, s.a.Grid
	err := ctx.Err()
	if err == nil && a.Has(k, k) {
		err = a.factor(k)
	}
	if err := comm.Together(g.World, err); err != nil {
		return err
	}
	if g.J == k%g.Columns {
		l, err := a.diagonal(k, g.Column, k%g.Rows, s.diag)
		if err != nil {
			return err
		}
		var systems []blas.System
		a.rows.each(k+1, a.Rows.Tiles(), func(i int) { systems = append(systems, blas.System{L: l, B: a.Tile(i, k)}) })
		if err := g.solver.Solve(blas.RightAdjoint, systems); err != nil {
			return err
		}
	}
	left, err := s.left.fetch(k, k+1, a.Rows.Tiles())
	if err != nil {
		return err
	}
	right, err := s.turned(left)
	if err != nil {
		return err
	}
	var list []blas.Product
	a.columns.each(k+1, a.Columns.Tiles(), func(j int) {
		a.rows.each(j, a.Rows.Tiles(), func(i int) {
			list = append(list, blas.Product{C: a.Tile(i, j), A: left.tile(i), B: right[j]})
		})
	})
	return g.Library.Multiply(-1, list)
}

// factor factors tile k on the diagonal.
func (m *Matrix) factor(k int) error {
	err := m.Grid.solver.Factor(m.Tile(k, k))
	var not *blas.NotDefinite
	if errors.As(err, &not) {
		err = status.Numerical(fmt.Errorf("dense: %w", &blas.NotDefinite{Row: m.Rows[k] + not.Row, Pivot: not.Pivot}))
	}
	return err
}

// diagonal brings tile k on the diagonal to a row or a column of the grid, where the root
// holds it. room is memory for it on the others.
func (m *Matrix) diagonal(k int, among comm.Comm, root int, room device.Buf) (blas.Tile, error) {
	n := m.Rows.length(k)
	t := blas.Tile{Rows: n, Columns: n, Buf: room.Slice(0, n*n)}
	if m.Has(k, k) {
		t = m.Tile(k, k)
	}
	return t, broadcast(among, t.Buf, root)
}

// turned are the adjoints of those tiles of a column panel whose rows are this rank's columns.
// Each rank of a column of the grid has some of these rows, and sends them to the others.
func (s *steps) turned(left *panel) (map[int]blas.Tile, error) {
	g, at := s.a.Grid, 0
	out := map[int]blas.Tile{}
	for row := range g.Rows {
		begin := at
		var err error
		s.a.columns.each(left.from, left.to, func(j int) {
			if err != nil || j%g.Rows != row {
				return
			}
			n := s.a.Columns.length(j)
			t := blas.Tile{Rows: left.across, Columns: n, Buf: s.right.Slice(at, left.across*n)}
			if at += left.across * n; row == g.I {
				err = g.solver.Adjoint(t, left.tile(j))
			}
			out[j] = t
		})
		if err == nil {
			err = broadcast(g.Column, s.right.Slice(begin, at-begin), row)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Solve overwrites the right sides B, one in each column, with the solutions X of A X = B. The
// rows of B are cut as those of A, its columns in any way. It is collective.
func (f *Factor) Solve(ctx context.Context, b *Matrix) error {
	l := f.l
	if b.Grid != l.Grid || b.Type != l.Type || !slices.Equal(b.Rows, l.Rows) {
		return fmt.Errorf("dense: right sides %v do not fit the factor %v, its grid or its cuts", b, l)
	}
	n := l.Rows.Tiles()
	if err := f.sweep(ctx, b, blas.Lower, func(k int) (at, from, to int) { return k, k + 1, n }); err != nil {
		return err
	}
	return f.sweep(ctx, b, blas.LowerAdjoint, func(k int) (at, from, to int) { return n - 1 - k, 0, n - 1 - k })
}

// sweep solves L X = B or Lᵀ X = B. Its step k finds rows at of tiles of X and takes what they
// explain off rows from to to of B.
func (f *Factor) sweep(ctx context.Context, b *Matrix, side blas.Side, step func(k int) (at, from, to int)) error {
	l, g := f.l, f.l.Grid
	factor := Of(l)
	if side == blas.LowerAdjoint {
		factor = Adjoint(l)
	}
	left, err := newPanels(factor, true)
	if err != nil {
		return err
	}
	defer left.free()
	right, err := newPanels(Of(b), false)
	if err != nil {
		return err
	}
	defer right.free()
	n := longest(l.Rows)
	diag, err := g.Device.Alloc(n*n, l.Type)
	if err := comm.Together(g.World, err); err != nil {
		return err
	}
	defer g.Device.Free(diag)
	for i := range l.Rows.Tiles() {
		k, from, to := step(i)
		if err := g.stopped(ctx); err != nil {
			return err
		}
		if err := f.divide(b, side, k, diag); err != nil {
			return err
		}
		x, err := right.fetch(k, 0, b.Columns.Tiles())
		if err != nil {
			return err
		}
		below, err := left.fetch(k, from, to)
		if err != nil {
			return err
		}
		if err := g.Library.Multiply(-1, b.products(below, x)); err != nil {
			return err
		}
	}
	return nil
}

// divide solves with tile k on the diagonal for row k of tiles of B.
func (f *Factor) divide(b *Matrix, side blas.Side, k int, room device.Buf) error {
	g := b.Grid
	if g.I != k%g.Rows {
		return nil
	}
	l, err := f.l.diagonal(k, g.Row, k%g.Columns, room)
	if err != nil {
		return err
	}
	var systems []blas.System
	b.columns.each(0, b.Columns.Tiles(), func(j int) { systems = append(systems, blas.System{L: l, B: b.Tile(k, j)}) })
	return g.solver.Solve(side, systems)
}
