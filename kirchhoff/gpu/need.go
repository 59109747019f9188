package gpu

import "github.com/kirchhoff-lsm/lsm/kirchhoff"

// Needs returns the memory that an engine of p takes for w. Tables and Scratch are on a card
// with the given number of processors; Making is on the host. It runs the code that
// allocates, on buffers that only count.
func Needs(p *kirchhoff.Problem, w kirchhoff.Work, processors int) (n kirchhoff.Need) {
	e, err := outline(kirchhoff.Outline(p), p, w, processors)
	if err != nil {
		return n // New will tell
	}
	e.allocate()
	e.put()
	all := false
	for _, m := range e.images {
		if m.Rows == nil && all {
			continue // kernels of all traces share lists
		}
		all = all || m.Rows == nil
		newKernel(e, m)
		each := int64(listBytes)
		if m.Rows != nil {
			each = apartBytes
		}
		e.bytes += each*e.plan.Of(m.Own).Pairs() + 4<<10
	}
	n.Place, n.Tables = e.placeBytes(), e.TableBytes()
	n.AllTables = n.Tables
	before := e.bytes
	if w.Exact {
		e.makeRing(true)
	}
	n.Pieces = e.bytes - before
	n.Scratch = e.bytes - n.Tables
	host := kirchhoff.Needs(p, kirchhoff.Work{})
	n.Making = host.Making + int64(max(1, p.Threads))*host.Place
	return n
}

// placeBytes is the memory of the tables of the place that has most, on the card.
func (e *Engine) placeBytes() int64 {
	return int64(mostRows(e.tables.columns, e.plan.Problem.Positions.Len())) * e.rowBytes()
}

// listBytes is the memory of the lists for one trace in one column, if blocks are half full.
// The traces of a class may lie apart: apartBytes is for a trace alone in its run.
const listBytes, apartBytes = 40, 150

// rowBytes is the memory of a place's table for one tile on the card. The first and last
// samples of boxes and groups take a few bytes more.
func (e *Engine) rowBytes() int64 {
	if e.layout.Bands > 1 {
		return int64(4*e.layout.Words + 12)
	}
	return int64(4*e.layout.Words + 8)
}

// partBytes bounds the memory of sums that have more than one part.
const partBytes = 1 << 29

// parts returns how many parts should work on the same sums to keep a card with the given
// number of processors busy. blocks is the number of blocks that one part launches, most
// the number of pieces that the work can be cut into, and sums the number of float64
// values that each part needs.
func parts(processors, blocks, most, sums int) int {
	if blocks == 0 || sums == 0 {
		return 1
	}
	return max(1, min(most, 8*processors/blocks, partBytes/(8*sums)))
}
