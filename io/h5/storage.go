package h5

// #include "shim.h"
import "C"

import (
	"fmt"
	"math"

	"gonum.org/v1/hdf5"

	"github.com/kirchhoff-lsm/lsm/internal/machine"
)

// storage is where and how a dataset's bytes lie in the file.
type storage struct {
	layout   C.H5D_layout_t
	written  bool
	external int      // raw files beside this one
	chunk    []int    // elements along each axis, nil unless chunked
	filters  []filter // in the order of writing

	stored, offset uint64 // bytes in the file; all ones where the offset is not known
	filesize       uint64
}

// filter is one step of a dataset's compression.
type filter struct {
	id   C.H5Z_filter_t
	name string // with its number
	has  bool   // this library can decode it
}

func (d *Dataset) inspectStorage() error {
	list := C.H5Dget_create_plist(d.id())
	if list < 0 {
		return libraryError()
	}
	defer C.H5Pclose(list)
	s := &d.store
	s.layout, s.external = C.H5Pget_layout(list), int(C.H5Pget_external_count(list))
	filters := int(C.H5Pget_nfilters(list))
	if s.layout < 0 || s.external < 0 || filters < 0 {
		return libraryError()
	}
	if s.layout == C.H5D_CHUNKED {
		var dims [C.H5S_MAX_RANK]C.hsize_t
		rank := C.H5Pget_chunk(list, C.int(len(dims)), &dims[0])
		if rank < 0 || int(rank) > len(dims) {
			return libraryError()
		}
		for _, n := range dims[:rank] {
			s.chunk = append(s.chunk, int(n))
		}
	}
	for i := range filters {
		var flags, config C.uint
		var values C.size_t
		var name [64]C.char
		id := C.H5Pget_filter2(list, C.uint(i), &flags, &values, nil, C.size_t(len(name)), &name[0], &config)
		if id < 0 {
			return libraryError()
		}
		name[len(name)-1] = 0
		text := C.GoString(&name[0])
		if text == "" {
			text = "unnamed"
		}
		s.filters = append(s.filters, filter{id, fmt.Sprintf("%s (number %d)", text, int(id)), C.H5Zfilter_avail(id) > 0})
	}
	var status C.H5D_space_status_t
	var size C.hsize_t
	if C.H5Dget_space_status(d.id(), &status) < 0 || C.H5Fget_filesize(C.hid_t(d.file.file.ID()), &size) < 0 {
		return libraryError()
	}
	s.written = status != C.H5D_SPACE_STATUS_NOT_ALLOCATED
	s.stored, s.offset, s.filesize = uint64(C.H5Dget_storage_size(d.id())), uint64(C.H5Dget_offset(d.id())), uint64(size)
	return nil
}

// maxRatio bounds how much larger a dataset may be than its stored bytes: deflate, the densest of
// the standard filters, reaches 1032.
const maxRatio = 2048

// admit refuses a dataset that cannot be read as numbers in bounded memory.
func (d *Dataset) admit() error {
	fault := func(format string, args ...any) error { return inputError(d.path, d.name, format, args...) }
	if !d.typ.isNumber() {
		return fault("holds elements of type %s, want floats or integers", d.typ)
	}
	n, ok := product(d.shape)
	if !ok || n > maxBytes/d.size {
		return fault("claims shape %s, more than any file holds", shapeText(d.shape))
	}
	d.len = n
	s := &d.store
	switch {
	case s.external > 0:
		return fault("keeps its data in external files; h5repack makes it a plain dataset")
	case s.layout != C.H5D_COMPACT && s.layout != C.H5D_CONTIGUOUS && s.layout != C.H5D_CHUNKED:
		return fault("is a virtual dataset; h5repack -l CONTI makes it a plain one")
	case n == 0:
		return nil
	case !s.written:
		return fault("was created with shape %s but its data was never written", shapeText(d.shape))
	}
	claimed := uint64(n) * uint64(d.size)
	switch {
	case s.layout == C.H5D_CONTIGUOUS && (s.stored < claimed || s.stored > s.filesize || s.offset > s.filesize-s.stored):
		return fault("claims %d bytes at offset %d, beyond the file's %d bytes", claimed, s.offset, s.filesize)
	case claimed/maxRatio > s.stored+1<<14:
		return fault("claims shape %s, %d bytes, but holds %d: most of it was never written; h5repack -l CONTI writes it all", shapeText(d.shape), claimed, s.stored)
	}
	if _, chunk := d.chunkRow(); chunk > 0 {
		if err := checkMemory(d.path, d.name, chunk/d.size, d.size); err != nil {
			return err
		}
	}
	for _, f := range s.filters {
		if !f.has {
			return fault("needs the filter %s, which this HDF5 library lacks; rewrite it with gzip or none (h5repack -f GZIP=4)", f.name)
		}
	}
	return nil
}

// believing reports whether a filter, such as n-bit or scale-offset, takes lengths and
// layouts from the file without checking them.
func (d *Dataset) believing() bool {
	for _, f := range d.store.filters {
		switch f.id {
		case C.H5Z_FILTER_DEFLATE, C.H5Z_FILTER_SHUFFLE, C.H5Z_FILTER_FLETCHER32:
		default:
			return true
		}
	}
	return false
}

// A chunk is decompressed whole, however little of it is read. Read piece by piece,
// in pieces that end inside chunks, a dataset is decompressed once a piece, unless the
// library keeps the chunks that are not used up.

const (
	presetCache = 1 << 20  // bytes, the library's own choice
	mostCache   = 64 << 20 // bytes, and more for chunks that are larger
	stepBytes   = 8 << 20  // bytes that a pass over a dataset reads at a time
)

// chunkRow returns the size in bytes of the chunks that one step along the first axis touches, and
// of one chunk. Both are 0 for a dataset without chunks, and at most maxBytes.
func (d *Dataset) chunkRow() (row, chunk int) {
	if len(d.shape) == 0 || len(d.store.chunk) < len(d.shape) {
		return 0, 0
	}
	row, chunk = d.size, d.size
	for a, n := range d.shape {
		c := d.store.chunk[a]
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

func roomForChunks() int { return max(mostCache, room()/8) }

// step is how many elements a pass over the dataset reads at a time: whole rows of
// chunks, so that each is decompressed once. Rows that do not fit into memory are
// decompressed once for each part of them that does.
func (d *Dataset) step() int {
	row, _ := d.chunkRow()
	switch {
	case row == 0:
		return max(1, stepBytes/d.size)
	case row > roomForChunks():
		return roomForChunks() / d.size
	}
	one := d.store.chunk[0] // indices along the first axis
	for _, n := range d.shape[1:] {
		one *= n
	}
	return one * max(1, stepBytes/row)
}

// widenCache reopens a chunked dataset whose row of chunks exceeds the library's cache,
// with a larger one.
func (d *Dataset) widenCache() error {
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
	set, err := d.file.file.OpenDatasetWith(d.name, list)
	if err != nil {
		return readError(d.path, d.name, libraryError())
	}
	d.set.Close()
	d.set = set
	return nil
}

// maxBytes is more than any file system holds in one file.
const maxBytes = math.MaxInt64 / 2

// room is the memory in bytes that can still be allocated, or maxBytes if that is not known.
func room() int {
	if n := machine.Room(); n > 0 {
		return int(n)
	}
	return maxBytes
}

// checkMemory refuses an allocation of n elements that this machine cannot hold now,
// before the attempt takes the process down.
func checkMemory(path, object string, n, size int) error {
	if have := room(); n > have/size {
		return resourceError(path, object, fmt.Errorf("needs %.3g GiB of memory for %d elements, %.3g GiB can be had",
			float64(n)*float64(size)/(1<<30), n, float64(have)/(1<<30)))
	}
	return nil
}
