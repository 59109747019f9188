package h5

// #include "shim.h"
import "C"

import (
	"errors"
	"math"
	"strings"
	"unsafe"
)

// Attrs reads the attributes of one object of a file.
type Attrs struct {
	path   string
	object string // "" for the file's root
	id     int64
}

// Attr is a named value: string, int64, float64, or a slice of one of them.
// Writing also takes int, int32 and float32.
type Attr struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// errHuge is a text whose damaged length there is no memory for. Its true one cannot be
// known before it is read.
var errHuge = errors.New("claims more memory than there is")

// maxAttr bounds elements and bytes of one attribute; the format itself keeps
// most attributes below 64 KiB.
const maxAttr = 1 << 20

func (a Attrs) key(name string) string { return a.object + "@" + name }

// Has reports whether the attribute exists.
func (a Attrs) Has(name string) bool {
	has := false
	locked(func() error {
		has = a.has(name)
		return nil
	})
	return has
}

// has is Has for callers inside the library's lock. What cannot be told counts as
// there, so that reading it says why.
func (a Attrs) has(name string) bool {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	return C.H5Aexists(C.hid_t(a.id), c) != 0
}

// value reads one attribute of whatever type: an Attr's value, or the
// description of a type that is neither number nor string.
func (a Attrs) value(name string) (any, error) {
	var v any
	err := locked(func() (err error) {
		mind(a.path)
		v, err = a.read(name)
		return err
	})
	return v, err
}

type otherType string

func (a Attrs) read(name string) (any, error) {
	if !a.has(name) {
		return nil, inputError(a.path, a.key(name), "attribute is missing")
	}
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	fail := func() error {
		err := libraryError()
		if strings.Contains(err.Error(), "memory allocation failed") {
			return inputError(a.path, a.key(name), "claims more memory than there is: it is damaged%w", hidden{errHuge})
		}
		return readError(a.path, a.key(name), wrapf(err, "attribute cannot be read"))
	}
	id := C.H5Aopen(C.hid_t(a.id), c, C.H5P_DEFAULT)
	if id < 0 {
		return nil, fail()
	}
	defer C.H5Aclose(id)
	var rank C.int
	n := int(C.lsm_h5_points(id, 1, &rank))
	if n < 0 {
		return nil, fail()
	}
	t, err := typeOf(id, true)
	if err != nil {
		return nil, fail()
	}
	if n > maxAttr || t.size > maxAttr/max(n, 1) {
		return nil, inputError(a.path, a.key(name), "attribute claims %d elements of %d bytes, at most %d bytes are read", n, t.size, maxAttr)
	}
	switch {
	case t.isFloat() && t.isNumber():
		v := make([]float64, n)
		if n > 0 && C.lsm_h5_attr_read(id, C.LSM_F64, unsafe.Pointer(&v[0])) < 0 {
			return nil, fail()
		}
		return scalar(v, rank), nil
	case t.isInteger() && t.isNumber():
		v := make([]int64, n)
		if n > 0 && C.lsm_h5_attr_read(id, C.LSM_I64, unsafe.Pointer(&v[0])) < 0 {
			return nil, fail()
		}
		return scalar(v, rank), nil
	case t.isString():
		v, ok := texts(id, true)
		if !ok {
			return nil, fail()
		}
		return scalar(v, rank), nil
	}
	return otherType(t.String()), nil
}

// texts reads all strings of an attribute or dataset; what is not UTF-8 is
// marked by the replacement character.
func texts(id C.hid_t, attribute bool) ([]string, bool) {
	var size C.size_t
	p := C.lsm_h5_strings(id, cBool(attribute), &size)
	if p == nil {
		return nil, false
	}
	defer C.free(unsafe.Pointer(p))
	if size == 0 {
		return []string{}, true
	}
	all := string(unsafe.Slice((*byte)(unsafe.Pointer(p)), int(size)))
	return strings.Split(strings.ToValidUTF8(strings.TrimSuffix(all, "\x00"), "\uFFFD"), "\x00"), true
}

func scalar[T any](v []T, rank C.int) any {
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
	default:
		return nil, inputError(a.path, a.key(name), "attribute is %s, want %s", valueText(v), wanted(n))
	}
	if n >= 0 && len(out) != n {
		return nil, inputError(a.path, a.key(name), "attribute has %d values, want %s", len(out), wanted(n))
	}
	return out, nil
}

func wanted(n int) string {
	switch n {
	case -1:
		return "numbers"
	case 1:
		return "one number"
	case 2:
		return "2 numbers (x z)"
	case 3:
		return "3 numbers (x y z)"
	}
	return "numbers"
}

func valueText(v any) string {
	switch v := v.(type) {
	case string:
		return "text"
	case []string:
		return "a list of texts"
	case otherType:
		return "of type " + string(v)
	}
	return "of another type"
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
	if f != math.Trunc(f) || math.Abs(f) > 1<<53 { // beyond it a float64 has no ones
		return 0, inputError(a.path, a.key(name), "attribute is %g, want a whole number", f)
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
	return "", inputError(a.path, a.key(name), "attribute is not one text")
}

// All reads every attribute of a number or string type, ordered by name.
func (a Attrs) All() ([]Attr, error) {
	var all []Attr
	err := locked(func() (err error) {
		mind(a.path)
		all, err = a.list()
		return err
	})
	keep := all[:0]
	for _, x := range all {
		if _, other := x.Value.(otherType); !other {
			keep = append(keep, x)
		}
	}
	return keep, err
}

// list reads every attribute; it needs the library's lock.
func (a Attrs) list() ([]Attr, error) {
	n := int(C.lsm_h5_attr_count(C.hid_t(a.id)))
	if n < 0 {
		return nil, readError(a.path, a.object, wrapf(libraryError(), "its attributes cannot be listed"))
	}
	var out []Attr
	for i := range n {
		var name [1024]C.char
		if C.lsm_h5_attr_name(C.hid_t(a.id), C.longlong(i), &name[0], C.size_t(len(name))) < 0 {
			return nil, readError(a.path, a.object, wrapf(libraryError(), "its attributes cannot be listed"))
		}
		name[len(name)-1] = 0
		text := C.GoString(&name[0])
		v, err := a.read(text)
		if err != nil {
			return nil, err
		}
		out = append(out, Attr{text, v})
	}
	return out, nil
}
