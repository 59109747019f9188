package h5

// #include "shim.h"
import "C"

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"
	"unsafe"

	"gonum.org/v1/hdf5"
)

// Number is an element type of arrays in memory.
type Number interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// kind is an element type: its name, as NumPy and Go call it, and the library's types
// of it in memory and, little-endian on every machine, in the files that are written.
type kind struct {
	name           string
	memory, stored *hdf5.Datatype
}

var kinds = func() map[string]kind {
	byName := map[string]kind{}
	for _, k := range []kind{
		{"float32", hdf5.T_NATIVE_FLOAT, hdf5.T_IEEE_F32LE}, {"float64", hdf5.T_NATIVE_DOUBLE, hdf5.T_IEEE_F64LE},
		{"int8", hdf5.T_NATIVE_INT8, hdf5.T_STD_I8LE}, {"uint8", hdf5.T_NATIVE_UINT8, hdf5.T_STD_U8LE},
		{"int16", hdf5.T_NATIVE_INT16, hdf5.T_STD_I16LE}, {"uint16", hdf5.T_NATIVE_UINT16, hdf5.T_STD_U16LE},
		{"int32", hdf5.T_NATIVE_INT32, hdf5.T_STD_I32LE}, {"uint32", hdf5.T_NATIVE_UINT32, hdf5.T_STD_U32LE},
		{"int64", hdf5.T_NATIVE_INT64, hdf5.T_STD_I64LE}, {"uint64", hdf5.T_NATIVE_UINT64, hdf5.T_STD_U64LE},
	} {
		byName[k.name] = k
	}
	return byName
}()

func kindOf[T Number]() kind { return kinds[reflect.TypeFor[T]().Name()] }

func (k kind) integer() bool { return !strings.HasPrefix(k.name, "float") }

func (k kind) inMemory() C.hid_t { return C.hid_t(k.memory.ID()) }

func sizeOf[T Number]() int {
	var v T
	return int(unsafe.Sizeof(v))
}

// typeInfo describes the type of an element of a dataset or attribute in the file.
type typeInfo struct {
	class     C.H5T_class_t
	size      int // bytes
	bigEndian bool
	signed    bool
	variable  bool // texts of any length
	set       C.H5T_cset_t
	pad       C.H5T_str_t
	members   int // of a compound or enum
}

// typeOf is the type of a dataset or attribute.
func typeOf(obj C.hid_t) (t typeInfo, err error) {
	var id C.hid_t
	if C.H5Iget_type(obj) == C.H5I_ATTR {
		id = C.H5Aget_type(obj)
	} else {
		id = C.H5Dget_type(obj)
	}
	if id < 0 {
		return t, libraryError()
	}
	defer C.H5Tclose(id)
	t.class, t.size = C.H5Tget_class(id), int(C.H5Tget_size(id))
	if t.class == C.H5T_NO_CLASS || t.size == 0 {
		return t, libraryError()
	}
	switch t.class {
	case C.H5T_INTEGER, C.H5T_FLOAT:
		t.bigEndian = C.H5Tget_order(id) == C.H5T_ORDER_BE
		t.signed = t.class == C.H5T_INTEGER && C.H5Tget_sign(id) == C.H5T_SGN_2
	case C.H5T_STRING:
		t.variable = C.H5Tis_variable_str(id) > 0
		if t.set, t.pad = C.H5Tget_cset(id), C.H5Tget_strpad(id); t.set < 0 || t.pad < 0 {
			return t, libraryError()
		}
	case C.H5T_COMPOUND, C.H5T_ENUM:
		t.members = int(C.H5Tget_nmembers(id))
	}
	return t, nil
}

// extentOf is the extent of a dataset or attribute along each axis: empty for a scalar,
// [0] where it has no extent at all.
func extentOf(obj C.hid_t) ([]int, error) {
	var space C.hid_t
	if C.H5Iget_type(obj) == C.H5I_ATTR {
		space = C.H5Aget_space(obj)
	} else {
		space = C.H5Dget_space(obj)
	}
	if space < 0 {
		return nil, libraryError()
	}
	defer C.H5Sclose(space)
	if C.H5Sget_simple_extent_type(space) == C.H5S_NULL {
		return []int{0}, nil
	}
	var dims [C.H5S_MAX_RANK]C.hsize_t
	rank := C.H5Sget_simple_extent_dims(space, &dims[0], nil)
	if rank < 0 {
		return nil, libraryError()
	}
	shape := make([]int, rank)
	for i := range shape {
		shape[i] = int(dims[i]) // beyond an int it turns negative, which product refuses
	}
	return shape, nil
}

func (t typeInfo) isFloat() bool  { return t.class == C.H5T_FLOAT }
func (t typeInfo) isString() bool { return t.class == C.H5T_STRING }

// isNumber reports whether the library can convert the elements to a type of ours. No
// machine has numbers wider than 16 bytes; a damaged header may claim them.
func (t typeInfo) isNumber() bool {
	return (t.isFloat() || t.class == C.H5T_INTEGER) && t.size <= 16
}

// kind is the type in memory that equals the stored one. Its name is empty if there is none.
func (t typeInfo) kind() kind {
	if !t.isNumber() {
		return kind{}
	}
	t.bigEndian = false
	return kinds[t.String()]
}

// String is a description such as "big-endian float64" or "string of 8 bytes".
func (t typeInfo) String() string {
	order, sign := "", "u"
	if t.bigEndian && t.size > 1 {
		order = "big-endian "
	}
	if t.signed {
		sign = ""
	}
	switch t.class {
	case C.H5T_FLOAT:
		return fmt.Sprintf("%sfloat%d", order, 8*t.size)
	case C.H5T_INTEGER:
		return fmt.Sprintf("%s%sint%d", order, sign, 8*t.size)
	case C.H5T_STRING:
		if t.variable {
			return "string of any length"
		}
		return fmt.Sprintf("string of %d bytes", t.size)
	case C.H5T_COMPOUND:
		return fmt.Sprintf("compound of %d members", t.members)
	case C.H5T_ENUM:
		return fmt.Sprintf("enum of %d values", t.members)
	case C.H5T_OPAQUE:
		return fmt.Sprintf("opaque of %d bytes", t.size)
	case C.H5T_BITFIELD:
		return fmt.Sprintf("bitfield of %d bits", 8*t.size)
	}
	if name := otherTypes[t.class]; name != "" {
		return name
	}
	return "unknown type"
}

var otherTypes = map[C.H5T_class_t]string{
	C.H5T_REFERENCE: "reference", C.H5T_VLEN: "sequence of any length", C.H5T_ARRAY: "array type", C.H5T_TIME: "time",
}

// whole converts a float to an integer type, or says why it cannot.
func whole[T Number](v float64) (T, error) {
	var zero T
	bits := 8 * sizeOf[T]()
	low, high := 0.0, math.Ldexp(1, bits) // high is the first that is too large
	if zero-1 < zero {
		low, high = -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1)
	}
	switch {
	case v >= high:
		return 0, fmt.Errorf("%g, too large for %T", v, zero)
	case v < low:
		return 0, fmt.Errorf("%g, too small for %T", v, zero)
	case v != math.Trunc(v): // NaN among them
		return 0, fmt.Errorf("%g, want whole numbers", v)
	}
	return T(v), nil
}

// fit converts an integer to another type, or says why that cannot hold it.
func fit[S int64 | uint64, T Number](v S) (T, error) {
	n := T(v)
	switch {
	case S(n) == v && (n < 0) == (v < 0):
		return n, nil
	case v > 0:
		return 0, fmt.Errorf("a number too large for %T", n)
	}
	return 0, fmt.Errorf("a number too small for %T", n)
}

// notFinite is the place of the first NaN or infinity, -1 for none.
func notFinite[T float32 | float64](v []T) int {
	for i, x := range v {
		if x-x != 0 { // NaN for both, and one operation for all others
			return i
		}
	}
	return -1
}

// littleEndian returns the bytes of v in little-endian order: v itself where
// the machine is little-endian, a copy elsewhere.
func littleEndian[T Number](v []T) []byte {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*sizeOf[T]())
	}
	raw, _ := binary.Append(nil, binary.LittleEndian, v) // numbers of fixed size
	return raw
}
