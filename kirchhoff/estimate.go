package kirchhoff

import "github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"

// PlaceBytes is the memory that the cpu engine's table of one place takes.
func (p *Problem) PlaceBytes() int64 {
	tiles, boxes := p.tileCount()
	size := int64(4*p.mode().Row()) + 8 // and its span
	if p.Compact {
		size++ // and its shift
	}
	if p.Bands() > 1 {
		return tiles*(size+4) + 16*boxes // and its reach and slopes
	}
	return tiles*size + 8*boxes // and its reach
}

// ScratchBytes is the memory that the cpu engine takes besides the tables: the
// image in tiles, in both precisions, the correlated traces, with anti-aliasing in as
// many bands as they may have, the lists of traces and each thread's windows. See
// MakingBytes for the tables' making, HeapBytes for what is on Go's heap and PieceBytes
// for applications in pieces.
func (p *Problem) ScratchBytes() int64 { return p.scratchBytes(int64(p.NumTraces())) }

// StreamBytes is what Stream takes besides the tables where no group has more than the
// given number of traces.
func (p *Problem) StreamBytes(traces int64, exact bool) int64 {
	size := int64(4)
	if exact {
		size = 8
	}
	return p.scratchBytes(traces) + size*traces*int64(p.NT)
}

// RecomputeBytes is ScratchBytes of Recompute where the tables of so many bytes are held
// at a time: it lists and correlates the traces of one stretch.
func (p *Problem) RecomputeBytes(tables int64) int64 {
	most := p.Positions.Len()
	if per := p.PlaceBytes(); per > 0 {
		most = int(min(tables/per, int64(most)))
	}
	longest := 0
	eachStretch(p.Positions, most, func(traces []int32, _ int) { longest = max(longest, len(traces)) })
	return p.scratchBytes(int64(longest))
}

func (p *Problem) scratchBytes(traces int64) int64 {
	tiles, _ := p.tileCount()
	bands := p.Bands()
	pitch := int64(simd.Pitch(bands, strideOf(p.NT)))
	return tiles*simd.TileSize*(4+8) + (4*pitch+2*(12+4))*traces + 4*int64(windowLen(bands, p.NT))*int64(p.threads())
}

// HeapBytes is what the cpu engine has on Go's heap: the points of the tiles, with
// Dynamic the image's share of the weights, with anti-aliasing each thread's sums.
func (p *Problem) HeapBytes() int64 {
	tiles, _ := p.tileCount()
	bytes := 4 * tiles * simd.TileSize
	if p.Dynamic {
		bytes += 4 * int64(p.ImageLen())
	}
	if p.Bands() > 1 {
		bytes += 8 * int64(p.NT) * int64(forwardCells.limit) * int64(p.threads())
	}
	return bytes
}

// MakingBytes is the memory that the cpu engine takes while tables are made: each
// thread's traveltimes, for which the method says what it needs, and what weights and
// anti-aliasing derive from them.
func (p *Problem) MakingBytes() int64 {
	n := int64(p.Grid.Len())
	bytes := p.FieldBytes()
	if p.Bands() > 1 {
		bytes += 8 * int64(p.Grid.Dim()) * n * int64(p.threads())
	}
	if p.Directed() {
		bytes += 8 * 4 * n * int64(p.threads()) // amplitude, gradient and, in 2-D, angle
	}
	return bytes
}

// FieldBytes is the part of MakingBytes that traveltimes take: what the method says, or
// a field for each thread.
func (p *Problem) FieldBytes() int64 {
	each := 8 * int64(p.Grid.Len())
	if m, ok := p.Times.(interface{ ScratchBytes(gradient bool) int64 }); ok {
		each = m.ScratchBytes(false)
	}
	return each * int64(p.threads())
}

// PieceBytes is the memory that applications in pieces (dist.Pieced) take besides.
func (p *Problem) PieceBytes(exact bool) int64 {
	size := int64(4)
	if exact {
		size = 8
	}
	return size * int64(p.ringLen())
}

// LeastPlaces is the number of places whose tables Recompute needs at a time: the
// two of a trace, or with exact sums those of a run.
func (p *Problem) LeastPlaces(exact bool) int {
	if exact {
		return min(1+int(adjointCells.receivers), p.Positions.Len())
	}
	return 2
}

func (p *Problem) mode() simd.Mode {
	mode := simd.Space
	switch {
	case !p.Directed():
		mode = simd.Static
	case p.Grid.Dim() == 2:
		mode = simd.Plane
	}
	if p.aperture() {
		mode += simd.Aperture
	}
	if p.Compact {
		mode += simd.Compact
	}
	return mode
}

// tileCount is the number of tiles and boxes that newTiling makes.
func (p *Problem) tileCount() (tiles, boxes int64) {
	side, super := int64(8), int64(8)
	if p.Grid.Dim() == 3 {
		side, super = 4, 4
	}
	tiles, boxes = 1, 1
	for a, n := range p.Grid.Shape {
		if a == 0 {
			lo, hi := p.slab()
			n = hi - lo
		}
		tiles *= (int64(n) + side - 1) / side
		boxes *= (int64(n) + side*super - 1) / (side * super)
	}
	return tiles, boxes
}

// BestISA names the set of kernels that the cpu engine would choose here.
func BestISA() string { return simd.Best().String() }
