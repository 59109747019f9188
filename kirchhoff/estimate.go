package kirchhoff

import "github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"

// PlaceBytes is the memory that the cpu engine's table of one place takes.
func (p *Problem) PlaceBytes() int64 {
	size := int64(4*p.mode().Row()) + 8 // and its span
	if p.Compact {
		size++ // and its shift
	}
	return p.tileCount() * size
}

// ScratchBytes is the memory that the cpu engine takes besides the tables: the
// image in tiles, in both precisions, the correlated traces, and each thread's
// windows.
func (p *Problem) ScratchBytes() int64 {
	stride := int64(p.NT + 3*simd.TileSize)
	return p.tileCount()*simd.TileSize*(4+8+4) +
		4*stride*int64(p.NumTraces()) +
		4*stride*simd.Slots*forwardSources*forwardReceivers*int64(p.threads())
}

func (p *Problem) mode() simd.Mode {
	mode := simd.Space
	switch {
	case !p.Dynamic:
		mode = simd.Static
	case p.Grid.Dim() == 2:
		mode = simd.Plane
	}
	if p.Compact {
		mode += simd.Compact
	}
	return mode
}

// tileCount is the number of tiles that newTiling makes.
func (p *Problem) tileCount() int64 {
	side := int64(8)
	if p.Grid.Dim() == 3 {
		side = 4
	}
	n := int64(1)
	for _, s := range p.Grid.Shape {
		n *= (int64(s) + side - 1) / side
	}
	return n
}

// BestISA names the set of kernels that the cpu engine would choose here.
func BestISA() string { return simd.Best().String() }
