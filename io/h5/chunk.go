package h5

// #include "shim.h"
import "C"

import (
	"gonum.org/v1/hdf5"
)

// A chunk is decompressed whole, however little of it is wanted. Read piece by piece,
// in pieces that end inside chunks, a dataset is decompressed once a piece, unless the
// library keeps the chunks that are not used up.

const (
	presetCache = 1 << 20  // bytes, the library's own choice
	mostCache   = 64 << 20 // bytes, and more for chunks that are larger
	stepBytes   = 8 << 20  // bytes that a pass over a dataset reads at a time
)

// chunkRow is the size in bytes of the chunks that one step along the first axis
// touches, and of one chunk; 0 for what is not chunked, and the most that an int holds
// for what is larger.
func (d *Dataset) chunkRow() (row, chunk int) {
	if d.store.layout != C.H5D_CHUNKED || len(d.shape) == 0 || int(d.store.chunk_rank) < len(d.shape) {
		return 0, 0
	}
	row, chunk = d.typ.size, d.typ.size
	for a, n := range d.shape {
		c := int(d.store.chunk[a])
		cover := c
		if a > 0 && c > 0 {
			cover = (n + c - 1) / c * c
		}
		row, chunk = times(row, cover), times(chunk, c)
	}
	return row, chunk
}

// times is a product of positive numbers that stops at maxBytes.
func times(a, b int) int {
	if b <= 0 || a > maxBytes/b {
		return maxBytes
	}
	return a * b
}

// roomForChunks is how much memory chunks may take.
func roomForChunks() int { return max(mostCache, room()/8) }

// step is how many elements a pass over the dataset reads at a time: whole rows of
// chunks, so that each is decompressed once. Rows that do not fit into memory are
// decompressed once for each part of them that does.
func (d *Dataset) step() int {
	step := max(1, stepBytes/d.typ.size)
	row, _ := d.chunkRow()
	if row == 0 {
		return step
	}
	if row > roomForChunks() {
		return roomForChunks() / d.typ.size
	}
	one := int(d.store.chunk[0]) // indices along the first axis
	for _, n := range d.shape[1:] {
		one *= n
	}
	return one * max(1, stepBytes/row)
}

// widenCache reopens a chunked dataset whose row of chunks exceeds the library's cache:
// as much of it as may be is kept.
func (d *Dataset) widenCache(file *hdf5.File) error {
	row, chunk := d.chunkRow()
	if row <= presetCache {
		return nil
	}
	list, err := hdf5.NewPropList(hdf5.P_DATASET_ACCESS)
	if err != nil {
		return resourceError(d.path, d.name, libraryError())
	}
	defer list.Close()
	size := min(row, max(mostCache, min(chunk, roomForChunks())))
	if err := list.SetChunkCache(12421, size, 0.75); err != nil { // a prime number of slots, as the library asks
		return resourceError(d.path, d.name, libraryError())
	}
	set, err := file.OpenDatasetWith(d.name, list)
	if err != nil {
		return readError(d.path, d.name, libraryError())
	}
	d.set.Close()
	d.set = set
	return nil
}
