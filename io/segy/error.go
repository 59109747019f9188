package segy

import (
	"errors"
	"fmt"
)

// ErrDamaged is what every [*Error] wraps: the file must be mended or read with
// other options.
var ErrDamaged = errors.New("damaged or unsupported SEG-Y")

// ErrTooLong is wrapped where a trace is longer than File.MaxSamples.
var ErrTooLong = errors.New("more than the memory holds")

// Error is a fault of one file.
type Error struct {
	Path  string
	Trace int    // number of the trace from 1; 0 for the file's own headers
	Byte  int64  // in the file, counted from 1; 0 where it is the file as a whole
	Field string // name of the field; may be empty
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

// Unwrap makes both ErrDamaged and the cause visible to errors.Is and errors.As.
func (e *Error) Unwrap() []error { return []error{ErrDamaged, e.Err} }

// fault is an error at a byte, counted from 1, of the file's own headers.
func (f *File) fault(at int64, field, format string, args ...any) error {
	return &Error{Path: f.Path, Byte: at, Field: field, Err: fmt.Errorf(format, args...)}
}

// faultIn is an error at a field of the file's own headers.
func (f *File) faultIn(field Field, name, format string, args ...any) error {
	return f.fault(int64(field.Byte), name, format, args...)
}
