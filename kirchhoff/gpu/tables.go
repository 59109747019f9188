package gpu

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// The tables on the card.
//
// The table of a place in a tile is a row of Layout.Words words: four bunches of 16 points
// that follow each other. A bunch holds the times of its points and then the points' values
// of each field of the weights, 16 words each. So what a kernel stages of a place lies in
// one piece of memory, and is copied as it is.
//
// A time is an unsigned number of 32 bits in units of 2^-bits sample (see fractionBits),
// rounded to the nearest, relative to base: the first whole sample that the place reaches
// in the tile's half of a box (see halves). It is below 2^31. Without weights NEVER, 2^32 − 1, stands for a
// time that does not count. With weights such a point has time 0 and all fields 0: the forward adds
// nothing for it, to a sample that the half reaches.
//
// groups [place][group] says where times lie, see struct Reach of times.cu.

// mostBits and leastBits bound the number of bits of a time behind the point: sums of two
// have 32 bits, their fraction must fit in a float32, and resolve a thousandth of a sample.
const mostBits, leastBits = 23, 11

// fractionBits is the number of bits of a time behind the point, as large as times that may
// lie far apart in a box allow. It depends only on what all ranks know, since results
// depend on it. Times that count lie on the record; and since rays are straight or faster,
// those of two points of a box in depth differ by at most what the slowest velocity needs. A
// tenth is added for times that are computed.
func fractionBits(p *kirchhoff.Problem) int {
	apart := float64(p.NT) + max(p.T0, 0)/p.DT
	if p.Slowest > 0 && p.Grid.Domain == grid.Depth {
		square := 0.0
		for a, n := range p.Grid.Shape {
			side := float64(min(n, kirchhoff.SlabPoints(p.Grid.Dim()))-1) * p.Grid.Spacing[a]
			square += side * side
		}
		apart = min(apart, 1.1*math.Sqrt(square)/(p.Slowest*p.DT))
	}
	bits := mostBits
	for bits > leastBits && apart+2 > farthest(bits) {
		bits--
	}
	return bits
}

// farthest is the largest distance, in samples, of a time from the first of its box.
func farthest(bits int) float64 { return math.Ldexp(1, 31-bits) - 1 }

// groups lists the tiles of the groups of a box, [group][groupTiles], −1 for tiles beyond
// the box. A group has 2×4 tiles in 2-D, z last, or 2×2×2 in 3-D.
func groups(b kirchhoff.Box, dim int) (tiles []int32) {
	size := [3]int{1, 2, 4}
	if dim == 3 {
		size = [3]int{2, 2, 2}
	}
	var at [3]int
	for at[0] = 0; at[0] < b.Count[0]; at[0] += size[0] {
		for at[1] = 0; at[1] < b.Count[1]; at[1] += size[1] {
			for at[2] = 0; at[2] < b.Count[2]; at[2] += size[2] {
				for n := range groupTiles {
					tiles = append(tiles, tileOf(b, [3]int{
						at[0] + n/(size[1]*size[2]), at[1] + n/size[2]%size[1], at[2] + n%size[2]}))
				}
			}
		}
	}
	return tiles
}

// half is a part of a box that the forward adds to traces at once: its first tile and group.
type half struct{ tile, group int32 }

// halfSide is the largest number of tiles of a half along x.
const halfSide = 4

// halves cuts a box in 2-D in two, since the windows of a whole one would leave room for few
// blocks. With an aperture, which knows the tiles of boxes, and in 3-D the box is one half. group is
// its first.
func halves(b kirchhoff.Box, group int, l kirchhoff.Layout, dim int) (list []half) {
	if dim == 3 || l.Aperture > 0 {
		return []half{{int32(b.First), int32(group)}}
	}
	for x := 0; x < b.Count[1]; x += halfSide {
		list = append(list, half{int32(b.First + x*b.Count[2]), int32(group + x/2*((b.Count[2]+3)/4))})
	}
	return list
}

// tileOf returns the number of a tile of a box, −1 beyond the box.
func tileOf(b kirchhoff.Box, at [3]int) int32 {
	n := 0
	for a, i := range at {
		if i >= b.Count[a] {
			return -1
		}
		n = n*b.Count[a] + i
	}
	return int32(b.First + n)
}

// memoryOfTables is where tables are on the card: rows [column][place][tile][Layout.Words]
// and the reaches of groups.
type memoryOfTables struct {
	table, groups device.Buf
	slope         device.Buf // with bands
}

// reachWords is the number of words of the kernels' struct Reach.
const reachWords = 4

// windowEntries returns the length of the forward's windows: enough for most boxes, if
// shared memory is large enough. Other boxes take several passes. Results do not depend
// on it.
func windowEntries(c accel.Card, l kirchhoff.Layout, n lengths) int {
	const guards, least, mostBytes = 2, 32, 110 << 10 // two blocks to a processor of an H200
	most := (min(c.Shared-2<<10, mostBytes) - 2*forwardStage(l)) / (4 * lanes)
	return min(max(n.most()+guards, least), most)
}

// lengths counts boxes by the number of samples that the times of a place span over them. The
// last holds all that are larger.
type lengths [1024]uint32

// most returns the number of samples that nine pairs in ten do not exceed over a box,
// assuming that both places of a pair are alike.
func (n *lengths) most() int {
	sum, total := int64(0), int64(0)
	for _, boxes := range n {
		total += int64(boxes)
	}
	for i, boxes := range n {
		if sum += int64(boxes); 10*sum >= 9*total {
			return 2*i + 3
		}
	}
	return 0
}
