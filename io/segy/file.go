package segy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
)

// Kind tells SEG-Y from SU.
type Kind string

const (
	Auto Kind = ""     // SU if the name ends in .su, otherwise SEG-Y
	SEGY Kind = "segy" // SEG-Y of any revision
	SU   Kind = "su"   // Seismic Unix
)

// Order is a byte order; AnyOrder means that the reader finds it out.
type Order string

const (
	AnyOrder Order = ""
	Big      Order = "big"
	Little   Order = "little"
)

func (o Order) binary() binary.ByteOrder {
	if o == Little {
		return binary.LittleEndian
	}
	return binary.BigEndian
}

// Options say what is known of a file beforehand; the zero value finds out.
type Options struct {
	Kind   Kind
	Order  Order
	Format Format // of the samples, against what the header says

	// Samples is the number of samples of a trace where the headers leave it open; 0 for none.
	Samples int

	// Texts is the number of extended textual headers, against what the header says; nil for that.
	Texts *int

	// Salvage takes what is whole of a damaged file. The rest is in Reader.Lost.
	Salvage bool
}

// File is a file open for reading; its exported fields are the facts that its headers
// state, for the caller to read.
type File struct {
	Path         string
	Kind         Kind
	Order        Order
	Major, Minor int // revision
	Format       Format
	Text         string   // the textual header, in lines
	Reel         []byte   // the textual and the binary header, 3600 bytes; nil for SU
	Notes        []string // what was odd and how it was taken

	Interval float64 // s, of the binary header; 0 where it gives none
	Samples  int     // a trace, of the binary header; 0 where it gives none
	Units    int     // measurement system: 1 metres, 2 feet, 0 not given
	Sorting  int     // trace sorting code, 4 for a stack; 0 where it is not given

	// Fixed is the number of samples of every trace, 0 where each trace's own
	// header tells.
	Fixed int

	// MaxSamples is the longest trace that may be read, 0 for any: the caller's limit,
	// for the memory that it has. A longer one is an error that wraps ErrTooLong.
	MaxSamples int

	Extra int   // greatest number of header extensions of a trace
	Size  int64 // of the file, bytes

	opt        Options
	samplesIn  Field // that Samples is from
	alike      bool  // a trace whose header gives another length than Fixed is an error
	marks      marks // that tell headers from samples
	first, end int64 // of the traces, bytes from the start of the file
	claimed    int64 // number of traces that the file claims to have, 0 for none

	r     io.ReaderAt
	close func() error
}

// Open opens a file and judges its headers.
func Open(path string, opt Options) (*File, error) {
	file, err := plainfile.Open(path) // it is read twice
	if err != nil {
		return nil, &Error{Path: path, Err: plainfile.Cause(err)}
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, &Error{Path: path, Err: plainfile.Cause(err)}
	}
	f, err := NewFile(path, file, info.Size(), opt)
	if err != nil {
		file.Close()
		return nil, err
	}
	f.close = file.Close
	return f, nil
}

// NewFile is Open for a file that is already open or in memory. path is its name for messages.
func NewFile(path string, r io.ReaderAt, size int64, opt Options) (*File, error) {
	f := &File{Path: path, Kind: opt.Kind, Order: opt.Order, Size: size, end: size, opt: opt, r: r,
		close: func() error { return nil }}
	if f.Kind == Auto {
		f.Kind = SEGY
		if strings.EqualFold(filepath.Ext(path), ".su") {
			f.Kind = SU
		}
	}
	if size == 0 {
		return nil, &Error{Path: path, Err: errors.New("is empty")}
	}
	head, err := f.readAt(0, int(min(size, reelBytes)))
	if err != nil {
		return nil, err
	}
	if other := foreign(head); other != nil {
		return nil, &Error{Path: path, Err: other}
	}
	if f.Kind == SU {
		err = f.openSU()
	} else {
		err = f.openSEGY()
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Close closes the file.
func (f *File) Close() error { return f.close() }

// ByteOrder is the byte order of headers and samples.
func (f *File) ByteOrder() binary.ByteOrder { return f.Order.binary() }

// number is an integer of the file's own headers.
func (f *File) number(field Field) int64 { return field.Int(f.Reel, f.ByteOrder()) }

// Traces is the number of traces if all have the same size, otherwise -1.
func (f *File) Traces() int64 {
	if f.Fixed == 0 || f.Extra > 0 {
		return -1
	}
	return (f.end - f.first) / f.traceBytes(f.Fixed)
}

// Span is the number of bytes that the traces take.
func (f *File) Span() int64 { return f.end - f.first }

func (f *File) traceBytes(samples int) int64 {
	return headerBytes + int64(samples)*int64(f.Format.Bytes())
}

func (f *File) note(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

// readAt reads n bytes, which the caller has compared with the size.
func (f *File) readAt(at int64, n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := f.r.ReadAt(b, at); err != nil && !(errors.Is(err, io.EOF) && at+int64(n) == f.Size) {
		return nil, f.readFault(0, at, err)
	}
	return b, nil
}

// readFault is the error of the system at a place of the file.
func (f *File) readFault(trace int, at int64, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("the file became shorter than the %d bytes that it had", f.Size)
	}
	return &Error{Path: f.Path, Trace: trace, Byte: at + 1, Err: plainfile.Cause(err)}
}

// ErrTooLong is wrapped where a trace is longer than File.MaxSamples.
var ErrTooLong = errors.New("more than the memory holds")

// Error is a fault of one file, which must be mended or read with other options.
type Error struct {
	Path  string
	Trace int    // number of the trace from 1; 0 for the file's own headers
	Byte  int64  // in the file, counted from 1; 0 where it is the file as a whole
	Field string // name of the field; may be empty
	Hint  string // what lsm import takes it with; may be empty
	Err   error
}

func (e *Error) Error() string {
	where := e.Path
	if e.Trace > 0 {
		where += fmt.Sprintf(": trace %d", e.Trace)
	}
	if e.Byte > 0 {
		where += fmt.Sprintf(": byte %d", e.Byte)
	}
	if e.Field != "" {
		where += fmt.Sprintf(" (%s)", e.Field)
	}
	return fmt.Sprintf("%s: %v", where, e.Err)
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// fault is an error at a byte, counted from 1, of the file's own headers.
func (f *File) fault(at int64, field, format string, args ...any) error {
	return &Error{Path: f.Path, Byte: at, Field: field, Err: fmt.Errorf(format, args...)}
}

// faultIn is an error at a field of the file's own headers.
func (f *File) faultIn(field Field, format string, args ...any) error {
	return f.fault(int64(field.Byte), names[field], format, args...)
}
