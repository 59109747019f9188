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
	name  string
	bytes int
	get   func(b []byte, o binary.ByteOrder) float64
	put   func(b []byte, o binary.ByteOrder, v float64)
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
	Int8:   integers("8-bit integers", 1, false),
	Int16:  integers("16-bit integers", 2, false),
	Int24:  integers("24-bit integers", 3, false),
	Int32:  integers("32-bit integers", 4, false),
	Int64:  integers("64-bit integers", 8, false),
	Uint8:  integers("unsigned 8-bit integers", 1, true),
	Uint16: integers("unsigned 16-bit integers", 2, true),
	Uint24: integers("unsigned 24-bit integers", 3, true),
	Uint32: integers("unsigned 32-bit integers", 4, true),
	Uint64: integers("unsigned 64-bit integers", 8, true),
}

// integers is the codec of integers of the given number of bytes. Numbers are rounded to the
// nearest one and held within their range when they are written.
func integers(name string, bytes int, unsigned bool) codec {
	field := Field{Byte: 1, Length: bytes, Unsigned: unsigned}
	lo, end := 0.0, math.Ldexp(1, 8*bytes)
	if !unsigned {
		lo, end = -end/2, end/2
	}
	hi := math.Floor(math.Nextafter(end, 0)) // of 8 bytes, the greatest below end that a float64 holds
	return codec{name: name, bytes: bytes,
		get: func(b []byte, o binary.ByteOrder) float64 {
			if unsigned {
				return float64(uint64(field.Int(b, o)))
			}
			return float64(field.Int(b, o))
		},
		put: func(b []byte, o binary.ByteOrder, v float64) {
			v = math.Max(lo, math.Min(hi, math.RoundToEven(v)))
			if unsigned {
				field.put(b, o, uint64(v))
			} else {
				field.put(b, o, uint64(int64(v)))
			}
		}}
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

// encode is the reverse of decode.
func (c codec) encode(dst []byte, src []float32, o binary.ByteOrder) {
	for i, s := range src {
		c.put(dst[i*c.bytes:], o, float64(s))
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
