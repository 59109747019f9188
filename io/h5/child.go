package h5

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"regexp"
	"syscall"

	"github.com/kirchhoff-lsm/lsm/internal/child"
)

// crashText is how the Go runtime begins its report of a fault in C code.
var crashText = regexp.MustCompile(`(?m)^(SIG[A-Z]+: .*|fatal error: .*)$`)

// CheckInChild runs a command that reads the file, such as this program's own
// "info", and returns an [ErrInput] if that crashes or does not end before ctx
// does. A fault inside libhdf5, which one in a few hundred damaged files
// brings about, cannot be recovered; met in a child first it is an error like
// any other. Files from unknown hands are worth it; not under MPI, where
// starting processes may be forbidden.
//
// A child that merely reports an error passes: reading the file here will
// report it again, with its class.
func CheckInChild(ctx context.Context, path, program string, args ...string) error {
	var stderr bytes.Buffer
	cmd := child.Command(ctx, program, args...)
	cmd.Stderr = &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return inputError(path, "", "reading it did not end: it may be damaged (%w)", ctx.Err())
	case !errors.As(err, &exit):
		return resourceError(path, "", wrapf(err, "cannot be checked in a process of its own"))
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return inputError(path, "", "reading it crashes the HDF5 library (%s): it is damaged", status.Signal())
	}
	if m := crashText.FindString(stderr.String()); m != "" {
		return inputError(path, "", "reading it crashes the HDF5 library (%s): it is damaged", m)
	}
	return nil
}
