package segy

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Spec describes a file that is to be written.
type Spec struct {
	Kind     Kind     // SEGY unless SU
	Order    Order    // Big unless Little; SU is Little by default
	Major    int      // revision 0, 1 or 2
	Format   Format   // IEEE32 unless given; SU has no other
	Samples  int      // of every trace
	Interval float64  // µs, or thousandths of the unit of depth
	Sorting  int      // trace sorting code (section 5, byte 3229)
	Text     []string // of the textual header, at most 40 lines of 76 characters
}

// Writer writes a file, trace by trace, front to back.
type Writer struct {
	w     io.Writer
	spec  Spec
	codec codec
	raw   []byte
}

// NewWriter judges the spec and writes the headers of the file.
func NewWriter(w io.Writer, spec Spec) (*Writer, error) {
	if spec.Format == 0 {
		spec.Format = IEEE32
	}
	if spec.Order == AnyOrder {
		spec.Order = Big
		if spec.Kind == SU {
			spec.Order = Little
		}
	}
	out := &Writer{w: w, spec: spec}
	var ok bool
	if out.codec, ok = codecs[spec.Format]; !ok || spec.Kind == SU && spec.Format != IEEE32 {
		return nil, fmt.Errorf("segy: samples cannot be written as %v", spec.Format)
	}
	most := math.MaxUint16
	if spec.Major == 2 && spec.Kind != SU {
		most = math.MaxInt32
	}
	whole := spec.Interval == math.Trunc(spec.Interval) && spec.Interval <= math.MaxUint16
	switch {
	case spec.Major < 0 || spec.Major > 2:
		return nil, fmt.Errorf("segy: revision is %d, must be 0, 1 or 2", spec.Major)
	case spec.Samples < 1 || spec.Samples > most:
		return nil, fmt.Errorf("segy: traces have %d samples, this format holds 1 to %d", spec.Samples, most)
	case !(spec.Interval > 0) || math.IsInf(spec.Interval, 0) || !whole && most == math.MaxUint16:
		return nil, fmt.Errorf("segy: sample interval is %g, this format holds whole numbers from 1 to %d", spec.Interval, math.MaxUint16)
	}
	if spec.Kind != SU {
		reel, err := out.reel()
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(reel); err != nil {
			return nil, err
		}
	}
	out.raw = make([]byte, headerBytes+spec.Samples*out.codec.bytes)
	return out, nil
}

// short16 is a number for a field of two bytes, 0 where another field has it.
func short16(v float64) int64 {
	if v > math.MaxUint16 || v != math.Trunc(v) {
		return 0
	}
	return int64(v)
}

// reel makes the textual and the binary header.
func (w *Writer) reel() ([]byte, error) {
	s := w.spec
	reel := append(encodeText(s.Text), make([]byte, reelBytes-textBytes)...)
	o := s.Order.binary()
	type entry struct {
		field Field
		v     int64
	}
	list := []entry{
		{fileInterval, short16(s.Interval)}, {fileSamples, short16(float64(s.Samples))},
		{fileFormat, int64(s.Format)}, {fileSorting, int64(s.Sorting)}, {fileUnits, 1},
	}
	if s.Major > 0 {
		list = append(list, entry{fileMajor, int64(s.Major)}, entry{fileFixed, 1})
	}
	if s.Major == 2 {
		list = append(list, entry{fileExtSamples, int64(s.Samples)}, entry{fileByteOrder, 0x01020304},
			entry{fileExtInterval, int64(math.Float64bits(s.Interval))})
	}
	for _, e := range list {
		if err := e.field.Put(reel, o, e.v); err != nil {
			return nil, err
		}
	}
	return reel, nil
}

// Header is a trace header that is being made. The first number that does not fit
// its field is kept as Err.
type Header struct {
	raw   [headerBytes]byte
	order binary.ByteOrder
	Err   error
}

// Header is an empty trace header with the sampling of the file.
func (w *Writer) Header() *Header {
	h := &Header{order: w.spec.Order.binary()}
	h.Set(TraceSamples, short16(float64(w.spec.Samples)))
	h.Set(TraceInterval, short16(w.spec.Interval))
	return h
}

// Set writes a number.
func (h *Header) Set(f Field, v int64) {
	if err := f.Put(h.raw[:], h.order, v); err != nil && h.Err == nil {
		h.Err = err
	}
}

// Write writes a trace, of as many samples as the spec says.
func (w *Writer) Write(h *Header, samples []float32) error {
	if h.Err != nil {
		return h.Err
	}
	if len(samples) != w.spec.Samples {
		panic(fmt.Sprintf("segy: a trace of %d samples in a file of %d", len(samples), w.spec.Samples))
	}
	copy(w.raw, h.raw[:])
	w.codec.encode(w.raw[headerBytes:], samples, h.order)
	_, err := w.w.Write(w.raw)
	return err
}
