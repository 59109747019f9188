package h5

// #include "shim.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"unsafe"
)

// Attrs reads the attributes of one object of a file.
type Attrs struct {
	path   string
	object string // "" for the file's root
	id     C.hid_t
}

// Attr is a named value: string, int64, float64, or a slice of one of them.
// Writing also takes int.
type Attr struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// maxAttr bounds elements and bytes of one attribute; the format itself keeps
// most attributes below 64 KiB.
const maxAttr = 1 << 20

func (a Attrs) key(name string) string { return a.object + "@" + name }

func (a Attrs) fault(name, format string, args ...any) error {
	return inputError(a.path, a.key(name), format, args...)
}

// Has reports whether the attribute exists. If the answer is unknown it returns true, so
// that reading the attribute gives the reason.
func (a Attrs) Has(name string) (has bool) {
	_ = locked(func() error { has = C.H5Aexists(a.id, cString(name)) != 0; return nil })
	return has
}

// value reads one attribute of whatever type: an Attr's value, or the
// description of a type that is neither number nor string.
func (a Attrs) value(name string) (any, error) {
	if !a.Has(name) {
		return nil, a.fault(name, "attribute is missing")
	}
	v, err := on(a.path, func() (any, error) { return a.decode(name) })
	var known *Error
	if err != nil && !errors.As(err, &known) {
		err = unreadable(a.path, a.key(name), wrapf(err, "attribute cannot be read"))
	}
	return v, err
}

type otherType string

func (a Attrs) decode(name string) (any, error) {
	id := C.H5Aopen(a.id, cString(name), C.H5P_DEFAULT)
	if id < 0 {
		return nil, libraryError()
	}
	defer C.H5Aclose(id)
	shape, err := extentOf(id)
	if err != nil {
		return nil, err
	}
	t, err := typeOf(id)
	n, counted := product(shape)
	rank := len(shape)
	switch {
	case err != nil:
		return nil, err
	case !counted || n > maxAttr || t.size > maxAttr/max(n, 1):
		return nil, a.fault(name, "attribute claims %d elements of %d bytes, at most %d bytes are read", n, t.size, maxAttr)
	case t.isNumber() && t.isFloat():
		return attrNumbers[float64](id, n, rank)
	case t.isNumber():
		return attrNumbers[int64](id, n, rank)
	case t.isString():
		v, err := texts(id, t, n)
		return scalar(v, rank), err
	}
	return otherType(t.String()), nil
}

func attrNumbers[T Number](id C.hid_t, n, rank int) (any, error) {
	v := make([]T, n)
	if n > 0 && C.H5Aread(id, kindOf[T]().inMemory(), unsafe.Pointer(&v[0])) < 0 {
		return nil, libraryError()
	}
	return scalar(v, rank), nil
}

func scalar[T any](v []T, rank int) any {
	if rank == 0 && len(v) == 1 {
		return v[0]
	}
	return v
}

// Floats reads a numeric attribute as float64, a scalar as one value. With
// n >= 0 it must have that many.
func (a Attrs) Floats(name string, n int) ([]float64, error) {
	v, err := a.value(name)
	if err != nil {
		return nil, err
	}
	wanted := cmp.Or(map[int]string{1: "one number", 2: "2 numbers (x z)", 3: "3 numbers (x y z)"}[n], "numbers")
	var out []float64
	switch v := v.(type) {
	case float64:
		out = []float64{v}
	case []float64:
		out = v
	case int64:
		out = []float64{float64(v)}
	case []int64:
		for _, i := range v {
			out = append(out, float64(i))
		}
	case string:
		return nil, a.fault(name, "attribute is text, want %s", wanted)
	case []string:
		return nil, a.fault(name, "attribute is a list of texts, want %s", wanted)
	default:
		return nil, a.fault(name, "attribute is of type %v, want %s", v, wanted)
	}
	if n >= 0 && len(out) != n {
		return nil, a.fault(name, "attribute has %d values, want %s", len(out), wanted)
	}
	return out, nil
}

// Float reads one number, a scalar or a list of one.
func (a Attrs) Float(name string) (float64, error) {
	v, err := a.Floats(name, 1)
	if err != nil {
		return 0, err
	}
	return v[0], nil
}

// Int reads one whole number, which may be stored as a float.
func (a Attrs) Int(name string) (int, error) {
	f, err := a.Float(name)
	if err != nil {
		return 0, err
	}
	if f != math.Trunc(f) || math.Abs(f) > 1<<53 { // larger float64 numbers skip integers
		return 0, a.fault(name, "attribute is %g, want a whole number", f)
	}
	return int(f), nil
}

// Text reads one string, of fixed or variable length.
func (a Attrs) Text(name string) (string, error) {
	v, err := a.value(name)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case []string:
		if len(v) == 1 {
			return v[0], nil
		}
	}
	return "", a.fault(name, "attribute is not one text")
}

// list reads every attribute, ordered by name. The caller is inside the library.
func (a Attrs) list() ([]Attr, error) {
	fail := func() error {
		return readError(a.path, a.object, wrapf(libraryError(), "its attributes cannot be listed"))
	}
	var info C.H5O_info_t
	if C.H5Oget_info2(a.id, &info, C.H5O_INFO_NUM_ATTRS) < 0 {
		return nil, fail()
	}
	var out []Attr
	for i := range info.num_attrs {
		var name [1024]C.char
		if C.H5Aget_name_by_idx(a.id, cString("."), C.H5_INDEX_NAME, C.H5_ITER_INC, i, &name[0], C.size_t(len(name)), C.H5P_DEFAULT) < 0 {
			return nil, fail()
		}
		name[len(name)-1] = 0
		text := C.GoString(&name[0])
		v, err := a.value(text)
		if err != nil {
			return nil, err
		}
		out = append(out, Attr{text, v})
	}
	return out, nil
}

// writeAttr gives an attribute to an open object. It overwrites a text that is there.
func writeAttr(id C.hid_t, object string, a Attr) error {
	switch v := a.Value.(type) {
	case string:
		return textAttr(id, a.Name, v)
	case int:
		return writeAttr(id, object, Attr{a.Name, int64(v)})
	case int64:
		return numbersAttr(id, a.Name, C.H5Screate(C.H5S_SCALAR), []int64{v})
	case float64:
		return numbersAttr(id, a.Name, C.H5Screate(C.H5S_SCALAR), []float64{v})
	case []int64:
		return numbersAttr(id, a.Name, line(len(v)), v)
	case []float64:
		return numbersAttr(id, a.Name, line(len(v)), v)
	}
	panic(fmt.Sprintf("h5: attribute %s of %s: type %T cannot be written", a.Name, object, a.Value))
}

func numbersAttr[T int64 | float64](id C.hid_t, name string, space C.hid_t, v []T) error {
	defer C.H5Sclose(space)
	if len(v) == 0 || len(v) > math.MaxUint16/sizeOf[T]() {
		panic(fmt.Sprintf("h5: attribute %s has %d values", name, len(v)))
	}
	k := kindOf[T]()
	attr := C.H5Acreate2(id, cString(name), C.hid_t(k.stored.ID()), space, C.H5P_DEFAULT, C.H5P_DEFAULT)
	return fillAttr(attr, k.inMemory(), unsafe.Pointer(&v[0]))
}

func textAttr(id C.hid_t, name, text string) error {
	value := C.CString(text)
	defer C.free(unsafe.Pointer(value))
	text8, err := textType(C.H5T_VARIABLE, C.H5T_CSET_UTF8)
	if err != nil {
		return err
	}
	defer text8.Close()
	typ, space := C.hid_t(text8.ID()), C.H5Screate(C.H5S_SCALAR)
	defer C.H5Sclose(space)
	if C.H5Aexists(id, cString(name)) > 0 {
		return fillAttr(C.H5Aopen(id, cString(name), C.H5P_DEFAULT), typ, unsafe.Pointer(&value))
	}
	return fillAttr(C.H5Acreate2(id, cString(name), typ, space, C.H5P_DEFAULT, C.H5P_DEFAULT), typ, unsafe.Pointer(&value))
}

// fillAttr writes and closes an attribute, unless opening it failed.
func fillAttr(attr, memory C.hid_t, value unsafe.Pointer) error {
	if attr < 0 {
		return libraryError()
	}
	defer C.H5Aclose(attr)
	if C.H5Awrite(attr, memory, value) < 0 {
		return libraryError()
	}
	return nil
}

// line is a dataspace of one axis.
func line(n int) C.hid_t {
	dim := C.hsize_t(n)
	return C.H5Screate_simple(1, &dim, nil)
}
