package gpu

import (
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// PlaceBytes is the memory that the table of one place takes on the card.
func PlaceBytes(p *kirchhoff.Problem) int64 {
	tiles, _ := kirchhoff.TileCount(p)
	// The lists of first and last samples of boxes and groups take a few bytes more.
	return tiles * int64(4*kirchhoff.TableMode(p).Row()+8)
}

// Need is the memory that an engine of p takes on the card in all, but for a few lists:
// tables, correlated traces, the image in tiles and its sums, the forward's sums. With
// exact it counts those of exact applications in pieces. The card has so many
// processors.
func Need(p *kirchhoff.Problem, processors int, exact bool) int64 {
	tiles, boxes := kirchhoff.TileCount(p)
	traces, stride := int64(p.NumTraces()), int64(p.NT+3)&^3
	piece := max(traces/mostTracePieces, min(traces, leastTraces))
	need := int64(p.Positions.Len())*PlaceBytes(p) + 8*traces*int64(p.NT) + tiles*simd.TileSize*(4+4) +
		sumBytes(processors, tiles/groupTiles, traces, tiles*simd.TileSize) +
		sumBytes(processors, piece/lanes, boxes, piece*stride)
	if p.Dynamic {
		need += 4 * int64(p.ImageLen())
	}
	if exact {
		need += ahead * 8 * piece * stride
	}
	return need
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
