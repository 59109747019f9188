package h5

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// The classes of errors; every error of this package is one of them. Test with
// errors.Is.
var (
	ErrInput    = errors.New("input data")   // what the file holds must be mended
	ErrOutput   = errors.New("output place") // the output's path cannot be used as it is
	ErrResource = errors.New("resources")    // disk, memory or permission
)

// Error is a fault of one file.
type Error struct {
	Path   string // the file
	Object string // dataset, group or attribute, such as "/data" or "/data@dt"; may be empty
	Class  error  // ErrInput, ErrOutput or ErrResource
	Err    error
}

func (e *Error) Error() string {
	if e.Object == "" {
		return fmt.Sprintf("%s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s: %s: %v", e.Path, e.Object, e.Err)
}

// Unwrap makes both the class and the cause visible to errors.Is and errors.As.
func (e *Error) Unwrap() []error { return []error{e.Class, e.Err} }

func inputError(path, object, format string, args ...any) error {
	return &Error{Path: path, Object: object, Class: ErrInput, Err: fmt.Errorf(format, args...)}
}

func resourceError(path, object string, err error) error {
	return &Error{Path: path, Object: object, Class: ErrResource, Err: err}
}

// readError classes a failed read: what the system refuses is a resource,
// anything else is the file's fault.
func readError(path, object string, err error) error {
	class := ErrInput
	var no syscall.Errno
	if errors.As(err, &no) && !errors.Is(err, fs.ErrNotExist) {
		class = ErrResource
	}
	return &Error{Path: path, Object: object, Class: class, Err: err}
}

// wrapf puts a sentence before an error's own text.
func wrapf(err error, format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, err)...)
}
