package h5

// #include "shim.h"
import "C"

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/hdf5"
)

// Dataset is one dataset of numbers, open for reading.
type Dataset struct {
	path  string
	name  string
	set   *hdf5.Dataset
	shape []int
	len   int
	typ   typeInfo
	store C.lsm_h5_storage

	file  *File
	once  sync.Once // compares the numbers with their digest
	fault error     // of that
}

// Dataset opens a dataset of floats or integers by its absolute name. It
// refuses every other element type, extents that no memory or file can hold,
// filters that this library lacks, and data that was never written.
func (f *File) Dataset(name string) (*Dataset, error) {
	var d *Dataset
	err := locked(func() (err error) {
		mind(f.path)
		d, err = f.dataset(name)
		return err
	})
	return d, err
}

func (f *File) dataset(name string) (*Dataset, error) {
	if d := f.open[name]; d != nil {
		return d, nil
	}
	set, err := f.openSet(name)
	if err != nil {
		return nil, err
	}
	d := &Dataset{path: f.path, name: name, set: set, file: f}
	if err := d.inspect(); err != nil {
		set.Close()
		return nil, err
	}
	if err := d.admit(); err != nil {
		set.Close()
		return nil, err
	}
	if err := f.verifySeal(d.Attrs()); err != nil {
		set.Close()
		return nil, err
	}
	if err := d.widenCache(f.file); err != nil {
		d.set.Close()
		return nil, err
	}
	f.open[name] = d
	return d, nil
}

// id is the library's number of the dataset.
func (d *Dataset) id() C.hid_t { return C.hid_t(d.set.ID()) }

// inspect reads shape, type and storage, and judges nothing.
func (d *Dataset) inspect() (err error) {
	if d.typ, err = typeOf(d.id(), false); err != nil {
		return readError(d.path, d.name, wrapf(err, "its type cannot be read"))
	}
	if d.shape, err = shapeOf(d.set); err != nil {
		return readError(d.path, d.name, wrapf(err, "its shape cannot be read"))
	}
	if C.lsm_h5_storage_of(d.id(), &d.store) < 0 {
		return readError(d.path, d.name, wrapf(libraryError(), "its storage cannot be read"))
	}
	return nil
}

// shapeOf is the extent of a dataset: empty for a scalar, [0] where it has no
// extent at all.
func shapeOf(set *hdf5.Dataset) ([]int, error) {
	space := set.Space()
	if space == nil {
		return nil, libraryError()
	}
	defer space.Close()
	switch space.SimpleExtentType() {
	case hdf5.S_SCALAR:
		return []int{}, nil
	case hdf5.S_NULL:
		return []int{0}, nil
	}
	if space.SimpleExtentNDims() < 1 {
		return nil, libraryError()
	}
	dims, _, err := space.SimpleExtentDims()
	if err != nil {
		return nil, libraryError()
	}
	shape := make([]int, len(dims))
	for i, n := range dims {
		shape[i] = int(n) // beyond an int it turns negative, which product refuses
	}
	return shape, nil
}

// admit refuses what cannot be read as numbers in bounded memory.
func (d *Dataset) admit() error {
	if !d.typ.isNumber() {
		return inputError(d.path, d.name, "holds elements of type %s, want floats or integers", d.typ)
	}
	n, ok := product(d.shape)
	if !ok || n > maxBytes/d.typ.size {
		return inputError(d.path, d.name, "claims shape %s, more than any file holds", shapeText(d.shape))
	}
	d.len = n
	if d.store.external > 0 {
		return inputError(d.path, d.name, "keeps its data in external files; h5repack makes it a plain dataset")
	}
	if d.store.layout != C.H5D_COMPACT && d.store.layout != C.H5D_CONTIGUOUS && d.store.layout != C.H5D_CHUNKED {
		return inputError(d.path, d.name, "is a virtual dataset; h5repack -l CONTI makes it a plain one")
	}
	if n == 0 {
		return nil
	}
	if d.store.allocated == 0 {
		return inputError(d.path, d.name, "was created with shape %s but its data was never written", shapeText(d.shape))
	}
	claimed, stored, size := uint64(n)*uint64(d.typ.size), uint64(d.store.stored), uint64(d.store.filesize)
	switch {
	case d.store.layout == C.H5D_CONTIGUOUS && (stored < claimed || stored > size || uint64(d.store.offset) > size-stored):
		return inputError(d.path, d.name, "claims %d bytes at offset %d, beyond the file's %d bytes",
			claimed, uint64(d.store.offset), size)
	case claimed/maxRatio > stored+1<<14:
		return inputError(d.path, d.name, "claims shape %s, %d bytes, but holds %d: most of it was never written",
			shapeText(d.shape), claimed, stored)
	}
	if _, chunk := d.chunkRow(); chunk > 0 {
		if err := checkMemory(d.path, d.name, chunk/d.typ.size, d.typ.size); err != nil {
			return err
		}
	}
	return d.admitFilters()
}

// maxRatio bounds how much larger a dataset may be than what is stored of it:
// deflate, the densest of the standard filters, reaches 1032.
const maxRatio = 2048

func (d *Dataset) admitFilters() error {
	names, missing, err := d.filters()
	if err != nil {
		return err
	}
	if missing >= 0 {
		return inputError(d.path, d.name, "needs the filter %s, which this HDF5 library lacks; rewrite it with gzip or none (h5repack -f GZIP=4)",
			names[missing])
	}
	return nil
}

// filters names the filters of the pipeline; missing is the first that the
// library lacks, or -1.
func (d *Dataset) filters() (names []string, missing int, err error) {
	missing = -1
	for i := range int(d.store.nfilters) {
		var id C.int
		var name [64]C.char
		has := C.lsm_h5_filter(d.id(), C.int(i), &id, &name[0], C.size_t(len(name)))
		if has < 0 {
			return nil, -1, readError(d.path, d.name, wrapf(libraryError(), "its filters cannot be read"))
		}
		name[len(name)-1] = 0
		text := C.GoString(&name[0])
		if text == "" {
			text = "unnamed"
		}
		names = append(names, fmt.Sprintf("%s (number %d)", text, int(id)))
		if has == 0 && missing < 0 {
			missing = i
		}
	}
	return names, missing, nil
}

// believing reports whether a filter is of those, such as n-bit and scale-offset, that
// take lengths and layouts from the file without a check.
func (d *Dataset) believing() bool {
	for i := range int(d.store.nfilters) {
		var id C.int
		var name [1]C.char
		C.lsm_h5_filter(d.id(), C.int(i), &id, &name[0], C.size_t(len(name)))
		switch id {
		case C.H5Z_FILTER_DEFLATE, C.H5Z_FILTER_SHUFFLE, C.H5Z_FILTER_FLETCHER32:
		default:
			return true
		}
	}
	return false
}

// Name is the absolute name of the dataset.
func (d *Dataset) Name() string { return d.name }

// Shape is the extent along each axis, empty for a scalar. The caller must not
// change it.
func (d *Dataset) Shape() []int { return d.shape }

// Len is the number of elements.
func (d *Dataset) Len() int { return d.len }

// Type describes the elements in the file, such as "big-endian float64".
func (d *Dataset) Type() string { return d.typ.String() }

// Attrs are the attributes of the dataset.
func (d *Dataset) Attrs() Attrs { return Attrs{path: d.path, object: d.name, id: d.set.ID()} }

// Want returns an error unless the shape is the wanted one, in which -1 stands
// for any size but none. The text says what the axes are, such as
// "[ns, nr, nt]".
func (d *Dataset) Want(text string, shape ...int) error {
	ok := len(shape) == len(d.shape)
	for a := 0; ok && a < len(shape); a++ {
		ok = d.shape[a] == shape[a] || shape[a] < 0 && d.shape[a] > 0
	}
	if ok {
		return nil
	}
	if slices.Contains(shape, -1) || len(shape) == 0 {
		return inputError(d.path, d.name, "has shape %s, want %s", shapeText(d.shape), text)
	}
	return inputError(d.path, d.name, "has shape %s, want %s = %s", shapeText(d.shape), text, shapeText(shape))
}

func shapeText(shape []int) string {
	if len(shape) == 0 {
		return "[] (scalar)"
	}
	return "[" + strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ", "), "[]") + "]"
}
