package h5

// #include "shim.h"
import "C"

import (
	"path"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// axis is an axis of datasets. A dimension scale, a dataset of one axis, labels it for
// h5py and xarray; no reader of this package needs it.
type axis struct {
	name   string // of the scale, absolute
	size   int
	values []float64 // coordinates, in units; nil: it counts from 0
	units  string
	texts  []string // instead of numbers
}

// gridAxes are x, (y,) z of a grid, m, or x, (y,) time, s.
func gridAxes(g grid.Grid) []axis {
	axes := make([]axis, g.Dim())
	for a := range axes {
		axes[a] = regular("/"+g.AxisName(a), g.Shape[a], g.Origin[a], g.Spacing[a], g.Unit(a))
	}
	return axes
}

// columns is the axis of coordinates, x, (y,) z, of positions and gradients.
func columns(dim int) axis { return axis{name: "/coordinate", size: dim, texts: grid.AxisNames(dim)} }

func regular(name string, n int, first, step float64, units string) axis {
	a := axis{name: name, size: n, values: make([]float64, n), units: units}
	for i := range a.values {
		a.values[i] = first + float64(i)*step
	}
	return a
}

// scale writes the scale of an axis, unless it is there.
func (w *Writer) scale(a axis) error {
	if w.scales[a.name] {
		return w.failed()
	}
	w.scales[a.name] = true
	switch {
	case a.texts != nil:
		return w.texts(a.name, false, a.texts...)
	case a.values != nil:
		return Write(w, a.name, []int{a.size}, a.values, Attr{"units", a.units})
	}
	count := make([]int32, a.size)
	for i := range count {
		count[i] = int32(i)
	}
	return Write(w, a.name, []int{a.size}, count)
}

// over creates a dataset over axes, whose scales it writes first. It writes all of data,
// or leaves that to [WriteAt] if data is nil.
func over[T Number](w *Writer, name string, axes []axis, data []T, attrs ...Attr) (*Section, error) {
	shape := make([]int, len(axes))
	for i, a := range axes {
		shape[i] = a.size
		if err := w.scale(a); err != nil {
			return nil, err
		}
	}
	s, err := NewSection[T](w, name, shape, attrs...)
	if err == nil && data != nil {
		err = writeAll(s, data)
	}
	for i, a := range axes {
		if err == nil {
			err = s.attach(i, a)
		}
	}
	return s, err
}

// attach labels an axis of a dataset by its scale.
func (s *Section) attach(number int, a axis) error {
	return s.w.in(func() error {
		scale, label := C.H5Dopen2(C.hid_t(s.w.file.ID()), cString(a.name), C.H5P_DEFAULT), path.Base(a.name)
		if scale >= 0 {
			defer C.H5Dclose(scale)
		}
		if C.H5DSis_scale(scale) <= 0 && C.H5DSset_scale(scale, cString(label)) < 0 {
			return s.w.resource(a.name, wrapf(libraryError(), "cannot be made a dimension scale"))
		}
		if C.H5DSattach_scale(s.id(), scale, C.uint(number)) < 0 || C.H5DSset_label(s.id(), C.uint(number), cString(label)) < 0 {
			return s.w.resource(s.name, wrapf(libraryError(), "its dimension scale cannot be attached"))
		}
		return nil
	})
}

// Scales returns the absolute names of the dimension scales of the axes, "" for an axis that
// has none. If an axis has several, it takes the first.
func (d *Dataset) Scales() ([]string, error) {
	return on(d.path, func() ([]string, error) {
		names := make([]string, len(d.shape))
		for a := range names {
			var name [1024]C.char
			switch found := C.lsm_h5_scale(d.id(), C.uint(a), &name[0], C.size_t(len(name))); {
			case found < 0:
				return nil, readError(d.path, d.name, wrapf(libraryError(), "its dimension scales cannot be read"))
			case found > 0:
				name[len(name)-1] = 0
				names[a] = C.GoString(&name[0])
			}
		}
		return names, nil
	})
}
