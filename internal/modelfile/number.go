package modelfile

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// number is a type of elements in a file.
type number struct {
	name  string // as NumPy has it
	bytes int
	wide  bool // float32 does not hold all of its values
	get   func(b []byte, o binary.ByteOrder) float64
	put   func(b []byte, o binary.ByteOrder, v float64) // nil: it is not written
}

var numbers = func() map[string]number {
	byName := map[string]number{}
	for _, n := range []number{
		{"float32", 4, false, func(b []byte, o binary.ByteOrder) float64 { return float64(math.Float32frombits(o.Uint32(b))) },
			func(b []byte, o binary.ByteOrder, v float64) { o.PutUint32(b, math.Float32bits(float32(v))) }},
		{"float64", 8, true, func(b []byte, o binary.ByteOrder) float64 { return math.Float64frombits(o.Uint64(b)) },
			func(b []byte, o binary.ByteOrder, v float64) { o.PutUint64(b, math.Float64bits(v)) }},
		{"int8", 1, false, func(b []byte, _ binary.ByteOrder) float64 { return float64(int8(b[0])) }, nil},
		{"uint8", 1, false, func(b []byte, _ binary.ByteOrder) float64 { return float64(b[0]) }, nil},
		{"int16", 2, false, func(b []byte, o binary.ByteOrder) float64 { return float64(int16(o.Uint16(b))) }, nil},
		{"uint16", 2, false, func(b []byte, o binary.ByteOrder) float64 { return float64(o.Uint16(b)) }, nil},
		{"int32", 4, true, func(b []byte, o binary.ByteOrder) float64 { return float64(int32(o.Uint32(b))) }, nil},
		{"uint32", 4, true, func(b []byte, o binary.ByteOrder) float64 { return float64(o.Uint32(b)) }, nil},
		{"int64", 8, true, func(b []byte, o binary.ByteOrder) float64 { return float64(int64(o.Uint64(b))) }, nil},
		{"uint64", 8, true, func(b []byte, o binary.ByteOrder) float64 { return float64(o.Uint64(b)) }, nil},
	} {
		byName[n.name] = n
	}
	return byName
}()

// numberNamed is the type of a name, such as "float32".
func numberNamed(name string) (number, error) {
	n, ok := numbers[name]
	if !ok {
		return n, fmt.Errorf("type of elements is %q, want one of %s", name, strings.Join(slices.Sorted(maps.Keys(numbers)), ", "))
	}
	return n, nil
}

// orders are the byte orders by name.
var orders = map[string]binary.ByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian}
