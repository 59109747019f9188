package h5

// #include "shim.h"
import "C"

import "fmt"

// typeInfo is what an element of a dataset or attribute is in the file.
type typeInfo struct {
	class     C.int
	size      int
	bigEndian bool
	signed    bool
	variable  bool
	members   int
}

func typeOf(id C.hid_t, attribute bool) (typeInfo, error) {
	var t C.lsm_h5_type
	if C.lsm_h5_type_of(id, cBool(attribute), &t) < 0 {
		return typeInfo{}, libraryError()
	}
	return typeInfo{
		class: t.class, size: int(t.size), bigEndian: t.big_endian != 0, signed: t.is_signed != 0,
		variable: t.is_variable != 0, members: int(t.members),
	}, nil
}

func cBool(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

func (t typeInfo) isFloat() bool   { return t.class == C.H5T_FLOAT }
func (t typeInfo) isInteger() bool { return t.class == C.H5T_INTEGER }
func (t typeInfo) isString() bool  { return t.class == C.H5T_STRING }

// isNumber reports whether the library can convert the elements to ours. No
// machine's numbers are wider than 16 bytes; a damaged header's may be.
func (t typeInfo) isNumber() bool {
	return (t.isFloat() || t.isInteger()) && t.size <= 16
}

// String is a description such as "big-endian float64" or "string of 8 bytes".
func (t typeInfo) String() string {
	order := ""
	if t.bigEndian && t.size > 1 {
		order = "big-endian "
	}
	switch t.class {
	case C.H5T_FLOAT:
		return fmt.Sprintf("%sfloat%d", order, 8*t.size)
	case C.H5T_INTEGER:
		if t.signed {
			return fmt.Sprintf("%sint%d", order, 8*t.size)
		}
		return fmt.Sprintf("%suint%d", order, 8*t.size)
	case C.H5T_STRING:
		if t.variable {
			return "string of any length"
		}
		return fmt.Sprintf("string of %d bytes", t.size)
	case C.H5T_COMPOUND:
		return fmt.Sprintf("compound of %d members", t.members)
	case C.H5T_ENUM:
		return fmt.Sprintf("enum of %d values", t.members)
	case C.H5T_REFERENCE:
		return "reference"
	case C.H5T_OPAQUE:
		return fmt.Sprintf("opaque of %d bytes", t.size)
	case C.H5T_BITFIELD:
		return fmt.Sprintf("bitfield of %d bits", 8*t.size)
	case C.H5T_VLEN:
		return "sequence of any length"
	case C.H5T_ARRAY:
		return "array type"
	case C.H5T_TIME:
		return "time"
	}
	return "unknown type"
}
