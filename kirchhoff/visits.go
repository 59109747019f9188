package kirchhoff

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// Visits is about how many combinations of a trace and an image point the kernels of the cpu
// engine go through in one direction. Triples of them count. What an application takes grows
// with Visits:
//
//   - Kernels go through whole tiles.
//   - They take the traces of one source in one cell of receivers (see blocking) together,
//     to every tile at which one of them may count.
//   - Where the forward has a trace in each lane of a register, a cell that is not full takes
//     as long as a full one.
//   - A tile in which the aperture of one of these traces ends takes half as long again.
//
// With several branches, each pairing that has arrivals in a box takes as long as one.
//
// Tiles at which a wave arrives after the record has ended are counted, too, although kernels
// skip them: only traveltimes can tell. See EndCost and TileCost.
func (p *Problem) Visits() (n int64) {
	pos, order, lanes := p.Positions, inRuns(p.Positions, laneCells.receivers), len(p.Antialias) == 0 && p.mode()&simd.Limits == 0
	for at := 0; at < len(order); {
		end := runEnd(pos, order, at, laneCells.receivers)
		traces := end - at
		if lanes && traces >= leastLanes {
			traces = simd.Lanes
		}
		n += int64(traces) * p.tilesOf(order[at:end]) * simd.TileSize
		at = end
	}
	tables := p.expected() * float64(p.branches()) // of a place, in a box
	return int64(float64(n) * tables * tables)
}

// EndCost is how many times longer than another a tile takes in which a record ends, measured
// in 2-D and 3-D with amplitude weights and without: kernels look at each of its points by
// itself.
const EndCost = 6

// TileCost is the time of a tile that a wave crosses in the given samples, relative to the time of
// one that it crosses in 20, measured on grids of 5 to 25 m.
func TileCost(dim int, samples float64) float64 {
	base := 57.0
	if dim == 3 {
		base = 24
	}
	return (base + samples) / (base + 20)
}

// TileSide is how many points a tile of an image has along each axis.
func TileSide(dim int) int {
	if dim == 2 {
		return 8
	}
	return 4
}

// tilesOf is the number of tiles at which a trace may count, with half as many again of those
// in which an aperture ends.
func (p *Problem) tilesOf(traces []int32) int64 {
	lo, hi := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for _, i := range traces {
		for axis, m := range p.middle(p.Positions.Source[i], p.Positions.Receiver[i]) {
			lo[axis], hi[axis] = min(lo[axis], m), max(hi[axis], m)
		}
	}
	shape, tile, _ := gridSides(p.Grid)
	begin, tapers := [3]int{}, p.tapers()
	x := horizontal(0, p.Grid.Dim())
	begin[x], shape[x] = p.slab()
	all, whole := int64(1), int64(1) // and those in which no aperture ends
	for axis, side := range tile {
		first, end := (begin[axis]+side-1)/side, (shape[axis]+side-1)/side
		from, to := first, end
		if axis < len(tapers) && tapers[axis].Rate != 0 {
			t, per := tapers[axis], float64(side)
			edge, flat := float64(t.Edge), float64(t.Flat)
			first = max(first, int(math.Floor((lo[axis]-edge)/per)))
			end = min(end, int(math.Ceil((hi[axis]+edge)/per)))
			from = max(first, int(math.Ceil((hi[axis]-flat)/per)))
			to = min(end, int(math.Floor((lo[axis]+flat+1)/per)))
		}
		all *= int64(max(0, end-first))
		whole *= int64(max(0, to-from))
	}
	return all + (all-whole)/2
}
