package segy

import (
	"cmp"
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
	spec.Format = cmp.Or(spec.Format, IEEE32)
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

func (w *Writer) reel() ([]byte, error) {
	s := w.spec
	reel := append(encodeText(s.Text), make([]byte, reelBytes-textBytes)...)
	fields := map[Field]int64{
		fileInterval: short16(s.Interval), fileSamples: short16(float64(s.Samples)),
		fileFormat: int64(s.Format), fileSorting: int64(s.Sorting), fileUnits: 1,
	}
	if s.Major > 0 {
		fields[fileMajor], fields[fileFixed] = int64(s.Major), 1
	}
	if s.Major == 2 {
		fields[fileExtSamples], fields[fileByteOrder] = int64(s.Samples), 0x01020304
		fields[fileExtInterval] = int64(math.Float64bits(s.Interval))
	}
	return reel, w.put(reel, fields)
}

// Write writes a trace, of as many samples as the spec says. Its header has the sampling
// of the file, and numbers in these fields; one that its field cannot hold is an error.
func (w *Writer) Write(fields map[Field]int64, samples []float32) error {
	if len(samples) != w.spec.Samples {
		panic(fmt.Sprintf("segy: a trace of %d samples in a file of %d", len(samples), w.spec.Samples))
	}
	clear(w.raw[:headerBytes])
	sampling := map[Field]int64{TraceSamples: short16(float64(w.spec.Samples)), TraceInterval: short16(w.spec.Interval)}
	for _, some := range []map[Field]int64{sampling, fields} {
		if err := w.put(w.raw, some); err != nil {
			return err
		}
	}
	w.codec.encode(w.raw[headerBytes:], samples, w.spec.Order.binary())
	_, err := w.w.Write(w.raw)
	return err
}

func (w *Writer) put(header []byte, fields map[Field]int64) error {
	for f, v := range fields {
		if err := f.Put(header, w.spec.Order.binary(), v); err != nil {
			return err
		}
	}
	return nil
}
