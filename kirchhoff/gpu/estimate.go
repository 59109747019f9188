package gpu

import (
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// PlaceBytes is the memory that the table of one place takes on the card.
func PlaceBytes(p *kirchhoff.Problem) int64 {
	tiles := kirchhoff.TileCount(p)
	// The lists of first and last samples of boxes and groups take a few bytes more.
	return tiles * int64(4*kirchhoff.TableMode(p).Row()+8)
}

// Need is the memory that an engine of p takes on the card in all, but for a few lists:
// tables, correlated traces, the image in tiles and its sums, the forward's sums. With
// exact it counts those of exact applications in pieces.
func Need(p *kirchhoff.Problem, exact bool) int64 {
	tiles := kirchhoff.TileCount(p)
	traces, stride := int64(p.NumTraces()), int64(p.NT+3)&^3
	piece := max(traces/mostTracePieces, min(traces, leastTraces))
	need := int64(p.Positions.Len())*PlaceBytes(p) + 8*traces*int64(p.NT) + tiles*simd.TileSize*(4+8+4) +
		8*piece*stride + PartBytes
	if p.Dynamic {
		need += 4 * int64(p.ImageLen())
	}
	if exact {
		need += ahead * 8 * piece * stride
	}
	return need
}
