package dense

import (
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/blas"
)

// Cuts say where tiles begin and end along one axis of a matrix: tile i is rows, or columns,
// Cuts[i] to Cuts[i+1]. The first is 0, the last the length of the axis. Tiles may differ in
// length and may be empty.
type Cuts []int

// Tile is the usual length of a tile, in elements: long enough for a library to be fast, and
// short enough for the ranks to share out a matrix of some thousands.
const Tile = 128

// Cut cuts n rows into tiles of the given length. The last is the remainder.
func Cut(n, length int) Cuts {
	if length < 1 {
		panic(fmt.Sprintf("dense: tiles of %d rows", length))
	}
	c := Cuts{0}
	for c.Len() < n {
		c = append(c, min(c.Len()+length, n))
	}
	return c
}

// Len is the length of the axis.
func (c Cuts) Len() int { return c[len(c)-1] }

// Tiles is the number of tiles.
func (c Cuts) Tiles() int { return len(c) - 1 }

// Held is the number of elements of the axis that row, or column, first holds in a grid
// with of of them.
func (c Cuts) Held(first, of int) int { return newShare(c, first, of).len() }

func (c Cuts) length(i int) int { return c[i+1] - c[i] }

func (c Cuts) check(axis string) error {
	if len(c) == 0 || c[0] != 0 || !slices.IsSorted(c) {
		return fmt.Errorf("dense: cuts of %s are %v, want numbers from 0 that do not fall", axis, []int(c))
	}
	return nil
}

// Matrix is a dense matrix. Each rank of a grid holds some of its tiles.
type Matrix struct {
	Grid          *Grid
	Rows, Columns Cuts
	Type          device.Type // F32 or F64

	rows, columns share      // of this rank
	buf           device.Buf // its tiles: column of tiles after column of tiles, each from the top
}

// share is the tiles of one axis that a rank holds.
type share struct {
	first, step int
	at          []int // offset of tile first + i·step among the rank's elements of the axis; its length comes last
}

func newShare(c Cuts, first, step int) share {
	s := share{first, step, []int{0}}
	for i := first; i < c.Tiles(); i += step {
		s.at = append(s.at, s.len()+c.length(i))
	}
	return s
}

// len is the number of the rank's elements of the axis.
func (s share) len() int { return s.at[len(s.at)-1] }

// has reports whether the rank holds tile i.
func (s share) has(i int) bool { return i%s.step == s.first }

// offset is where tile i begins, or the first tile after i that the rank holds.
func (s share) offset(i int) int { return s.at[(i-s.first+s.step-1)/s.step] }

// each calls f for the tiles of [from, to) that the rank holds, in order.
func (s share) each(from, to int, f func(i int)) {
	for i := from; i < to; i++ {
		if s.has(i) {
			f(i)
		}
	}
}

// New makes a matrix of zeros. It is collective.
func New(g *Grid, t device.Type, rows, columns Cuts) (*Matrix, error) {
	m := &Matrix{Grid: g, Rows: rows, Columns: columns, Type: t}
	if t == device.I64 {
		return nil, fmt.Errorf("dense: a matrix of %v", t)
	}
	for _, err := range []error{rows.check("rows"), columns.check("columns")} {
		if err != nil {
			return nil, err
		}
	}
	m.rows, m.columns = newShare(rows, g.I, g.Rows), newShare(columns, g.J, g.Columns)
	var err error
	m.buf, err = g.Device.Alloc(m.rows.len()*m.columns.len(), t)
	return m, comm.Together(g.World, err)
}

// Bytes is the memory of the rank with most tiles of such a matrix, in bytes.
func Bytes(t device.Type, rows, columns Cuts, gridRows, gridColumns int) int64 {
	return int64(t.Size()) * int64(newShare(rows, 0, gridRows).len()) * int64(newShare(columns, 0, gridColumns).len())
}

// Free gives m's memory back to its device.
func (m *Matrix) Free() { m.Grid.Device.Free(m.buf) }

func (m *Matrix) String() string {
	return fmt.Sprintf("%v[%d %d]", m.Type, m.Rows.Len(), m.Columns.Len())
}

// Has reports whether this rank holds tile (i, j).
func (m *Matrix) Has(i, j int) bool { return m.rows.has(i) && m.columns.has(j) }

// Tile is tile (i, j), which this rank holds. It shares memory with the matrix.
func (m *Matrix) Tile(i, j int) blas.Tile {
	r, c := m.Rows.length(i), m.Columns.length(j)
	at := m.rows.len()*m.columns.offset(j) + m.rows.offset(i)*c
	return blas.Tile{Rows: r, Columns: c, Buf: m.buf.Slice(at, r*c)}
}

// column is this rank's part of column j of tiles, which it holds. Its tiles follow each other.
func (m *Matrix) column(j int) device.Buf {
	return m.buf.Slice(m.rows.len()*m.columns.offset(j), m.rows.len()*m.Columns.length(j))
}

// Visit is called with a tile: rows rowFirst to rowLast and columns colFirst to colLast, the
// last ones excluded. Its elements are in part, row after row, in host memory: a tile on a card
// is copied there, and back if the visit may change it.
type Visit func(rowFirst, rowLast, colFirst, colLast int, part device.Buf) error

func (m *Matrix) visit(f Visit, i, j int, part device.Buf) error {
	return f(m.Rows[i], m.Rows[i+1], m.Columns[j], m.Columns[j+1], part)
}

// change has f change a tile of this rank.
func (m *Matrix) change(f Visit, i, j int) error {
	c, err := comm.ToHost(m.Tile(i, j).Buf)
	if err != nil {
		return err
	}
	return c.Finish(m.visit(f, i, j, c.Buf))
}

// show has f look at a tile.
func (m *Matrix) show(f Visit, i, j int, part device.Buf) error {
	c, err := comm.ToHost(part)
	if err != nil {
		return err
	}
	defer c.Release()
	return m.visit(f, i, j, c.Buf)
}

// Each calls f with all tiles that this rank holds, which f may change. f must not talk to
// other ranks. An error of one rank is returned on all. It is collective.
func (m *Matrix) Each(f Visit) error { return m.each(f, func(i, j int) bool { return true }) }

// EachLower is Each for the tiles on and below the diagonal of a square matrix with the same
// cuts in rows and columns. Tiles on the diagonal are whole. Mirror fills in the others.
func (m *Matrix) EachLower(f Visit) error {
	if err := m.square(); err != nil {
		return err
	}
	return m.each(f, func(i, j int) bool { return i >= j })
}

func (m *Matrix) each(f Visit, wanted func(i, j int) bool) error {
	var err error
	m.columns.each(0, m.Columns.Tiles(), func(j int) {
		m.rows.each(0, m.Rows.Tiles(), func(i int) {
			if err == nil && wanted(i, j) {
				err = m.change(f, i, j)
			}
		})
	})
	return comm.Together(m.Grid.World, err)
}

// square refuses a matrix whose rows and columns are not cut alike.
func (m *Matrix) square() error {
	if !slices.Equal(m.Rows, m.Columns) {
		return fmt.Errorf("dense: rows and columns of %v are not cut alike", m)
	}
	return nil
}

// GatherEach brings all tiles to rank 0, one at a time: row of tiles after row of tiles, each
// from the left. There f is called with each; part is valid during the call. After an error
// of f, f is not called again, and all ranks return the error. It is collective.
func (m *Matrix) GatherEach(f Visit) error {
	g := m.Grid
	var stage device.Buf
	err := error(nil)
	if g.World.Rank() == 0 && g.World.Size() > 1 {
		stage, err = g.Device.Alloc(longest(m.Rows)*longest(m.Columns), m.Type)
	}
	if err := comm.Together(g.World, err); err != nil {
		return err
	}
	var failed error
	for i := range m.Rows.Tiles() {
		for j := range m.Columns.Tiles() {
			var part device.Buf
			from := g.rank(i, j)
			switch {
			case m.Has(i, j):
				part = m.Tile(i, j).Buf
			case g.World.Rank() == 0:
				part = stage.Slice(0, m.Rows.length(i)*m.Columns.length(j))
			}
			if err := m.toFirst(part, from); err != nil {
				return err
			}
			if g.World.Rank() == 0 && failed == nil {
				failed = m.show(f, i, j, part)
			}
		}
	}
	return comm.Together(g.World, failed)
}

// toFirst sends a tile from the rank that holds it to rank 0.
func (m *Matrix) toFirst(part device.Buf, from int) error {
	switch c := m.Grid.World; {
	case from == 0:
		return nil
	case c.Rank() == 0:
		return c.SendRecv(nil, comm.None, part, from)
	case c.Rank() == from:
		return c.SendRecv(part, 0, nil, comm.None)
	}
	return nil
}

// longest is the length of the longest tile.
func longest(c Cuts) (n int) {
	for i := range c.Tiles() {
		n = max(n, c.length(i))
	}
	return n
}
