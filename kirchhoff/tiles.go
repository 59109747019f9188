package kirchhoff

import (
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// Tiling cuts a grid, or a slab of it, into tiles of 64 points, 8×8 in 2-D and 4×4×4 in
// 3-D. The points of a tile are ordered by patches of 4×4 and z fastest within them, as
// the kernels pair neighbours. Tiles are numbered box by box: successive tiles lie close
// together, so their times fall on the same stretch of each trace, which stays in the
// cache. Slabs are whole boxes.
type Tiling struct {
	Tiles int
	// Points is the C-order number within the slab of the grid point in each slot,
	// [Tiles][64]. Slots beyond the grid repeat the nearest point, so that they do not
	// widen a tile's range of times, and hold its complement ^n.
	Points []int32
	Boxes  []Box // in the order of tiles

	first int // points of the grid before the slab
}

// Box is a superblock of 8×8 tiles, or 4×4×4, less at the end of the grid. It has three
// axes; in 2-D the first is one point long.
type Box struct {
	First  int    // its first tile
	Lo, Hi [3]int // its grid points [Lo, Hi) along each axis
	Count  [3]int // tiles along each axis; they are numbered in C order from First
}

// gridSides returns the grid as three axes, and a tile's and a box's points along each.
func gridSides(g grid.Grid) (shape, tile, box [3]int) {
	shape, tile, box = [3]int{1, 1, 1}, [3]int{1, 8, 8}, [3]int{1, 64, 64}
	copy(shape[3-g.Dim():], g.Shape)
	if g.Dim() == 3 {
		tile, box = [3]int{4, 4, 4}, [3]int{16, 16, 16}
	}
	return shape, tile, box
}

// newTiling cuts the points [slab[0], slab[1]) along the first axis of g.
func newTiling(g grid.Grid, slab [2]int, m *memory) *Tiling {
	shape, tile, size := gridSides(g)
	t := &Tiling{first: slab[0] * (g.Len() / g.Shape[0])}
	lo, hi, x := [3]int{}, shape, 3-g.Dim()
	lo[x], hi[x] = slab[0], slab[1]
	boxes := 1
	for a := range lo {
		boxes *= (hi[a] - lo[a] + size[a] - 1) / size[a]
	}
	t.Boxes = make([]Box, 0, boxes)
	var b Box
	for i := lo[0]; i < hi[0]; i += size[0] {
		for j := lo[1]; j < hi[1]; j += size[1] {
			for k := lo[2]; k < hi[2]; k += size[2] {
				b.First, b.Lo = t.Tiles, [3]int{i, j, k}
				tiles := 1
				for a, at := range b.Lo {
					b.Hi[a] = min(at+size[a], hi[a])
					b.Count[a] = (b.Hi[a] - at + tile[a] - 1) / tile[a]
					tiles *= b.Count[a]
				}
				t.Boxes = append(t.Boxes, b)
				t.Tiles += tiles
			}
		}
	}
	t.Points = onHeap[int32](m, t.Tiles*simd.TileSize)
	if len(t.Points) > 0 {
		t.fill(shape, tile, g.Dim())
	}
	return t
}

// fill sets the points of all tiles.
func (t *Tiling) fill(shape, tile [3]int, dim int) {
	for i, b := range t.Boxes {
		for n := range t.end(i) - b.First {
			at := [3]int{n / (b.Count[1] * b.Count[2]), n / b.Count[2] % b.Count[1], n % b.Count[2]}
			for a := range at {
				at[a] = b.Lo[a] + at[a]*tile[a]
			}
			t.fillTile(t.slots(b.First+n), at, shape, dim)
		}
	}
}

// fillTile sets the points of the tile whose first point is at.
func (t *Tiling) fillTile(points []int32, at, shape [3]int, dim int) {
	for slot := range points {
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
		points[slot] = int32(n)
	}
}

// end is the tile after the last of a box.
func (t *Tiling) end(box int) int {
	if box+1 < len(t.Boxes) {
		return t.Boxes[box+1].First
	}
	return t.Tiles
}

// mostTiles is the number of tiles of the largest box.
func (t *Tiling) mostTiles() (most int) {
	for i, b := range t.Boxes {
		most = max(most, t.end(i)-b.First)
	}
	return most
}

// slots returns the points of one tile.
func (t *Tiling) slots(tile int) []int32 {
	return t.Points[tile*simd.TileSize : (tile+1)*simd.TileSize]
}

// source returns the point from which a slot takes its tables.
func source(point int32) int32 {
	if point < 0 {
		return ^point
	}
	return point
}

// load sets tiles lo to hi of dst, [tile][64], to image times scale (nil for 1), zero in
// slots beyond the grid.
func (t *Tiling) load(dst, image, scale []float32, lo, hi int) {
	for i := lo * simd.TileSize; i < hi*simd.TileSize; i++ {
		dst[i] = 0
		if n := t.Points[i]; n >= 0 {
			dst[i] = scalePoint(image, scale, int(n))
		}
	}
}

// scalePoint returns image[i] times scale[i], nil for 1.
func scalePoint(image, scale []float32, i int) float32 {
	if scale == nil {
		return image[i]
	}
	return image[i] * scale[i]
}

// unload adds tiles lo to hi of src times scale to image, the transpose of load.
func unload[T float32 | float64](t *Tiling, image []float32, src []T, scale []float32, lo, hi int) {
	for i := lo * simd.TileSize; i < hi*simd.TileSize; i++ {
		if n := t.Points[i]; n >= 0 {
			v := float32(src[i])
			if scale != nil {
				v *= scale[n]
			}
			image[n] += v
		}
	}
}
