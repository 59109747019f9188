package gpu

import "github.com/kirchhoff-lsm/lsm/kirchhoff"

// Needs returns the memory that an engine of p takes for w. Tables and Scratch are on a card
// with the given number of processors. OnCard is there too, and is free again before Pieces are
// taken; if tables are recomputed, Scratch includes it. Making is on the host. It runs the code that
// allocates, on buffers that only count. A Budget below the least possible one counts as that.
func Needs(p *kirchhoff.Problem, w kirchhoff.Work, processors int) (n kirchhoff.Need) {
	e := outline(kirchhoff.Outline(p), w, processors)
	n.Place = e.placeBytes()
	w.Budget = max(w.Budget, int64(p.LeastPlaces(w.Exact))*n.Place)
	if err := e.cutUnits(p, w); err != nil {
		return n // New will tell
	}
	e.allocate()
	e.put()
	e.countLists()
	n.Tables = e.TableBytes()
	n.AllTables = int64(e.tables.held.rows) * e.geometry.rowBytes()
	before := e.buffers.bytes
	e.makeRing(w.Exact)
	n.Pieces = e.buffers.bytes - before
	n.Scratch = e.buffers.bytes - n.Tables
	if e.geometry.plan.Tiles == 0 {
		return n
	}
	if making := makingBytes(e, p); w.Remake {
		n.Scratch += making
	} else {
		n.OnCard = making
	}
	places, opt := p.TimesNeeded()
	n.Making = int64(max(1, p.Threads)) * (p.Times.ScratchBytes(p.Positions, places, opt) + kirchhoff.AmplitudeBytes(p)) // if the host solves
	return n
}

// countLists counts the lists of all images whose tables are kept, or of the largest unit.
func (e *Engine) countLists() {
	all, most := false, int64(0)
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
		if !e.adds() {
			e.buffers.bytes += each*e.geometry.plan.Of(m.Own).Pairs() + 4<<10
			continue
		}
		for _, u := range m.Units {
			p, _ := m.Part(u)
			most = max(most, 2*each*e.geometry.plan.Of(p).Pairs()+16<<10) // lengths are rounded up
		}
	}
	e.buffers.bytes += most
}

// placeBytes is the memory of the tables of the place that has most, on the card.
func (e *Engine) placeBytes() int64 {
	return int64(e.tables.mostHeld(e.geometry.plan.Problem.Positions.Len()).rows) * e.geometry.rowBytes()
}

// listBytes is the memory of the lists for one trace in one column, if blocks are half full.
// The traces of a class may lie apart: apartBytes is for the only trace of a run.
const listBytes, apartBytes = 40, 150

// rowBytes is the memory of a place's table for one tile on the card. The first and last
// samples of boxes and groups take a few bytes more.
func (g *geometry) rowBytes() int64 {
	bytes := int64(4 * g.layout.Words)
	if g.layout.Bands > 1 {
		bytes += 4
	}
	return bytes
}

// partBytes bounds the memory of sums that have more than one part, for each processor of the
// card: 2 GiB on an H100, a fortieth of its memory.
const partBytes = 16 << 20

// parts returns how many parts should work on the same sums to keep a card with the given
// number of processors busy. blocks is the number of blocks that one part launches, most
// the number of pieces that the work can be cut into, and sums the number of float64
// values that each part needs.
func parts(processors, blocks, most, sums int) int {
	if blocks == 0 || sums == 0 {
		return 1
	}
	return max(1, min(most, 8*processors/blocks, processors*partBytes/(8*sums)))
}
