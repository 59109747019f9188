package gpu

import "github.com/kirchhoff-lsm/lsm/kirchhoff"

// Needs is the memory that an engine of p takes: its tables and, as Scratch, all else on a
// card of so many processors; Making is on the host. Of w it looks at
// Exact. It runs the code that allocates, without memory.
func Needs(p *kirchhoff.Problem, w kirchhoff.Work, processors int) kirchhoff.Need {
	host := kirchhoff.Needs(p, kirchhoff.Work{})
	e := layout(kirchhoff.Outline(p), processors)
	// The fewer blocks, the more parts: there is at least one for as many traces.
	e.allocate(e.ntrace, (e.longestPiece()+lanes-1)/lanes)
	e.bytes += 4*groupTiles*int64(e.firstGroup[len(e.plan.Boxes)]) + listBytes*int64(e.ntrace) + 4<<10
	n := kirchhoff.Need{Place: placeBytes(e.plan)}
	n.Tables = n.Place * int64(p.Positions.Len())
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

// listBytes is what lists take for a trace, where blocks are half full.
const listBytes = 40

// placeBytes is the memory of the table of one place on the card. The first and last
// samples of its boxes and groups take a few bytes more.
func placeBytes(l *kirchhoff.Plan) int64 { return int64(l.Tiles) * int64(4*l.Layout().Words+8) }

// partBytes bounds the memory for sums of more than one part.
const partBytes = 1 << 29

// parts is how many parts work on the same sums, so that a card of so many processors is
// busy: blocks is what one part launches, most the pieces that the work can be cut into,
// sums the number of float64 that each part needs.
func parts(processors, blocks, most, sums int) int {
	if blocks == 0 || sums == 0 {
		return 1
	}
	return max(1, min(most, 8*processors/blocks, partBytes/(8*sums)))
}
