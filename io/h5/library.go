package h5

// gonum's hdf5 links the library too; the folders below are where Debian and
// Ubuntu keep the serial flavour, named so that a parallel one installed beside
// it is never picked up.

// #cgo linux CFLAGS: -I/usr/include/hdf5/serial
// #cgo linux,amd64 LDFLAGS: -L/usr/lib/x86_64-linux-gnu/hdf5/serial
// #cgo linux,arm64 LDFLAGS: -L/usr/lib/aarch64-linux-gnu/hdf5/serial
// #cgo LDFLAGS: -lhdf5_hl -lhdf5
// #include "shim.h"
import "C"

import (
	"errors"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"gonum.org/v1/hdf5"
)

// library serialises all calls of libhdf5, which is one object per process.
var library sync.Mutex

// locked runs fn inside the library: alone, on one OS thread, and with the
// thread's automatic printing of errors off. It must not be nested.
func locked(fn func() error) error {
	library.Lock()
	defer library.Unlock()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.lsm_h5_quiet()
	C.lsm_h5_enter()
	defer C.lsm_h5_leave()
	return fn()
}

// LibraryVersion is the version of the HDF5 library in use, such as "1.10.8".
func LibraryVersion() string {
	v, err := hdf5.LibVersion()
	if err != nil {
		return "unknown"
	}
	return v.String()
}

var errnoText = regexp.MustCompile(`errno = (\d+)`)

// libraryError turns the library's error stack into an error. Call it before
// any other call of the library: each call clears the stack.
func libraryError() error {
	buf := make([]byte, 8192)
	n := C.lsm_h5_stack((*C.char)(unsafe.Pointer(&buf[0])), C.size_t(len(buf)))
	text := string(buf[:n])
	// A failed system call is told by its number; the library's own text of it
	// holds addresses and times of day.
	if m := errnoText.FindStringSubmatch(text); m != nil {
		if no, err := strconv.Atoi(m[1]); err == nil && no != 0 {
			return syscall.Errno(no)
		}
	}
	// The deepest entry says what is wrong; those above it only which function
	// was on the way, and the caller says that better.
	deepest, _, _ := strings.Cut(text, "\n")
	if deepest == "" {
		return errors.New("the HDF5 library gives no reason")
	}
	return errors.New(deepest)
}
