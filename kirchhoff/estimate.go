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

// ScratchBytes is the memory that the cpu engine takes besides the tables: the
// image in tiles, in both precisions, the correlated traces, with anti-aliasing in as
// many bands as they may have, the lists of traces,
// each thread's windows and, for the tables' making, its weights. See FieldBytes for
// the traveltimes and PieceBytes for applications in pieces.
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

func (p *Problem) scratchBytes(traces int64) int64 {
	tiles, _ := p.tileCount()
	threads := int64(p.threads())
	bands := p.Bands()
	pitch := int64(simd.Pitch(bands, strideOf(p.NT)))
	bytes := tiles*simd.TileSize*(4+8+4) +
		(4*pitch+2*(12+4))*traces +
		4*int64(windowLen(bands, p.NT))*threads
	if bands > 1 {
		bytes += 8 * (int64(p.NT)*int64(forwardCells.limit) + int64(p.Grid.Dim()*p.Grid.Len())) * threads
	}
	if p.Directed() {
		fields := int64(4) // amplitude, angle, gradient; or amplitude, gradient
		bytes += 8 * fields * int64(p.Grid.Len()) * threads
	}
	if p.Dynamic {
		bytes += 4 * int64(p.ImageLen())
	}
	return bytes
}

// FieldBytes is the memory that computing the traveltimes takes while the tables are
// made: what the method says, or a field for each thread.
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
