package segy

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
)

// Trace is one trace as it lies in a file. Its slices belong to the reader, which
// overwrites them at the next call.
type Trace struct {
	Number  int   // from 0
	At      int64 // bytes before it in the file
	Header  []byte
	NS      int       // samples in the file
	Samples []float32 // empty where they were passed over
	Rounded int       // samples that float32 does not hold exactly
}

// Reader reads the traces of a file in order.
type Reader struct {
	f      *File
	buf    *bufio.Reader
	at     int64
	next   int
	header []byte
	raw    []byte
	trace  Trace

	// Lost are the stretches that hold no whole trace, in order: with Options.Salvage they are
	// passed over. Each takes a number as traces do.
	Lost []Lost

	// Stop is asked while a header is looked for, and its error returned; nil is never to stop.
	Stop func() error
}

// rawPiece bounds the bytes of samples that are decoded at a time.
const rawPiece = 1 << 16

// Reader starts at the first trace.
func (f *File) Reader() *Reader {
	section := io.NewSectionReader(f.r, f.first, f.end-f.first)
	return &Reader{f: f, buf: bufio.NewReaderSize(section, int(min(1<<20, f.end-f.first))), at: f.first}
}

// Next reads the next trace; io.EOF says that there is none. Without samples they
// are passed over.
func (r *Reader) Next(samples bool) (*Trace, error) {
	if r.f.opt.Salvage {
		if err := r.salvage(); err != nil {
			return nil, err
		}
	}
	left := r.f.end - r.at
	if left == 0 {
		if n := r.f.claimed; n > 0 && int64(r.next) != n && !r.f.opt.Salvage {
			return nil, r.f.faultIn(fileTraces, "is %d, the file holds %d", n, r.next)
		}
		return nil, io.EOF
	}
	t := &r.trace
	*t = Trace{Number: r.next, At: r.at, Samples: t.Samples[:0]}
	if err := r.readHeader(left); err != nil {
		return nil, err
	}
	t.Header = r.header
	if err := r.judgeSamples(t, left-int64(len(r.header))); err != nil {
		return nil, err
	}
	size := int64(t.NS) * int64(r.f.Format.Bytes())
	if samples {
		if err := r.readSamples(t); err != nil {
			return nil, err
		}
	} else if _, err := io.CopyN(io.Discard, r.buf, size); err != nil {
		return nil, r.f.readFault(t.Number+1, r.at, err)
	}
	r.at += int64(len(r.header)) + size
	r.next++
	return t, nil
}

// fault is an error at a field of the trace that is being read.
func (r *Reader) fault(field Field, format string, args ...any) error {
	return &Error{Path: r.f.Path, Trace: r.next + 1, Byte: r.at + int64(field.Byte), Hint: salvageHint,
		Field: fmt.Sprintf("%s, header byte %d", names[field], field.Byte), Err: fmt.Errorf(format, args...)}
}

// salvageHint is for files some of whose traces are not whole.
const salvageHint = "--salvage takes the whole traces and lists the rest"

// short is the error for a file that ends inside a trace.
func (r *Reader) short(left int64, want int64, of string) error {
	return &Error{Path: r.f.Path, Trace: r.next + 1, Byte: r.at + 1, Hint: salvageHint,
		Err: fmt.Errorf("the file ends inside the trace: %d bytes are left for %s of %d", left, of, want)}
}

func (r *Reader) readHeader(left int64) error {
	size := int64(headerBytes)
	if left < size {
		return r.short(left, size, "a header")
	}
	if r.f.Extra > 0 {
		if left < 2*headerBytes {
			return r.short(left, 2*headerBytes, "a header and its extension")
		}
		both, err := r.buf.Peek(2 * headerBytes)
		if err != nil {
			return r.f.readFault(r.next+1, r.at, err)
		}
		n := extBlocks.Int(both, r.f.ByteOrder())
		if n == 0 || !Extended(both) {
			n = int64(r.f.Extra)
		}
		if n > int64(r.f.Extra) {
			return r.fault(extBlocks, "is %d, the binary header allows %d", n, r.f.Extra)
		}
		if size *= 1 + n; left < size {
			return r.short(left, size, "a header and its extensions")
		}
	}
	r.header = slices.Grow(r.header[:0], int(size))[:size]
	if _, err := io.ReadFull(r.buf, r.header); err != nil {
		return r.f.readFault(r.next+1, r.at, err)
	}
	return nil
}

func (r *Reader) judgeSamples(t *Trace, left int64) error {
	o := r.f.ByteOrder()
	field := TraceSamples
	n := TraceSamples.Int(t.Header, o)
	if Extended(t.Header) && extSamples.Int(t.Header, o) > 0 {
		field, n = extSamples, extSamples.Int(t.Header, o)
	}
	switch {
	case r.f.alike && n != int64(r.f.Fixed):
		return r.fault(field, "is %d, that of the first trace %d: all traces of an SU file have one length", n, r.f.Fixed)
	case r.f.Fixed > 0:
		n = int64(r.f.Fixed)
	case n == 0:
		n = int64(r.f.Samples)
	}
	if n <= 0 || n > math.MaxInt32 {
		return r.fault(field, "is %d, must be in [1, %d]", n, math.MaxInt32)
	}
	if want := n * int64(r.f.Format.Bytes()); want > left {
		return r.fault(field, "%d samples take %d bytes, but %d are left: the file is cut short, or this number is wrong", n, want, left)
	}
	if most := int64(r.f.MaxSamples); most > 0 && n > most {
		return r.fault(field, "is %d, the limit %d: %w", n, most, ErrTooLong)
	}
	t.NS = int(n)
	return nil
}

// readSamples decodes the samples, whose bytes the file is known to have.
func (r *Reader) readSamples(t *Trace) error {
	c := codecs[r.f.Format]
	if cap(t.Samples) < t.NS {
		t.Samples = make([]float32, t.NS)
	}
	t.Samples = t.Samples[:t.NS]
	if len(r.raw) < min(rawPiece, t.NS*c.bytes) {
		r.raw = make([]byte, min(rawPiece, t.NS*c.bytes))
	}
	o := r.f.ByteOrder()
	for i := 0; i < t.NS; {
		n := min(t.NS-i, rawPiece/c.bytes)
		raw := r.raw[:n*c.bytes]
		if _, err := io.ReadFull(r.buf, raw); err != nil {
			return r.f.readFault(t.Number+1, t.At, err)
		}
		t.Rounded += c.decode(t.Samples[i:i+n], raw, o)
		i += n
	}
	return nil
}

// TraceInterval is the sampling interval that a trace's own header gives, s; 0 where
// it gives none.
func (f *File) TraceInterval(t *Trace) float64 {
	o := f.ByteOrder()
	if Extended(t.Header) {
		if v := extInterval.Value(t.Header, o); v > 0 && !math.IsInf(v, 0) {
			return v / 1e6
		}
	}
	return float64(TraceInterval.Int(t.Header, o)) / 1e6
}

// Extended reports whether a trace header is followed by the extension of the standard,
// called SEG00001 in ASCII or EBCDIC (section 7.1, table 4); there may be other, unknown
// ones.
func Extended(header []byte) bool {
	if len(header) < 2*headerBytes {
		return false
	}
	name := string(header[2*headerBytes-8 : 2*headerBytes])
	return name == "SEG00001" || name == "\xE2\xC5\xC7\xF0\xF0\xF0\xF0\xF1"
}
