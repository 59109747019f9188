package h5

// #include "shim.h"
import "C"

import (
	"strings"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// columns writes the scale /coordinate, which names the columns of positions: x, (y,)
// z. No reader needs it.
func (w *Writer) columns(dim int) error {
	names := grid.AxisNames(dim)
	return w.in(func() error {
		path, label := C.CString(coordinateScale), C.CString(coordinateScale[1:])
		defer C.free(unsafe.Pointer(path))
		defer C.free(unsafe.Pointer(label))
		texts := (*[3]*C.char)(C.calloc(3, C.size_t(unsafe.Sizeof(path))))
		defer C.free(unsafe.Pointer(texts))
		for i, n := range names {
			texts[i] = C.CString(n)
			defer C.free(unsafe.Pointer(texts[i]))
		}
		id := C.lsm_h5_create_texts(C.hid_t(w.file.ID()), path, C.longlong(len(names)), &texts[0])
		if id < 0 {
			return w.resource(coordinateScale, wrapf(libraryError(), "cannot be written"))
		}
		defer C.H5Dclose(id)
		if C.lsm_h5_scale(id, label) < 0 {
			return w.resource(coordinateScale, wrapf(libraryError(), "cannot be made a dimension scale"))
		}
		sum := textSum(coordinateScale, strings.Join(names, "\x00"))
		w.digests[coordinateScale] = sum
		return w.setAttr(id, coordinateScale, Attr{sumAttr, sum})
	})
}

// attachColumns says that an axis of a dataset is that of the scale /coordinate, which
// columns has written.
func (w *Writer) attachColumns(dataset string, axis int) error {
	return w.in(func() error {
		open := func(name string) C.hid_t {
			path := C.CString(name)
			defer C.free(unsafe.Pointer(path))
			return C.H5Dopen2(C.hid_t(w.file.ID()), path, C.H5P_DEFAULT)
		}
		label := C.CString(coordinateScale[1:])
		defer C.free(unsafe.Pointer(label))
		set, scale := open(dataset), open(coordinateScale)
		for _, id := range []C.hid_t{set, scale} {
			if id >= 0 {
				defer C.H5Dclose(id)
			}
		}
		if set < 0 || scale < 0 || C.lsm_h5_attach(set, scale, C.uint(axis), label) < 0 {
			return w.resource(dataset, wrapf(libraryError(), "its dimension scale cannot be attached"))
		}
		return nil
	})
}

const coordinateScale = "/coordinate"
