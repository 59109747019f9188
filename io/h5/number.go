package h5

// #include "shim.h"
import "C"

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unsafe"
)

// Number is an element type of arrays in memory.
type Number interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// kindOf is the shim's number of the element type.
func kindOf[T Number]() C.int {
	var v T
	switch any(v).(type) {
	case float32:
		return C.LSM_F32
	case float64:
		return C.LSM_F64
	case int8:
		return C.LSM_I8
	case int16:
		return C.LSM_I16
	case int32:
		return C.LSM_I32
	case int64:
		return C.LSM_I64
	case uint8:
		return C.LSM_U8
	case uint16:
		return C.LSM_U16
	case uint32:
		return C.LSM_U32
	}
	return C.LSM_U64
}

func sizeOf[T Number]() int {
	var v T
	return int(unsafe.Sizeof(v))
}

func isInteger[T Number]() bool { return kindOf[T]() >= C.LSM_I8 }

// whole converts a float to an integer type, or says why it cannot be one.
func whole[T Number](v float64) (T, string) {
	var zero T
	bits := 8 * sizeOf[T]()
	low, high := 0.0, math.Ldexp(1, bits) // high is the first that is too large
	if kindOf[T]() < C.LSM_U8 {
		low, high = -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1)
	}
	switch {
	case math.IsNaN(v):
		return 0, "want whole numbers"
	case v >= high:
		return 0, fmt.Sprintf("too large for %T", zero)
	case v < low:
		return 0, fmt.Sprintf("too small for %T", zero)
	case v != math.Trunc(v):
		return 0, "want whole numbers"
	}
	return T(v), ""
}

// notFinite is the place of the first NaN or infinity, -1 where there is none.
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
	if len(v) == 0 {
		return nil
	}
	size := sizeOf[T]()
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*size)
	if size == 1 || binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return raw
	}
	out := slices.Clone(raw)
	littleBytes(out, size)
	return out
}

// littleBytes puts numbers of size bytes, in the machine's order, into little-endian
// order.
func littleBytes(raw []byte, size int) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return
	}
	for i := 0; i+size <= len(raw); i += size {
		slices.Reverse(raw[i : i+size])
	}
}
