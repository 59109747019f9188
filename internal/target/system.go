package target

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist/dense"
	"github.com/kirchhoff-lsm/lsm/grid"
)

// gram adds AᵀW²A, summed over all traces, to dst: rows [rows[0], rows[1]) and columns
// [columns[0], columns[1]), row after row.
type gram func(ctx context.Context, dst []float64, rows, columns [2]int) error

// points are the rows of H.
type points struct {
	box   grid.Grid
	at    []int      // the point of the box that each row is
	cuts  dense.Cuts // where rows are cut into tiles
	scale []float64  // the diagonal of S
}

// system is H = S AᵀW²A S + λ² over the points of a box of the image, over all ranks.
type system struct {
	points
	grid   *dense.Grid
	h      *dense.Matrix
	square float64       // λ²
	factor *dense.Factor // of h, which it overwrites; nil before
}

// newSystem fills H. Each tile on and below the diagonal is computed once. done is called with
// the number of elements of each. It is collective.
func newSystem(ctx context.Context, g *dense.Grid, of points, square float64, data gram, done func(elements int)) (*system, error) {
	s, scale := &system{points: of, grid: g, square: square}, of.scale
	var err error
	if s.h, err = dense.New(g, device.F64, s.cuts, s.cuts); err != nil {
		return nil, err
	}
	err = s.h.EachLower(func(r0, r1, c0, c1 int, part device.Buf) error {
		dst := device.Slice[float64](part)
		if err := data(ctx, dst, [2]int{r0, r1}, [2]int{c0, c1}); err != nil {
			return err
		}
		for i := r0; i < r1; i++ {
			row := dst[(i-r0)*(c1-c0):][:c1-c0]
			for j := range row {
				row[j] *= scale[i] * scale[c0+j]
			}
			if i >= c0 && i < c1 {
				row[i-c0] += square
			}
		}
		done(len(dst))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, s.h.Mirror()
}

// columns makes a matrix of n rows cut as H and k columns, filled by f on the ranks that hold
// each element. It is collective.
func (s *system) columns(k int, f func(i, j int) float64) (*dense.Matrix, error) {
	m, err := dense.New(s.grid, device.F64, s.cuts, dense.Cut(k, dense.Tile))
	if err != nil {
		return nil, err
	}
	return m, m.Each(func(r0, r1, c0, c1 int, part device.Buf) error {
		dst := device.Slice[float64](part)
		for i := r0; i < r1; i++ {
			for j := c0; j < c1; j++ {
				dst[(i-r0)*(c1-c0)+j-c0] = f(i, j)
			}
		}
		return nil
	})
}

// gathered are the columns of a matrix on rank 0, nil on the others. It is collective.
func gathered(m *dense.Matrix) (columns [][]float64, err error) {
	if m.Grid.World.Rank() == 0 {
		for range m.Columns.Len() {
			columns = append(columns, make([]float64, m.Rows.Len()))
		}
	}
	return columns, m.GatherEach(func(r0, r1, c0, c1 int, part device.Buf) error {
		src := device.Slice[float64](part)
		for i := r0; i < r1; i++ {
			for j := c0; j < c1; j++ {
				columns[j][i] = src[(i-r0)*(c1-c0)+j-c0]
			}
		}
		return nil
	})
}

// broadcast gives all ranks what rank 0 has. It is collective.
func broadcast(world comm.Comm, v []float64) ([]float64, error) {
	if world.Size() == 1 {
		return v, nil
	}
	if world.Rank() != 0 {
		v = nil
	}
	all, err := comm.GatherJSON(world.Host().AllGather, v)
	if err != nil {
		return v, err
	}
	return all[0], nil
}

// factorize replaces H by its Cholesky factor.
func (s *system) factorize(ctx context.Context) (err error) {
	s.factor, err = dense.Cholesky(ctx, s.h)
	return err
}

// solve is H⁻¹ times columns given by f, on rank 0. It is collective.
func (s *system) solve(ctx context.Context, k int, f func(i, j int) float64) ([][]float64, error) {
	m, err := s.columns(k, f)
	if err != nil {
		return nil, err
	}
	defer m.Free()
	if err := s.factor.Solve(ctx, m); err != nil {
		return nil, err
	}
	return gathered(m)
}
