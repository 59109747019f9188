package segy

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Format is a sample format code (section 5, bytes 3225-3226).
type Format int

const (
	IBM32   Format = 1
	Int32   Format = 2
	Int16   Format = 3
	IEEE32  Format = 5
	IEEE64  Format = 6
	Int24   Format = 7
	Int8    Format = 8
	Int64   Format = 9
	Uint32  Format = 10
	Uint16  Format = 11
	Uint64  Format = 12
	Uint24  Format = 15
	Uint8   Format = 16
	gained4 Format = 4 // fixed point with gain code, obsolete since revision 1
)

// codec turns samples of one format into numbers and back.
type codec struct {
	name   string
	bytes  int
	get    func(b []byte, o binary.ByteOrder) float64
	put    func(b []byte, o binary.ByteOrder, v float64)
	lo, hi float64 // of integers
}

// Bytes is the size of one sample, 0 for a code that is none of the above.
func (f Format) Bytes() int { return codecs[f].bytes }

func (f Format) String() string {
	if c, ok := codecs[f]; ok {
		return c.name
	}
	return fmt.Sprintf("format %d", int(f))
}

var codecs = map[Format]codec{
	IBM32: {name: "IBM floats", bytes: 4,
		get: func(b []byte, o binary.ByteOrder) float64 { return fromIBM(o.Uint32(b)) },
		put: func(b []byte, o binary.ByteOrder, v float64) { o.PutUint32(b, toIBM(v)) }},
	IEEE32: {name: "IEEE floats", bytes: 4,
		get: func(b []byte, o binary.ByteOrder) float64 { return float64(math.Float32frombits(o.Uint32(b))) },
		put: func(b []byte, o binary.ByteOrder, v float64) { o.PutUint32(b, math.Float32bits(float32(v))) }},
	IEEE64: {name: "IEEE doubles", bytes: 8,
		get: func(b []byte, o binary.ByteOrder) float64 { return math.Float64frombits(o.Uint64(b)) },
		put: func(b []byte, o binary.ByteOrder, v float64) { o.PutUint64(b, math.Float64bits(v)) }},
	Int8: {name: "8-bit integers", bytes: 1, lo: math.MinInt8, hi: math.MaxInt8,
		get: func(b []byte, _ binary.ByteOrder) float64 { return float64(int8(b[0])) },
		put: func(b []byte, _ binary.ByteOrder, v float64) { b[0] = byte(int8(v)) }},
	Int16: {name: "16-bit integers", bytes: 2, lo: math.MinInt16, hi: math.MaxInt16,
		get: func(b []byte, o binary.ByteOrder) float64 { return float64(int16(o.Uint16(b))) },
		put: func(b []byte, o binary.ByteOrder, v float64) { o.PutUint16(b, uint16(int16(v))) }},
	Int24: {name: "24-bit integers", bytes: 3, lo: -1 << 23, hi: 1<<23 - 1,
		get: func(b []byte, o binary.ByteOrder) float64 { return float64(int32(uint24(b, o)<<8) >> 8) },
		put: func(b []byte, o binary.ByteOrder, v float64) { putUint24(b, o, uint32(int32(v))) }},
	Int32: {name: "32-bit integers", bytes: 4, lo: math.MinInt32, hi: math.MaxInt32,
		get: func(b []byte, o binary.ByteOrder) float64 { return float64(int32(o.Uint32(b))) },
		put: func(b []byte, o binary.ByteOrder, v float64) { o.PutUint32(b, uint32(int32(v))) }},
	Int64: {name: "64-bit integers", bytes: 8, lo: math.MinInt64, hi: 1<<63 - 1024,
		get: func(b []byte, o binary.ByteOrder) float64 { return float64(int64(o.Uint64(b))) },
		put: func(b []byte, o binary.ByteOrder, v float64) { o.PutUint64(b, uint64(int64(v))) }},
	Uint8: {name: "unsigned 8-bit integers", bytes: 1, hi: math.MaxUint8,
		get: func(b []byte, _ binary.ByteOrder) float64 { return float64(b[0]) },
		put: func(b []byte, _ binary.ByteOrder, v float64) { b[0] = byte(v) }},
	Uint16: {name: "unsigned 16-bit integers", bytes: 2, hi: math.MaxUint16,
		get: func(b []byte, o binary.ByteOrder) float64 { return float64(o.Uint16(b)) },
		put: func(b []byte, o binary.ByteOrder, v float64) { o.PutUint16(b, uint16(v)) }},
	Uint24: {name: "unsigned 24-bit integers", bytes: 3, hi: 1<<24 - 1,
		get: func(b []byte, o binary.ByteOrder) float64 { return float64(uint24(b, o)) },
		put: func(b []byte, o binary.ByteOrder, v float64) { putUint24(b, o, uint32(v)) }},
	Uint32: {name: "unsigned 32-bit integers", bytes: 4, hi: math.MaxUint32,
		get: func(b []byte, o binary.ByteOrder) float64 { return float64(o.Uint32(b)) },
		put: func(b []byte, o binary.ByteOrder, v float64) { o.PutUint32(b, uint32(v)) }},
	Uint64: {name: "unsigned 64-bit integers", bytes: 8, hi: 1<<64 - 2048,
		get: func(b []byte, o binary.ByteOrder) float64 { return float64(o.Uint64(b)) },
		put: func(b []byte, o binary.ByteOrder, v float64) { o.PutUint64(b, uint64(v)) }},
}

func uint24(b []byte, o binary.ByteOrder) uint32 {
	if o == binary.ByteOrder(binary.BigEndian) {
		return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
	}
	return uint32(b[2])<<16 | uint32(b[1])<<8 | uint32(b[0])
}

func putUint24(b []byte, o binary.ByteOrder, v uint32) {
	b[0], b[1], b[2] = byte(v), byte(v>>8), byte(v>>16)
	if o == binary.ByteOrder(binary.BigEndian) {
		b[0], b[2] = b[2], b[0]
	}
}

// decode fills dst from the bytes of as many samples and counts those that
// float32 does not hold exactly; what is NaN in the file stays NaN and does not
// count, what exceeds float32 becomes infinite and does.
func (c codec) decode(dst []float32, src []byte, o binary.ByteOrder) (rounded int) {
	for i := range dst {
		v := c.get(src[i*c.bytes:], o)
		dst[i] = float32(v)
		if float64(dst[i]) != v && v == v {
			rounded++
		}
	}
	return rounded
}

// encode is the reverse of decode; integers are rounded to the nearest and held
// within their range.
func (c codec) encode(dst []byte, src []float32, o binary.ByteOrder) {
	for i, s := range src {
		v := float64(s)
		if c.hi > 0 {
			v = math.Max(c.lo, math.Min(c.hi, math.RoundToEven(v)))
		}
		c.put(dst[i*c.bytes:], o, v)
	}
}

// ibmScale[e] is 16^(e-64) / 2^24.
var ibmScale = func() (s [128]float64) {
	for e := range s {
		s[e] = math.Ldexp(1, 4*(e-64)-24)
	}
	return s
}()

// fromIBM is an IBM System/360 float: a sign, an exponent of 16 in excess 64, and
// a fraction of 24 bits (revision 1, appendix E). Every one is exact in float64.
func fromIBM(w uint32) float64 {
	v := float64(w&0xFFFFFF) * ibmScale[w>>24&0x7F]
	if w>>31 != 0 {
		return -v
	}
	return v
}

// toIBM is the IBM float nearest to v; up to three bits of a float32 are lost. The
// range of IBM floats includes that of float32; NaN and what is out of range
// become the greatest number, since the format has no other.
func toIBM(v float64) uint32 {
	sign := uint32(0)
	if math.Signbit(v) {
		sign, v = 1<<31, -v
	}
	if v == 0 {
		return sign
	}
	_, e2 := math.Frexp(v) // v < 2^e2
	e := (e2 + 3) >> 2     // v < 16^e
	fraction := math.RoundToEven(math.Ldexp(v, 24-4*e))
	if fraction >= 1<<24 {
		fraction, e = fraction/16, e+1
	}
	switch {
	case !(e <= 63):
		return sign | 0x7FFFFFFF
	case math.IsInf(v, 0) || math.IsNaN(v):
		return sign | 0x7FFFFFFF
	case e < -64:
		return sign
	}
	return sign | uint32(e+64)<<24 | uint32(fraction)
}
