// Package status ties errors to the exit statuses that scripts rely on.
//
// An error gets its status where its kind is known: the reader of a survey file
// marks it Input, the memory plan Resource. Everything in between wraps it with
// %w as usual, and the command line asks Code and HintOf at the end. The mark
// adds nothing to the error's text.
package status

import (
	"cmp"
	"context"
	"errors"
	"syscall"
)

// Exit statuses.
const (
	Done         = 0   // the work is done, or the iteration limit was reached
	Other        = 1   // any other failure
	BadUsage     = 2   // command line or configuration
	BadInput     = 3   // an input file
	NoResource   = 4   // memory, disk, engine or library not to be had
	NotNumerical = 5   // NaN, divergence, an operator that is not adjoint
	PeerLost     = 6   // another rank or a communicator was lost
	Checkpointed = 75  // stopped with a checkpoint: --resume goes on
	Stopped      = 130 // interrupted
)

// meanings are the texts of the help about each status.
var meanings = map[int]string{
	Done:         "done",
	Other:        "any other failure",
	BadUsage:     "wrong usage or configuration",
	BadInput:     "input file missing, damaged or inconsistent",
	NoResource:   "not enough memory or disk, or an engine or library is missing",
	NotNumerical: "numerical failure: NaN, divergence, operator not adjoint",
	PeerLost:     "another rank or a communicator was lost",
	Checkpointed: "stopped with a checkpoint: the same command with --resume continues",
	Stopped:      "interrupted",
}

// Meaning is the text of the help about a status, "" for other numbers.
func Meaning(code int) string { return meanings[code] }

// Error is an error with an exit status, and perhaps a hint on what to do.
type Error struct {
	Code int // 0: none of its own, the wrapped error's counts
	Err  error
	Hint string
}

// Error is the text of the wrapped error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap is the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

func mark(code int, err error) error {
	if err == nil {
		return nil
	}
	switch code {
	case BadUsage, BadInput, NoResource:
		if errors.Is(err, context.Canceled) { // what was interrupted says nothing of its input
			return err
		}
	}
	return &Error{Code: code, Err: err}
}

// Usage marks err with status 2; like the marks below it leaves nil alone.
func Usage(err error) error { return mark(BadUsage, err) }

// Input marks err with status 3.
func Input(err error) error { return mark(BadInput, err) }

// Resource marks err with status 4.
func Resource(err error) error { return mark(NoResource, err) }

// Numerical marks err with status 5.
func Numerical(err error) error { return mark(NotNumerical, err) }

// Peer marks err with status 6.
func Peer(err error) error { return mark(PeerLost, err) }

// Checkpoint marks err with status 75.
func Checkpoint(err error) error { return mark(Checkpointed, err) }

// Hint adds a hint and leaves the status as it is.
func Hint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &Error{Err: err, Hint: hint}
}

// Code is the exit status of err: that of the outermost mark. Without a mark, and with a mark that puts the fault on
// the command line or an input, cancellation counts as an interrupt, and a full disk or memory, or too many open
// files, as a lack of resources. A caller that marks an error of a whole stage, which reads and writes, cannot tell
// these apart.
func Code(err error) int {
	if err == nil {
		return Done
	}
	code := Other
	for e := err; code == Other; {
		var m *Error
		if !errors.As(e, &m) {
			break
		}
		code, e = cmp.Or(m.Code, Other), m.Err
	}
	if code != Other && code != BadInput && code != BadUsage {
		return code
	}
	switch {
	case errors.Is(err, context.Canceled):
		return Stopped
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.EFBIG),
		errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return NoResource
	}
	return code
}

// HintOf is the outermost hint of err, "" for none.
func HintOf(err error) string {
	for e := err; ; {
		var m *Error
		if !errors.As(e, &m) {
			return ""
		}
		if m.Hint != "" {
			return m.Hint
		}
		e = m.Err
	}
}
