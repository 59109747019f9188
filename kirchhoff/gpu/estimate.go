package gpu

import (
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// Needs is the memory that an engine of p takes: its tables and, as Scratch, all else on a
// card of so many processors, but for a few lists; Making is on the host. Of w it looks at
// Exact.
func Needs(p *kirchhoff.Problem, w kirchhoff.Work, processors int) kirchhoff.Need {
	n := kirchhoff.Needs(p, kirchhoff.Work{})
	l := kirchhoff.Outline(p)
	tiles, boxes := int64(l.Tiles), int64(len(l.Boxes))
	traces, stride := int64(p.NumTraces()), int64(p.NT+3)&^3
	piece := max(traces/mostTracePieces, min(traces, leastTraces))
	// The lists of first and last samples of boxes and groups take a few bytes more.
	n.Place = tiles * int64(4*l.Layout().Words+8)
	n.Tables = n.Place * int64(p.Positions.Len())
	n.AllTables = n.Tables
	n.Scratch = 8*traces*int64(p.NT) + tiles*simd.TileSize*(4+4) +
		sumBytes(processors, tiles/groupTiles, traces, tiles*simd.TileSize) +
		sumBytes(processors, piece/lanes, boxes, piece*stride)
	if p.Dynamic {
		n.Scratch += 4 * int64(p.ImageLen())
	}
	if w.Exact {
		n.Pieces = ahead * 8 * piece * stride
		n.Scratch += n.Pieces
	}
	n.Traces, n.Heap = 0, 0
	return n
}

// sumBytes is the most that the sums of a direction take, see parts.
func sumBytes(processors int, blocks, most, sums int64) int64 {
	return 8 * sums * partsOf(processors, max(1, blocks), max(1, most), sums)
}

// partBytes bounds the memory for sums of more than one part.
const partBytes = 1 << 29

// partsOf is how many parts work on the same sums, so that a card of so many processors
// is busy: blocks is what one part launches, most the pieces that the work can be cut
// into, sums the number of float64 that each part needs.
func partsOf(processors int, blocks, most, sums int64) int64 {
	if blocks == 0 || sums == 0 {
		return 1
	}
	busy := int64(8 * processors)
	return max(1, min(most, busy/blocks, partBytes/(8*sums)))
}
