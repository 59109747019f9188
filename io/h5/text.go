package h5

// #include "shim.h"
import "C"

import (
	"errors"
	"path"
	"strings"
	"unsafe"

	"gonum.org/v1/hdf5"
)

// textType is a type of texts in memory, made afresh: one taken from a damaged file may
// let the library pass its own references on as if they were pointers. The caller closes it.
func textType(size C.size_t, set C.H5T_cset_t) (*hdf5.Datatype, error) {
	t, err := hdf5.T_C_S1.Copy()
	if err != nil || C.H5Tset_size(C.hid_t(t.ID()), size) < 0 || C.H5Tset_cset(C.hid_t(t.ID()), set) < 0 {
		return nil, libraryError()
	}
	return t, nil
}

// texts reads all n strings of an attribute or dataset of type t; what is not UTF-8 is
// marked by the replacement character.
func texts(obj C.hid_t, t typeInfo, n int) ([]string, error) {
	width := C.size_t(t.size)
	size := width
	if t.variable {
		size, width = C.H5T_VARIABLE, C.size_t(unsafe.Sizeof(uintptr(0)))
	}
	typ, err := textType(size, t.set)
	if err != nil {
		return nil, err
	}
	defer typ.Close()
	mem := C.hid_t(typ.ID())
	if !t.variable && C.H5Tset_strpad(mem, t.pad) < 0 {
		return nil, libraryError()
	}
	raw := C.calloc(C.size_t(max(n, 1)), width)
	if raw == nil {
		return nil, errors.New("memory allocation failed")
	}
	defer C.free(raw)
	read := C.herr_t(-1)
	if C.H5Iget_type(obj) == C.H5I_ATTR {
		read = C.H5Aread(obj, mem, raw)
	} else {
		read = C.H5Dread(obj, mem, C.H5S_ALL, C.H5S_ALL, C.H5P_DEFAULT, raw)
	}
	if read < 0 {
		return nil, libraryError()
	}
	out := make([]string, n)
	for i := range out {
		var text *C.char
		length := C.size_t(0)
		if t.variable {
			if text = unsafe.Slice((**C.char)(raw), n)[i]; text != nil {
				length = C.strlen(text)
			}
		} else {
			text = (*C.char)(unsafe.Add(raw, C.size_t(i)*width))
			length = C.strnlen(text, width)
		}
		s := string(unsafe.Slice((*byte)(unsafe.Pointer(text)), int(length)))
		if !t.variable && t.pad == C.H5T_STR_SPACEPAD {
			s = strings.TrimRight(s, " ")
		}
		out[i] = strings.ToValidUTF8(s, "\uFFFD")
	}
	if t.variable {
		for _, text := range unsafe.Slice((**C.char)(raw), n) {
			C.free(unsafe.Pointer(text)) // as the library requires for texts that it allocates
		}
	}
	return out, nil
}

// errHuge is the error of a text whose claimed length exceeds the memory. The length of a
// damaged text cannot be known before it is read.
var errHuge = errors.New("claims more memory than there is")

// unreadable is the error of an attribute or text that cannot be read.
func unreadable(path, object string, err error) error {
	if strings.Contains(err.Error(), "memory allocation failed") {
		return inputError(path, object, "claims more memory than there is: it is damaged%w", hidden{errHuge})
	}
	return readError(path, object, err)
}

// Bounds of datasets of texts.
const (
	mostTexts = 1 << 16  // whose digest is computed
	maxText   = 64 << 20 // bytes of texts of fixed length
)

// Text reads a dataset that holds one string, and compares it with its digest, if any.
func (f *File) Text(name string) (string, error) {
	v, err := f.texts(name, 1, "one text")
	if err != nil {
		return "", err
	}
	return v[0], nil
}

// texts reads a dataset of at least one text and not more than most, and compares them with their
// digest, if any.
func (f *File) texts(name string, most int, want string) ([]string, error) {
	list, sum, err := f.readTexts(name, most, want)
	if err != nil {
		return nil, err
	}
	return list, compare(f.path, name, sum, func(bare bool) (string, error) {
		return textSum(name, strings.Join(list, "\x00"), bare), nil
	})
}

// readTexts reads a dataset of at least one text and not more than most, and its attribute sha256.
func (f *File) readTexts(name string, most int, want string) (list []string, sum string, err error) {
	err = locked(func() error {
		mind(f.path)
		set, err := f.openSet(name)
		if err != nil {
			return err
		}
		defer set.Close()
		id := C.hid_t(set.ID())
		t, err := typeOf(id)
		if err != nil {
			return readError(f.path, name, err)
		}
		shape, err := extentOf(id)
		if err != nil {
			return readError(f.path, name, err)
		}
		n, counted := product(shape)
		if !t.isString() || !counted || n < 1 || n > most || t.size > maxText/n {
			return inputError(f.path, name, "holds %d elements of type %s, want %s", n, t, want)
		}
		if list, err = texts(id, t, n); err != nil {
			return unreadable(f.path, name, wrapf(err, "cannot be read"))
		}
		sum, err = Attrs{path: f.path, object: name, id: id}.sum()
		return err
	})
	return list, sum, err
}

// Text writes a string as a scalar dataset of UTF-8.
func (w *Writer) Text(name, text string) error { return w.texts(name, true, text) }

// texts writes strings as a dimension scale, or one as a scalar.
func (w *Writer) texts(name string, scalar bool, list ...string) error {
	return w.in(func() error {
		values, read := make([]*C.char, len(list)), make([]string, len(list))
		for i, text := range list {
			values[i], read[i] = C.CString(text), asRead(text)
			defer C.free(unsafe.Pointer(values[i]))
		}
		shape := []int{len(list)}
		if scalar {
			shape = nil
		}
		typ, err := textType(C.H5T_VARIABLE, C.H5T_CSET_UTF8)
		if err != nil {
			return w.resource(name, err)
		}
		defer typ.Close()
		set, err := w.create(name, typ, shape)
		if err != nil {
			return err
		}
		defer set.Close()
		id := C.hid_t(set.ID())
		if C.H5Dwrite(id, C.hid_t(typ.ID()), C.H5S_ALL, C.H5S_ALL, C.H5P_DEFAULT, unsafe.Pointer(&values[0])) < 0 {
			return w.resource(name, wrapf(libraryError(), "cannot be written"))
		}
		if !scalar && C.H5DSset_scale(id, cString(path.Base(name))) < 0 {
			return w.resource(name, wrapf(libraryError(), "cannot be made a dimension scale"))
		}
		w.digests[name] = textSum(name, strings.Join(read, "\x00"), false)
		return w.setAttr(id, name, Attr{sumAttr, w.digests[name]})
	})
}

// asRead is a text as it reads back: a zero byte ends it, and what is not UTF-8 is
// marked.
func asRead(text string) string {
	text, _, _ = strings.Cut(text, "\x00")
	return strings.ToValidUTF8(text, "\uFFFD")
}
