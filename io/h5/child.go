package h5

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"gonum.org/v1/hdf5"

	"github.com/kirchhoff-lsm/lsm/internal/child"
)

// crashText is how Go's run-time system begins its report of a fault in C code, or what
// [OnCrash] writes.
var crashText = regexp.MustCompile(`(?m)^(SIG[A-Z]+: .*|fatal error: .*)$|` + crashNote)

// noMemory matches the text of that report after an allocation that failed.
var noMemory = regexp.MustCompile(`out of memory|cannot allocate memory|failed to reserve [a-z ]*|pthread_create failed: .*`)

// The limits of a child that looks at a file: computing time, which a slow file system
// does not use up, and elapsed time, for a child that waits or cannot be limited.
const (
	childSeconds = 10       // of computing, for any file
	childBytes   = 20 << 20 // bytes of the file that add a second
	childWait    = 6        // elapsed seconds allowed for each second of computing
)

var (
	guard func(path string) error // tries a file; nil without a call of Guard
	tried sync.Map                // the files that passed or were written here, by path
)

// Guard makes [Open] try every file in a child process before this process reads it for
// the first time, unless this process has written it. The child is program with args and
// the path, and calls [Try]. The error of a file that does not pass is an [ErrInput]. When
// ctx ends, so do the children. Call Guard before the first file is opened.
func Guard(ctx context.Context, program string, args ...string) {
	guard = func(path string) error {
		return checkFile(ctx, path, program, append(slices.Clone(args), path)...)
	}
}

// Guarded tries a file as [Open] would, see [Guard], and does not open it. Rank 0 calls it
// before all ranks read the file.
func Guarded(path string) error {
	if _, known := tried.Load(path); known || guard == nil {
		return nil
	}
	err := guard(path)
	if err == nil {
		tried.Store(path, true)
	}
	return err
}

// checkFile runs a command that reads the file and returns an [ErrInput] if that crashes
// or does not end in a time that goes with the file's size. A fault inside libhdf5, which
// one in a few hundred damaged files brings about, cannot be recovered, and it can go in
// circles. In a child it is an error like any other.
//
// A child that merely reports an error passes: reading the file here will
// report it again, with its class. A path that is not a regular file also passes.
func checkFile(ctx context.Context, path, program string, args ...string) error {
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
	text := stderr.String()
	none, crash := noMemory.FindString(text), crashText.FindString(text)
	switch {
	case strings.Contains(text, errHuge.Error()):
		return inputError(path, "", "a text in it %w: it is damaged", errHuge)
	case none != "":
		return resourceError(path, "", fmt.Errorf("the process that read it to try had no memory left (%s)", none))
	case crash != "":
		return inputError(path, "", "reading it crashes the HDF5 library (%s): it is damaged", crash)
	}
	return nil
}

// Try reads, in a process of its own, what damage can crash the library with: all
// structures, attributes and texts, and numbers behind filters that believe what the
// file says. It calls the library as the readers of each kind of file do, each on a file
// that was opened afresh: whether damage is an error or a crash depends on the first read. The
// child of [Guard] calls it; it starts no child itself.
//
// Whether a read beyond a buffer crashes is partly chance, so it tries more than once.
// It returns the error of the first reader that refuses the file; some reader refuses most
// files.
func Try(path string) (err error) {
	guard = nil
	restore := limitData(tryMemory(path))
	for range 3 {
		if err = try(path); errors.Is(err, errHuge) {
			return err
		}
	}
	restore()
	_, _ = reading(path, func(f *File) (any, error) {
		info, err := f.Describe(DescribeOptions{})
		if err != nil {
			return nil, err
		}
		for _, o := range info.Objects {
			if d, err := f.Dataset(o.Name); err == nil && d.believing() {
				_ = d.pass(io.Discard, hdf5.T_IEEE_F64LE)
			}
		}
		return nil, nil
	}) // reading it again will say
	return err
}

// Texts and structures may take the first amount of memory, in bytes. Positions and lists of traces
// may take the second in addition. A damaged text claims 4 GB, which must be more than both.
const (
	textMemory = 512 << 20
	listMemory = 2 << 30
)

// tryMemory limits the memory of Try. Lists take about the size of the file. Twice that
// leaves room for garbage.
func tryMemory(path string) uint64 {
	info, err := os.Stat(path)
	if err != nil {
		return textMemory
	}
	return textMemory + uint64(min(2*info.Size(), listMemory))
}

func try(path string) error {
	var first error
	readers := []func(f *File) error{}
	for _, k := range formats {
		readers = append(readers, k.readers...)
	}
	for _, read := range append(readers, (*File).tryAll) {
		_, err := reading(path, func(f *File) (any, error) { return nil, read(f) })
		if err != nil && (first == nil || errors.Is(err, errHuge)) {
			first = err
		}
	}
	return first
}

// tryAll describes the file. Then it opens each dataset in a file opened afresh, as reading
// does.
func (f *File) tryAll() error {
	info, err := f.Describe(DescribeOptions{})
	if err != nil {
		return err
	}
	for _, o := range info.Objects {
		if errors.Is(o.fault, errHuge) {
			return o.fault
		}
		_, err := reading(f.path, func(again *File) (string, error) {
			d, err := again.Dataset(o.Name)
			if err != nil {
				return "", err
			}
			_, _ = d.Scales() // those who ask for them will see the error
			return d.Attrs().sum()
		})
		if errors.Is(err, errHuge) {
			return err
		}
	}
	return nil
}
