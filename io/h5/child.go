package h5

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"

	"github.com/kirchhoff-lsm/lsm/internal/child"
	"time"
)

// crashText is how Go's run-time system begins its report of a fault in C code, or what
// [OnCrash] writes.
var crashText = regexp.MustCompile(`(?m)^(SIG[A-Z]+: .*|fatal error: .*)$|` + crashNote)

// noMemory is what that report says after an allocation that failed.
var noMemory = regexp.MustCompile(`out of memory|cannot allocate memory|failed to reserve [a-z ]*|pthread_create failed: .*`)

// The limits of a child that looks at a file: computing time, which a slow file system
// does not use up, and elapsed time, for a child that waits or cannot be limited.
const (
	childSeconds = 10       // of computing, for any file
	childBytes   = 20 << 20 // of the file, a second more for each so many
	childWait    = 6        // seconds that pass for each of computing, at most
)

// CheckInChild runs a command that reads the file, such as this program's own
// "info", and returns an [ErrInput] if that crashes or does not end in a time that goes
// with the file's size. A fault inside libhdf5, which one in a few hundred damaged files
// brings about, cannot be recovered, and it can go in circles; met in a child first
// that is an error like any other.
//
// A child that merely reports an error passes: reading the file here will
// report it again, with its class. So does a path that is no regular file.
func CheckInChild(ctx context.Context, path, program string, args ...string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	seconds := childSeconds + info.Size()/childBytes
	return checkInChild(ctx, path, seconds, time.Duration(childWait*seconds)*time.Second, program, args...)
}

func checkInChild(ctx context.Context, path string, seconds int64, wait time.Duration, program string, args ...string) error {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var stderr bytes.Buffer
	cmd := child.Command(limited, program, args...)
	cmd.Stderr = &stderr
	err := cmd.Start()
	if err == nil {
		limitCPU(cmd.Process.Pid, uint64(seconds))
		err = cmd.Wait()
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", path, ctx.Err())
	case limited.Err() != nil:
		return inputError(path, "", "reading it did not end in %v: it is damaged, or its disk does not answer", wait)
	case !errors.As(err, &exit):
		return resourceError(path, "", wrapf(err, "cannot be checked in a process of its own"))
	}
	used := exit.UserTime() + exit.SystemTime()
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		switch {
		case status.Signal() == syscall.SIGKILL && 2*used >= time.Duration(seconds)*time.Second: // the system counts in its own way
			return inputError(path, "", "reading it did not end in %d s of computing: it is damaged", seconds)
		case status.Signal() == syscall.SIGKILL:
			return resourceError(path, "", errors.New("the process that read it to try was killed, perhaps for want of memory"))
		}
		return inputError(path, "", "reading it crashes the HDF5 library (%s): it is damaged", status.Signal())
	}
	if strings.Contains(stderr.String(), errHuge.Error()) {
		return inputError(path, "", "a text in it %w: it is damaged", errHuge)
	}
	if m := noMemory.FindString(stderr.String()); m != "" {
		return resourceError(path, "", fmt.Errorf("the process that read it to try had no memory left (%s)", m))
	}
	if m := crashText.FindString(stderr.String()); m != "" {
		return inputError(path, "", "reading it crashes the HDF5 library (%s): it is damaged", m)
	}
	return nil
}
