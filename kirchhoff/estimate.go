package kirchhoff

import (
	"fmt"
	"os"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

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

// StreamTraces are the traces of the largest of the groups that begin at the given ones,
// and the memory that its applications in pieces take.
func (p *Problem) StreamTraces(cuts []int, exact bool) (traces int, pieces int64) {
	q, of := *p, *p.Positions
	q.Positions = &of
	for i := range len(cuts) - 1 {
		traces = max(traces, cuts[i+1]-cuts[i])
		of.Source, of.Receiver = p.Positions.Source[cuts[i]:cuts[i+1]], p.Positions.Receiver[cuts[i]:cuts[i+1]]
		pieces = max(pieces, q.PieceBytes(exact))
	}
	return traces, pieces
}

// RecomputeTraces are the traces of Recompute's largest stretch, where the tables of so
// many bytes are held at a time.
func (p *Problem) RecomputeTraces(tables int64) (traces int) {
	most := p.Positions.Len()
	if per := p.PlaceBytes(); per > 0 {
		most = int(min(tables/per, int64(most)))
	}
	if most == p.Positions.Len() {
		return p.NumTraces()
	}
	eachStretch(p.Positions, most, func(list []int32, _ int) { traces = max(traces, len(list)) })
	return traces
}

// TraceBytes is the memory that the cpu engine takes for traces besides the tables, once
// these are made: the correlated traces, with anti-aliasing in as many bands as they may
// have, and the lists of them.
func (p *Problem) TraceBytes(traces int) int64 {
	pitch := int64(simd.Pitch(p.Bands(), strideOf(p.NT)))
	return (4*pitch + 2*(12+4)) * int64(traces)
}

// ScratchBytes is the memory that the cpu engine takes besides the tables, from before
// they are made: the image in tiles, in both precisions, and each thread's windows. See
// MakingBytes for the tables' making, HeapBytes for what is on Go's heap and PieceBytes
// for applications in pieces.
func (p *Problem) ScratchBytes() int64 {
	tiles, _ := p.tileCount()
	return tiles*simd.TileSize*(4+8) + 4*int64(windowLen(p.Bands(), p.NT))*int64(p.threads())
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

// FieldBytes is the part of MakingBytes that traveltimes take.
func (p *Problem) FieldBytes() int64 { return p.Times.ScratchBytes(false) * int64(p.threads()) }

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

// ISA names the set of kernels that the cpu engine chooses here: avx512, avx2 or
// portable. The environment variable LSM_CPU_ISA forces one; its error is one that this
// processor has not.
func ISA() (string, error) {
	isa, err := chosenISA()
	return isa.String(), err
}

func chosenISA() (simd.ISA, error) {
	isa, err := simd.Parse(os.Getenv("LSM_CPU_ISA"))
	if err != nil {
		err = status.Usage(fmt.Errorf("%w (LSM_CPU_ISA)", err))
	}
	return isa, err
}
