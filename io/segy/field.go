package segy

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Field is where in a header a number lies.
type Field struct {
	Byte     int // of its first byte, counted from 1
	Length   int // bytes: 1, 2, 4 or 8
	Unsigned bool
	Float    bool // IEEE float of 4 or 8 bytes
}

// Fields of the trace header that programs agree on (section 7.1, table 3).
var (
	SequenceLine      = Field{Byte: 1, Length: 4}
	SequenceFile      = Field{Byte: 5, Length: 4}
	FieldRecord       = Field{Byte: 9, Length: 4}
	Channel           = Field{Byte: 13, Length: 4}
	SourcePoint       = Field{Byte: 17, Length: 4}
	CDP               = Field{Byte: 21, Length: 4}
	CDPTrace          = Field{Byte: 25, Length: 4}
	TraceID           = Field{Byte: 29, Length: 2}
	Offset            = Field{Byte: 37, Length: 4}
	ReceiverElevation = Field{Byte: 41, Length: 4}
	SourceElevation   = Field{Byte: 45, Length: 4}
	SourceDepth       = Field{Byte: 49, Length: 4}
	ElevationScalar   = Field{Byte: 69, Length: 2}
	CoordinateScalar  = Field{Byte: 71, Length: 2}
	SourceX           = Field{Byte: 73, Length: 4}
	SourceY           = Field{Byte: 77, Length: 4}
	ReceiverX         = Field{Byte: 81, Length: 4}
	ReceiverY         = Field{Byte: 85, Length: 4}
	CoordinateUnits   = Field{Byte: 89, Length: 2}
	Delay             = Field{Byte: 109, Length: 2}
	TraceSamples      = Field{Byte: 115, Length: 2, Unsigned: true}
	TraceInterval     = Field{Byte: 117, Length: 2, Unsigned: true}
	UpholeTime        = Field{Byte: 95, Length: 2} // at the source
	SourceStatic      = Field{Byte: 99, Length: 2}
	ReceiverStatic    = Field{Byte: 101, Length: 2}
	TotalStatic       = Field{Byte: 103, Length: 2}
	CDPX              = Field{Byte: 181, Length: 4}
	CDPY              = Field{Byte: 185, Length: 4}
	Inline            = Field{Byte: 189, Length: 4}
	Crossline         = Field{Byte: 193, Length: 4}
	TimeScalar        = Field{Byte: 215, Length: 2}
)

// Fields of the first trace header extension (section 7.1, table 4).
var (
	extSamples  = Field{Byte: 240 + 137, Length: 4, Unsigned: true}
	extInterval = Field{Byte: 240 + 145, Length: 8, Float: true}
	extBlocks   = Field{Byte: 240 + 157, Length: 2, Unsigned: true}
)

// Fields of the binary file header, counted from the start of the file (section
// 5, table 2).
var (
	fileInterval    = Field{Byte: 3217, Length: 2, Unsigned: true}
	fileSamples     = Field{Byte: 3221, Length: 2, Unsigned: true}
	fileFormat      = Field{Byte: 3225, Length: 2}
	fileSorting     = Field{Byte: 3229, Length: 2}
	fileUnits       = Field{Byte: 3255, Length: 2}
	fileExtSamples  = Field{Byte: 3269, Length: 4}
	fileExtInterval = Field{Byte: 3273, Length: 8, Float: true}
	fileByteOrder   = Field{Byte: 3297, Length: 4}
	fileMajor       = Field{Byte: 3501, Length: 1, Unsigned: true}
	fileMinor       = Field{Byte: 3502, Length: 1, Unsigned: true}
	fileFixed       = Field{Byte: 3503, Length: 2}
	fileTexts       = Field{Byte: 3505, Length: 2}
	fileExtra       = Field{Byte: 3507, Length: 4} // 2 bytes from revision 2.1 on
	fileTraces      = Field{Byte: 3513, Length: 8}
	fileFirst       = Field{Byte: 3521, Length: 8}
	fileTrailers    = Field{Byte: 3529, Length: 4}
)

// names are the fields' names, as errors have them.
var names = map[Field]string{
	TraceSamples:    "number of samples",
	fileSamples:     "number of samples",
	extBlocks:       "number of header extensions",
	extSamples:      "number of samples",
	fileByteOrder:   "byte order",
	fileExtInterval: "extended sample interval",
	fileExtSamples:  "extended number of samples",
	fileFirst:       "byte offset of the first trace",
	fileFormat:      "sample format code",
	fileTexts:       "number of extended textual headers",
	fileTraces:      "number of traces",
	fileTrailers:    "number of data trailers",
	fileExtra:       "number of additional trace headers",
}

// Validate checks that the field can be read from some header at all.
func (f Field) Validate() error {
	switch {
	case f.Byte < 1:
		return fmt.Errorf("byte is %d, must be 1 or more", f.Byte)
	case f.Float && f.Length != 4 && f.Length != 8:
		return fmt.Errorf("a float of %d bytes, want 4 or 8", f.Length)
	case f.Length != 1 && f.Length != 2 && f.Length != 4 && f.Length != 8:
		return fmt.Errorf("length is %d bytes, want 1, 2, 4 or 8", f.Length)
	}
	return nil
}

// End is the last byte of the field.
func (f Field) End() int { return f.Byte + f.Length - 1 }

// Int reads the field as an integer; a float is rounded to the nearest one.
// The header must be long enough.
func (f Field) Int(header []byte, order binary.ByteOrder) int64 {
	if f.Float {
		v := math.Round(f.Value(header, order))
		if !(math.Abs(v) < 1<<62) {
			return math.MinInt64
		}
		return int64(v)
	}
	bits, little := uint64(0), order == binary.ByteOrder(binary.LittleEndian)
	for i, b := range header[f.Byte-1 : f.End()] {
		if little {
			bits |= uint64(b) << (8 * i)
		} else {
			bits = bits<<8 | uint64(b)
		}
	}
	if f.Unsigned {
		return int64(bits)
	}
	spare := 64 - 8*f.Length
	return int64(bits<<spare) >> spare
}

// Value reads the field as a float64. The header must be long enough.
func (f Field) Value(header []byte, order binary.ByteOrder) float64 {
	switch {
	case f.Float && f.Length == 4:
		return float64(math.Float32frombits(order.Uint32(header[f.Byte-1:])))
	case f.Float:
		return math.Float64frombits(order.Uint64(header[f.Byte-1:]))
	}
	return float64(f.Int(header, order))
}

// Limits are the least and greatest integers that the field holds.
func (f Field) Limits() (lo, hi int64) {
	bits := 8 * f.Length
	switch {
	case f.Length == 8:
		return math.MinInt64, math.MaxInt64
	case f.Unsigned:
		return 0, 1<<bits - 1
	}
	return -1 << (bits - 1), 1<<(bits-1) - 1
}

// Put writes an integer; one that the field cannot hold is an error.
func (f Field) Put(header []byte, order binary.ByteOrder, v int64) error {
	if lo, hi := f.Limits(); v < lo || v > hi {
		return fmt.Errorf("segy: %d does not fit into header byte %d, which holds %d to %d", v, f.Byte, lo, hi)
	}
	f.put(header, order, uint64(v))
	return nil
}

// put writes the low bytes of bits.
func (f Field) put(header []byte, order binary.ByteOrder, bits uint64) {
	b := header[f.Byte-1 : f.End()]
	for i := range b {
		b[i] = byte(bits >> (8 * i))
	}
	if order == binary.ByteOrder(binary.BigEndian) {
		slices.Reverse(b)
	}
}

// Scaled applies the scalar of a header: a positive one multiplies, a negative one
// divides, and 0 stands for 1 (section 7.1, bytes 69 to 72 and 215).
func Scaled(v float64, scalar int) float64 {
	switch {
	case scalar > 0:
		return v * float64(scalar)
	case scalar < 0:
		return v / -float64(scalar)
	}
	return v
}
