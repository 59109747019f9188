package dense

import (
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/blas"
)

// Mirror completes a matrix whose tiles on and below the diagonal are known. Tile (J, I)
// becomes the transpose of tile (I, J), and within tiles on the diagonal the upper
// triangle that of the lower. The matrix is then symmetric to the bit. It is collective.
func (m *Matrix) Mirror() error {
	if err := m.square(); err != nil {
		return err
	}
	v, err := newMover(m.Grid, m.Type, longest(m.Rows)*longest(m.Columns))
	if err != nil {
		return err
	}
	defer v.free()
	for i := range m.Rows.Tiles() {
		if m.Has(i, i) {
			v.mirrorWithin(m.Tile(i, i))
		}
		for j := range i {
			var from, to blas.Tile
			if m.Has(i, j) {
				from = m.Tile(i, j)
			}
			if m.Has(j, i) {
				to = m.Tile(j, i)
			}
			v.move(to, m.Grid.rank(j, i), from, m.Grid.rank(i, j))
		}
	}
	return v.err
}

// mover moves tiles from rank to rank and transposes them on the way. Err is the first error.
type mover struct {
	g     *Grid
	stage device.Buf // for one tile
	err   error
}

// newMover makes a mover for tiles of up to most elements.
func newMover(g *Grid, t device.Type, most int) (*mover, error) {
	if err := g.needSolver(); err != nil {
		return nil, err
	}
	stage, err := g.Device.Alloc(most, t)
	return &mover{g: g, stage: stage}, comm.Together(g.World, err)
}

func (v *mover) free() { v.g.Device.Free(v.stage) }

// move sets a tile of one rank to the transpose of a tile of another. All ranks call
// it for the same tiles in the same order, so that no two wait for each other. Ranks that do
// not hold a tile pass an empty one.
func (v *mover) move(to blas.Tile, receiver int, from blas.Tile, sender int) {
	if v.err != nil {
		return
	}
	switch c := v.g.World; c.Rank() {
	case sender:
		if receiver == sender {
			v.err = v.g.solver.Adjoint(to, from)
			return
		}
		turned := v.adjoint(from)
		if v.err == nil {
			v.err = c.SendRecv(turned.Buf, receiver, nil, comm.None)
		}
	case receiver:
		v.err = c.SendRecv(nil, comm.None, to.Buf, sender)
	}
}

// adjoint is the transpose of a tile, valid until the next.
func (v *mover) adjoint(t blas.Tile) blas.Tile {
	out := blas.Tile{Rows: t.Columns, Columns: t.Rows, Buf: v.stage.Slice(0, t.Rows*t.Columns)}
	v.err = v.g.solver.Adjoint(out, t)
	return out
}

// mirrorWithin sets the upper triangle of a square tile.
func (v *mover) mirrorWithin(t blas.Tile) {
	if v.err != nil {
		return
	}
	turned, n := v.adjoint(t), t.Rows
	for i := range n {
		if at := i*n + i + 1; v.err == nil {
			v.err = v.g.Device.Copy(t.Buf.Slice(at, n-i-1), turned.Buf.Slice(at, n-i-1))
		}
	}
}
