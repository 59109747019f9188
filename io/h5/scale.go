package h5

// #include "shim.h"
import "C"

import (
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// Attach names an axis of a dataset by a dimension scale, a one-dimensional
// dataset of as many elements, so that h5py and xarray show a labelled axis.
// Both must have been written by this Writer; the label is the scale's name
// without its path.
func (w *Writer) Attach(dataset string, axis int, scale, label string) error {
	return w.in(func() error {
		var d, s *Section
		for _, x := range w.sections {
			switch x.name {
			case dataset:
				d = x
			case scale:
				s = x
			}
		}
		if d == nil || s == nil || len(s.shape) != 1 || axis >= len(d.shape) || s.len != d.shape[axis] {
			panic("h5: " + w.path + ": scale " + scale + " does not fit " + dataset)
		}
		c := C.CString(label)
		defer C.free(unsafe.Pointer(c))
		if C.H5DSis_scale(C.hid_t(s.set.ID())) <= 0 {
			if C.lsm_h5_scale(C.hid_t(s.set.ID()), c) < 0 {
				return w.resource(scale, wrapf(libraryError(), "cannot be made a dimension scale"))
			}
		}
		if C.lsm_h5_attach(C.hid_t(d.set.ID()), C.hid_t(s.set.ID()), C.uint(axis), c) < 0 {
			return w.resource(dataset, wrapf(libraryError(), "its dimension scale cannot be attached"))
		}
		return nil
	})
}

// coordinates writes the scales x, (y,) z of a grid at the root, in metres.
func (w *Writer) coordinates(g grid.Grid) error {
	for a, name := range grid.AxisNames(g.Dim()) {
		v := make([]float64, g.Shape[a])
		for i := range v {
			v[i] = g.Coord(a, i)
		}
		if err := Write(w, "/"+name, []int{len(v)}, v, Attr{"units", "m"}); err != nil {
			return err
		}
	}
	return nil
}

// attachGrid attaches the scales of coordinates to the trailing axes of a
// dataset, from axis first on.
func (w *Writer) attachGrid(dataset string, first int, g grid.Grid) error {
	for a, name := range grid.AxisNames(g.Dim()) {
		if err := w.Attach(dataset, first+a, "/"+name, name); err != nil {
			return err
		}
	}
	return nil
}

// index writes a scale that only counts, 0 to n-1.
func (w *Writer) index(name string, n int) error {
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(i)
	}
	return Write(w, name, []int{n}, v)
}
