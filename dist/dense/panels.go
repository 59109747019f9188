package dense

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/blas"
)

// Operand is a matrix as a factor of a product.
type Operand struct {
	*Matrix
	adjoint bool
}

// Of is the matrix itself.
func Of(m *Matrix) Operand { return Operand{m, false} }

// Adjoint is the transpose of a matrix.
func Adjoint(m *Matrix) Operand { return Operand{m, true} }

// shape is the cuts of the operand's rows and columns.
func (o Operand) shape() (rows, columns Cuts) {
	if o.adjoint {
		return o.Columns, o.Rows
	}
	return o.Rows, o.Columns
}

// panel is tiles from to to of one column, or of one row, of a product's factor: those that a
// rank needs. They follow each other.
type panel struct {
	of       share
	cuts     Cuts // along the panel
	from, to int
	across   int // elements across it
	column   bool
	buf      device.Buf
}

// len is the number of elements.
func (p *panel) len() int { return (p.of.offset(p.to) - p.of.offset(p.from)) * p.across }

func (p *panel) tile(i int) blas.Tile {
	n := p.cuts.length(i)
	buf := p.buf.Slice((p.of.offset(i)-p.of.offset(p.from))*p.across, n*p.across)
	if p.column {
		return blas.Tile{Rows: n, Columns: p.across, Buf: buf}
	}
	return blas.Tile{Rows: p.across, Columns: n, Buf: buf}
}

// panels brings panels of an operand to the ranks that multiply with them.
type panels struct {
	Operand
	column bool // columns of tiles, for the rows of the grid; otherwise rows of tiles, for its columns
	of     share
	along  Cuts // of the panels
	each   Cuts // one panel for each tile of it
	buf    [2]device.Buf
	mover  *mover // for adjoints
}

// newPanels makes room for two columns, or rows, of tiles.
func newPanels(o Operand, column bool) (*panels, error) {
	rows, columns := o.shape()
	g := o.Grid
	p := &panels{Operand: o, column: column}
	if column {
		p.of, p.along, p.each = newShare(rows, g.I, g.Rows), rows, columns
	} else {
		p.of, p.along, p.each = newShare(columns, g.J, g.Columns), columns, rows
	}
	var err error
	for i := range p.buf {
		if err == nil {
			p.buf[i], err = g.Device.Alloc(p.of.len()*longest(p.each), o.Type)
		}
	}
	if err = comm.Together(g.World, err); err == nil && o.adjoint {
		p.mover, err = newMover(g, o.Type, longest(rows)*longest(columns))
	}
	return p, err
}

func (p *panels) free() {
	for _, b := range p.buf {
		p.Grid.Device.Free(b)
	}
	if p.mover != nil {
		p.mover.free()
	}
}

// route is the ranks that share panel k, and which of them has it.
func (p *panels) route(k int) (among comm.Comm, root int) {
	if p.column {
		return p.Grid.Row, k % p.Grid.Columns
	}
	return p.Grid.Column, k % p.Grid.Rows
}

// collect brings tiles from to to of panel k to the ranks that send them on, and finds room for
// them on the others. After it the panel is to be broadcast along its route.
func (p *panels) collect(k, from, to int) (*panel, error) {
	out := &panel{of: p.of, cuts: p.along, from: from, to: to, across: p.each.length(k), column: p.column}
	among, root := p.route(k)
	mine := among.Rank() == root
	if p.column && !p.adjoint && mine { // they follow each other in the matrix
		out.buf = p.Matrix.column(k).Slice(p.of.offset(from)*out.across, out.len())
		return out, nil
	}
	out.buf = p.buf[k%2].Slice(0, out.len())
	var err error
	switch {
	case p.adjoint:
		err = p.turn(out, k, mine)
	case mine:
		p.of.each(from, to, func(j int) {
			if err == nil {
				err = p.Grid.Device.Copy(out.tile(j).Buf, p.Tile(k, j).Buf)
			}
		})
	}
	return out, err
}

// turn moves the tiles of a panel of an adjoint from where the matrix has them.
func (p *panels) turn(out *panel, k int, mine bool) error {
	for i := out.from; i < out.to; i++ {
		row, column := k, i // of the tile in the matrix
		if !p.column {
			row, column = i, k
		}
		var to, from blas.Tile
		if mine && p.of.has(i) {
			to = out.tile(i)
		}
		if p.Has(row, column) {
			from = p.Tile(row, column)
		}
		p.mover.move(to, p.Grid.rank(column, row), from, p.Grid.rank(row, column))
	}
	return p.mover.err
}

// fetch collects a panel and broadcasts it.
func (p *panels) fetch(k, from, to int) (*panel, error) {
	out, err := p.collect(k, from, to)
	if err != nil {
		return nil, err
	}
	among, root := p.route(k)
	return out, broadcast(among, out.buf, root)
}

// broadcast sends x from the root to all ranks, unless there is nothing to send.
func broadcast(c comm.Comm, x device.Buf, root int) error {
	if c.Size() == 1 || x.Len() == 0 {
		return nil
	}
	return c.Bcast(x, root)
}

// stopped is the error of the context of any rank. It is collective.
func (g *Grid) stopped(ctx context.Context) error {
	stop, err := comm.Any(g.World, ctx.Err() != nil)
	if err == nil && stop {
		err = comm.Together(g.World, ctx.Err())
	}
	return err
}
