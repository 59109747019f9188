package kirchhoff

import (
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// tiling cuts a grid into tiles of 64 points, 8×8 in 2-D and 4×4×4 in 3-D, with
// points of a tile ordered by patches of 4×4 and z fastest within them, as the
// kernels pair neighbours. Tiles are numbered superblock by superblock (8×8 tiles,
// or 4×4×4): successive tiles then lie close together and their times fall on the
// same stretch of each trace, which stays in the cache.
//
// Of a slab of the grid there are its tiles alone; slabs are whole superblocks.
type tiling struct {
	tiles int
	first int // points of the grid before the slab
	// point is the C-order number within the slab of the grid point in each slot,
	// [tiles][64]. Slots beyond the grid repeat the nearest point, so that they do not
	// widen a tile's range of times, and hold its complement ^n.
	point []int32
	boxes []box
}

// box is a superblock: its first tile, and the grid points [lo, hi) along each of
// three axes.
type box struct {
	tile   int
	lo, hi [3]int
}

// newTiling cuts the points [slab[0], slab[1]) along the first axis of g.
func newTiling(g grid.Grid, slab [2]int) *tiling {
	// As three axes: a 2-D grid is one plane, its tile 1×8×8.
	shape, tile, super := [3]int{1, 1, 1}, [3]int{1, 8, 8}, [3]int{1, 8, 8}
	copy(shape[3-g.Dim():], g.Shape)
	if g.Dim() == 3 {
		tile, super = [3]int{4, 4, 4}, [3]int{4, 4, 4}
	}
	t := &tiling{first: slab[0] * (g.Len() / g.Shape[0])}
	var count [3]int // tiles along each axis
	for a := range count {
		count[a] = (shape[a] + tile[a] - 1) / tile[a]
	}
	x := 3 - g.Dim() // the first axis
	t.point = make([]int32, 0, (slab[1]-slab[0]+tile[x]-1)/tile[x]*(count[0]*count[1]*count[2]/count[x])*simd.TileSize)
	eachBox(count, super, func(lo, hi [3]int) {
		b := box{tile: t.tiles}
		for a := range count {
			b.lo[a], b.hi[a] = lo[a]*tile[a], min(hi[a]*tile[a], shape[a])
		}
		if b.lo[x] < slab[0] || b.hi[x] > slab[1] {
			return
		}
		t.boxes = append(t.boxes, b)
		for i := lo[0]; i < hi[0]; i++ {
			for j := lo[1]; j < hi[1]; j++ {
				for k := lo[2]; k < hi[2]; k++ {
					t.add([3]int{i * tile[0], j * tile[1], k * tile[2]}, shape, g.Dim())
				}
			}
		}
	})
	return t
}

// eachBox calls f for boxes of the given size that together cover [0, n).
func eachBox(n, size [3]int, f func(lo, hi [3]int)) {
	for i := 0; i < n[0]; i += size[0] {
		for j := 0; j < n[1]; j += size[1] {
			for k := 0; k < n[2]; k += size[2] {
				f([3]int{i, j, k}, [3]int{min(i+size[0], n[0]), min(j+size[1], n[1]), min(k+size[2], n[2])})
			}
		}
	}
}

// add appends the tile whose first point is at.
func (t *tiling) add(at, shape [3]int, dim int) {
	for slot := range simd.TileSize {
		patch, row, col := slot/16, slot/4%4, slot%4
		offset := [3]int{patch, row, col} // 3-D: patches lie along x
		if dim == 2 {
			offset = [3]int{0, patch/2*4 + row, patch%2*4 + col}
		}
		n, beyond := 0, false
		for a := range shape {
			i := at[a] + offset[a]
			if i >= shape[a] {
				i, beyond = shape[a]-1, true
			}
			n = n*shape[a] + i
		}
		n -= t.first
		if beyond {
			n = ^n
		}
		t.point = append(t.point, int32(n))
	}
	t.tiles++
}

// end is the tile after the last of a box.
func (t *tiling) end(box int) int {
	if box+1 < len(t.boxes) {
		return t.boxes[box+1].tile
	}
	return t.tiles
}

// slots returns the points of one tile.
func (t *tiling) slots(tile int) []int32 {
	return t.point[tile*simd.TileSize : (tile+1)*simd.TileSize]
}

// source returns the point that a slot takes its tables from.
func source(point int32) int32 {
	if point < 0 {
		return ^point
	}
	return point
}

// load sets tiles lo to hi of dst, [tiles][64], to image times scale (nil for 1),
// zero in slots beyond the grid.
func (t *tiling) load(dst, image, scale []float32, lo, hi int) {
	for i := lo * simd.TileSize; i < hi*simd.TileSize; i++ {
		n := t.point[i]
		switch {
		case n < 0:
			dst[i] = 0
		case scale == nil:
			dst[i] = image[n]
		default:
			dst[i] = image[n] * scale[n]
		}
	}
}

// unload adds tiles lo to hi of src times scale to image, the transpose of load.
func unload[T float32 | float64](t *tiling, image []float32, src []T, scale []float32, lo, hi int) {
	for i := lo * simd.TileSize; i < hi*simd.TileSize; i++ {
		n := t.point[i]
		switch {
		case n < 0:
		case scale == nil:
			image[n] += float32(src[i])
		default:
			image[n] += float32(src[i]) * scale[n]
		}
	}
}
