// Package densetest tests distributed dense matrices over any communicator: products, factors
// and solutions agree with gonum, and have the bits of one rank on every grid.
package densetest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
	lib "github.com/kirchhoff-lsm/lsm/device/blas"
	"github.com/kirchhoff-lsm/lsm/dist/dense"
)

// Types are the element types of matrices.
var Types = []device.Type{device.F32, device.F64}

// Tolerance is how far two results of a type may be apart, of their size.
func Tolerance(t device.Type) float64 {
	if t == device.F32 {
		return 3e-6
	}
	return 1e-14
}

// Place says where a rank has its matrices, and by what it multiplies them.
type Place func(rank int) (device.Device, lib.Library)

// Host is host memory with a library of the host, for all ranks.
func Host(l lib.Library) Place {
	return func(int) (device.Device, lib.Library) { return device.NewHost(2), l }
}

// Run runs the suite on worlds of the given sizes, on all grids of each.
func Run(t *testing.T, w commtest.World, p Place, sizes ...int) {
	run(t, w, p, Types, false, sizes)
}

// RunBriefly is Run for some types, and for one grid of each size and one shape, which is ragged:
// for ranks whose messages are slow, such as those that share cores and never sleep.
func RunBriefly(t *testing.T, w commtest.World, p Place, types []device.Type, sizes ...int) {
	run(t, w, p, types, true, sizes)
}

func run(t *testing.T, w commtest.World, p Place, types []device.Type, brief bool, sizes []int) {
	for _, n := range sizes {
		_, l := p(0)
		of := cases
		if _, solves := l.(lib.Solver); !solves {
			of = cases[:1]
		}
		for _, c := range of {
			t.Run(fmt.Sprintf("%d ranks/%s", n, c.name), func(t *testing.T) {
				if err := w(n, func(world comm.Comm) error { return onGrids(world, p, types, brief, c.body) }); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

var cases = []struct {
	name string
	body func(s *Site) error
}{
	{"products", products},
	{"factors and solutions", solutions},
	{"matrices that are not positive definite", notDefinite},
	{"tiles and mirrors", tiles},
}

// Site is a grid, and a grid of only this rank to compare with.
type Site struct {
	Grid, Alone *dense.Grid
	Type        device.Type
	brief       bool
}

// onGrids calls body for all grids of the ranks and some types.
func onGrids(world comm.Comm, p Place, types []device.Type, brief bool, body func(s *Site) error) error {
	d, l := p(world.Rank())
	alone, err := dense.NewGrid(comm.Self(), 1, 1, d, l)
	if err != nil {
		return err
	}
	for rows := 1; rows <= world.Size(); rows++ {
		if square, _ := dense.Shape(world.Size()); world.Size()%rows != 0 || brief && rows != square {
			continue
		}
		g, err := dense.NewGrid(world, rows, world.Size()/rows, d, l)
		if err != nil {
			return err
		}
		for _, t := range types {
			err := body(&Site{g, alone, t, brief})
			if err := comm.Together(world, err); err != nil {
				return fmt.Errorf("%d × %d ranks, %v: %w", g.Rows, g.Columns, t, err)
			}
		}
	}
	return nil
}

// Whole is a matrix in one piece, row after row.
type Whole = blas64.General

// Random is a matrix of random numbers of a type.
func Random(seed uint64, t device.Type, rows, columns int) Whole {
	r := rand.New(rand.NewPCG(seed, 5))
	w := Whole{Rows: rows, Cols: columns, Stride: max(1, columns)}
	w.Data = make([]float64, rows*w.Stride)
	for i := range w.Data {
		w.Data[i] = float64(float32(r.NormFloat64()))
	}
	return w
}

// Definite is a symmetric positive definite matrix.
func Definite(seed uint64, t device.Type, n int) Whole {
	x := Random(seed, t, n, n+3)
	a := Whole{Rows: n, Cols: n, Stride: max(1, n), Data: make([]float64, n*n)}
	blas64.Gemm(blas.NoTrans, blas.Trans, 1/float64(n), x, x, 0, a)
	for i := range n {
		a.Data[i*n+i] = a.Data[i*n+i] + 0.5
	}
	return a
}

// Put fills a tile with the elements of a whole matrix.
func Put(w Whole) dense.Visit {
	return func(r0, r1, c0, c1 int, part device.Buf) error {
		for i := r0; i < r1; i++ {
			for j := c0; j < c1; j++ {
				set(part, (i-r0)*(c1-c0)+j-c0, w.Data[i*w.Stride+j])
			}
		}
		return nil
	}
}

func set(b device.Buf, i int, v float64) {
	if b.Type() == device.F32 {
		device.Slice[float32](b)[i] = float32(v)
		return
	}
	device.Slice[float64](b)[i] = v
}

func get(b device.Buf, i int) float64 {
	if b.Type() == device.F32 {
		return float64(device.Slice[float32](b)[i])
	}
	return device.Slice[float64](b)[i]
}

// matrix is a whole matrix on a grid.
func (s *Site) matrix(g *dense.Grid, w Whole, rows, columns dense.Cuts) (*dense.Matrix, error) {
	m, err := dense.New(g, s.Type, rows, columns)
	if err == nil {
		err = m.Each(Put(w))
	}
	return m, err
}

// near compares a matrix, gathered on rank 0, with what it should be.
func near(m *dense.Matrix, want Whole, tolerance float64) error {
	size := 0.0
	for _, v := range want.Data {
		size = max(size, math.Abs(v))
	}
	seen := 0
	err := m.GatherEach(func(r0, r1, c0, c1 int, part device.Buf) error {
		for i := r0; i < r1; i++ {
			for j := c0; j < c1; j++ {
				seen++
				got, want := get(part, (i-r0)*(c1-c0)+j-c0), want.Data[i*want.Stride+j]
				if !(math.Abs(got-want) <= tolerance*size) {
					return fmt.Errorf("element %d, %d is %v, want %v", i, j, got, want)
				}
			}
		}
		return nil
	})
	if err == nil && m.Grid.World.Rank() == 0 && seen != want.Rows*want.Cols {
		err = fmt.Errorf("%d elements came, want %d", seen, want.Rows*want.Cols)
	}
	return err
}

// sameBits compares the tiles of a matrix with those of one that a rank has alone, or that lies
// on the same grid.
func sameBits(m, alone *dense.Matrix) error {
	return comm.Together(m.Grid.World, sameTiles(m, alone))
}

func sameTiles(m, alone *dense.Matrix) error {
	for i := range m.Rows.Tiles() {
		for j := range m.Columns.Tiles() {
			if !m.Has(i, j) {
				continue
			}
			same, err := sameMemory(m.Tile(i, j).Buf, alone.Tile(i, j).Buf)
			if err != nil {
				return err
			}
			if !same {
				return fmt.Errorf("tile %d, %d has other bits than on one rank", i, j)
			}
		}
	}
	return nil
}

// sameMemory compares two buffers to the bit.
func sameMemory(x, y device.Buf) (bool, error) {
	a, err := comm.ToHost(x)
	if err != nil {
		return false, err
	}
	defer a.Release()
	b, err := comm.ToHost(y)
	if err != nil {
		return false, err
	}
	defer b.Release()
	return string(device.Memory(a.Buf)) == string(device.Memory(b.Buf)), nil
}

// ragged are cuts of n in tiles of many lengths, none included.
func ragged(n int, lengths ...int) dense.Cuts {
	c := dense.Cuts{0}
	for i := 0; c.Len() < n; i++ {
		c = append(c, min(n, c.Len()+lengths[i%len(lengths)]))
	}
	return c
}

// products multiplies in all ways: square, tall and thin, ragged, and with only one tile.
func products(s *Site) error {
	for i, shape := range []struct{ rows, inner, columns dense.Cuts }{
		{dense.Cut(24, 8), dense.Cut(24, 8), dense.Cut(24, 8)},
		{ragged(41, 7, 0, 5, 11), ragged(29, 3, 9, 1), ragged(37, 10, 2)},
		{ragged(67, 5, 6), dense.Cut(3, 2), dense.Cut(2, 8)},
		{dense.Cut(3, 8), ragged(70, 16, 9), dense.Cut(9, 2)},
		{dense.Cut(5, 8), dense.Cut(0, 8), dense.Cut(6, 4)},
		{dense.Cut(135, 130), dense.Cut(67, 66), dense.Cut(132, 129)}, // gonum's threads
	} {
		if i == 5 && s.Type != device.F64 || i != 1 && s.brief {
			continue
		}
		ways := 4
		if _, solves := s.Grid.Library.(lib.Solver); !solves { // adjoints are for those that do
			ways = 1
		}
		for way := range ways {
			if err := s.product(uint64(i), shape.rows, shape.inner, shape.columns, way&1 != 0, way&2 != 0); err != nil {
				return fmt.Errorf("product %d, adjoints %v %v: %w", i, way&1 != 0, way&2 != 0, err)
			}
		}
	}
	return nil
}

func (s *Site) product(seed uint64, rows, inner, columns dense.Cuts, leftAdjoint, rightAdjoint bool) error {
	a, at := Random(seed, s.Type, rows.Len(), inner.Len()), blas.NoTrans
	ar, ac := rows, inner
	if leftAdjoint {
		a, at, ar, ac = Random(seed, s.Type, inner.Len(), rows.Len()), blas.Trans, inner, rows
	}
	b, bt := Random(seed+1, s.Type, inner.Len(), columns.Len()), blas.NoTrans
	br, bc := inner, columns
	if rightAdjoint {
		b, bt, br, bc = Random(seed+1, s.Type, columns.Len(), inner.Len()), blas.Trans, columns, inner
	}
	want := Random(seed+2, s.Type, rows.Len(), columns.Len())
	const alpha, beta = -0.5, 0.25
	multiply := func(g *dense.Grid) (*dense.Matrix, error) {
		x, err := s.matrix(g, a, ar, ac)
		if err != nil {
			return nil, err
		}
		y, err := s.matrix(g, b, br, bc)
		if err != nil {
			return nil, err
		}
		c, err := s.matrix(g, want, rows, columns)
		if err != nil {
			return nil, err
		}
		return c, dense.Multiply(context.Background(), c, alpha, operand(x, leftAdjoint), operand(y, rightAdjoint), beta)
	}
	c, err := multiply(s.Grid)
	if err != nil {
		return err
	}
	one, err := multiply(s.Alone)
	if err != nil {
		return err
	}
	if err := sameBits(c, one); err != nil {
		return err
	}
	blas64.Gemm(at, bt, alpha, a, b, beta, want)
	return near(c, want, Tolerance(s.Type))
}

func operand(m *dense.Matrix, adjoint bool) dense.Operand {
	if adjoint {
		return dense.Adjoint(m)
	}
	return dense.Of(m)
}

// solutions factors and solves with many right sides.
func solutions(s *Site) error {
	for i, cuts := range []dense.Cuts{dense.Cut(1, 8), dense.Cut(32, 8), ragged(43, 7, 0, 5, 11), dense.Cut(70, 64)} {
		if i != 2 && s.brief {
			continue
		}
		n := cuts.Len()
		a, sides := Definite(uint64(i), s.Type, n), ragged(7, 3, 1)
		x := Random(uint64(i)+50, s.Type, n, sides.Len())
		rounded, err := s.matrix(s.Alone, a, cuts, cuts)
		if err == nil {
			err = rounded.Each(take(a)) // what the type holds of it
		}
		if err != nil {
			return err
		}
		want := Whole{Rows: n, Cols: n, Stride: n, Data: append([]float64(nil), a.Data...)}
		cholesky(want)
		b := Whole{Rows: n, Cols: x.Cols, Stride: x.Cols, Data: make([]float64, n*x.Cols)}
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, a, x, 0, b)
		l, c, err := s.solve(s.Grid, a, b, cuts, sides)
		if err != nil {
			return err
		}
		one, d, err := s.solve(s.Alone, a, b, cuts, sides)
		for _, err := range []error{err, sameBits(l, one), sameBits(c, d), near(c, x, 100*Tolerance(s.Type))} {
			if err != nil {
				return fmt.Errorf("solution %d: %w", i, err)
			}
		}
		if err := near(l, want, 10*Tolerance(s.Type)); err != nil {
			return fmt.Errorf("factor %d: %w", i, err)
		}
	}
	return nil
}

// take copies the elements of tiles to a whole matrix.
func take(w Whole) dense.Visit {
	return func(r0, r1, c0, c1 int, part device.Buf) error {
		for i := r0; i < r1; i++ {
			for j := c0; j < c1; j++ {
				w.Data[i*w.Stride+j] = get(part, (i-r0)*(c1-c0)+j-c0)
			}
		}
		return nil
	}
}

// solve returns the factor of a, zeros above the diagonal, and the solutions for b.
func (s *Site) solve(g *dense.Grid, a, b Whole, cuts, sides dense.Cuts) (l, x *dense.Matrix, err error) {
	if l, err = dense.New(g, s.Type, cuts, cuts); err != nil {
		return nil, nil, err
	}
	if err = l.EachLower(Put(a)); err != nil {
		return nil, nil, err
	}
	f, err := dense.Cholesky(context.Background(), l)
	if err != nil {
		return nil, nil, err
	}
	if x, err = s.matrix(g, b, cuts, sides); err != nil {
		return nil, nil, err
	}
	return l, x, f.Solve(context.Background(), x)
}

// cholesky is the textbook's factorisation of a whole matrix.
func cholesky(a Whole) {
	n := a.Rows
	at := func(i, j int) *float64 { return &a.Data[i*a.Stride+j] }
	for j := range n {
		for k := range j {
			for i := j; i < n; i++ {
				*at(i, j) -= *at(i, k) * *at(j, k)
			}
		}
		*at(j, j) = math.Sqrt(*at(j, j))
		for i := range j {
			*at(i, j) = 0
		}
		for i := j + 1; i < n; i++ {
			*at(i, j) /= *at(j, j)
		}
	}
}

// notDefinite expects all ranks to name the first bad pivot.
func notDefinite(s *Site) error {
	const n, bad = 40, 21
	cuts := ragged(n, 7, 0, 5)
	m, err := dense.New(s.Grid, s.Type, cuts, cuts)
	if err != nil {
		return err
	}
	err = m.EachLower(func(r0, r1, c0, c1 int, part device.Buf) error {
		for i := max(r0, c0); i < min(r1, c1); i++ {
			v := 2.0
			if i == bad {
				v = -3
			}
			set(part, (i-r0)*(c1-c0)+i-c0, v)
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = dense.Cholesky(context.Background(), m)
	const want = "dense: the matrix is not positive definite: pivot 21 is -3"
	if err == nil || err.Error() != want {
		return fmt.Errorf("the error is %v, want %s", err, want)
	}
	return nil
}

// tiles fills the lower tiles of a matrix, mirrors them and looks at all.
func tiles(s *Site) error {
	for _, cuts := range []dense.Cuts{dense.Cut(30, 8), ragged(31, 4, 0, 9)} {
		want := Definite(9, s.Type, cuts.Len())
		m, err := dense.New(s.Grid, s.Type, cuts, cuts)
		if err != nil {
			return err
		}
		if err := m.EachLower(lowerOf(want)); err != nil {
			return err
		}
		if err := m.Mirror(); err != nil {
			return err
		}
		if err := near(m, want, Tolerance(s.Type)); err != nil {
			return err
		}
		nothing := Whole{Rows: want.Rows, Cols: want.Cols, Stride: want.Stride, Data: slices.Repeat([]float64{math.NaN()}, len(want.Data))}
		turned, err := s.matrix(s.Grid, nothing, cuts, cuts) // which a product must not read
		if err != nil {
			return err
		}
		one, err := s.matrix(s.Grid, identity(cuts.Len()), cuts, cuts)
		if err != nil {
			return err
		}
		if err := dense.Multiply(context.Background(), turned, 1, dense.Adjoint(m), dense.Of(one), 0); err != nil {
			return err
		}
		if err := sameBits(m, turned); err != nil {
			return fmt.Errorf("the mirrored matrix is not symmetric to the bit: %w", err)
		}
	}
	return nil
}

// lowerOf fills a tile with the elements on and below the diagonal.
func lowerOf(w Whole) dense.Visit {
	lower := Whole{Rows: w.Rows, Cols: w.Cols, Stride: w.Stride, Data: append([]float64(nil), w.Data...)}
	for i := range w.Rows {
		for j := i + 1; j < w.Cols; j++ {
			lower.Data[i*w.Stride+j] = 99
		}
	}
	return Put(lower)
}

func identity(n int) Whole {
	w := Whole{Rows: n, Cols: n, Stride: n, Data: make([]float64, n*n)}
	for i := range n {
		w.Data[i*n+i] = 1
	}
	return w
}
