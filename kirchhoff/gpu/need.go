package gpu

import "github.com/kirchhoff-lsm/lsm/kirchhoff"

// Needs returns the memory that an engine of p takes. Tables and Scratch are on a card
// with the given number of processors; Making is on the host. Of w it uses Exact and Whole. It
// runs the code that allocates, on buffers that only count.
func Needs(p *kirchhoff.Problem, w kirchhoff.Work, processors int) kirchhoff.Need {
	host := kirchhoff.Needs(p, kirchhoff.Work{})
	e := outline(kirchhoff.Outline(p), w, processors)
	// Fewer blocks mean more parts. There is at least one block for every "lanes" traces.
	e.allocate(e.ntrace, (e.longestPiece()+lanes-1)/lanes)
	e.bytes += 4*int64(len(e.groupList)) + listBytes*e.plan.Pairs() + 4<<10
	if e.layout.Aperture > 0 {
		e.narrow(&operator{})
	}
	n := kirchhoff.Need{Place: int64(most(e.columns, p.Positions.Len())) * e.rowBytes(), Tables: e.TableBytes()}
	n.AllTables = n.Tables
	before := e.bytes
	if w.Exact {
		e.makeRing(true)
	}
	n.Pieces = e.bytes - before
	n.Scratch = e.bytes - n.Tables
	n.Making = host.Making + int64(max(1, p.Threads))*host.Place
	return n
}

// listBytes is the memory of the lists for one trace in one column, if blocks are half full.
const listBytes = 40

// rowBytes is the memory of a place's table for one tile on the card. The first and last
// samples of boxes and groups take a few bytes more.
func (e *Engine) rowBytes() int64 {
	if e.layout.Compact {
		return int64(4*e.layout.Words + 8)
	}
	return int64(4 * e.layout.Words)
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
