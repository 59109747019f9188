package h5

// gonum's hdf5 links the library too; the folders below are where Debian and
// Ubuntu keep the serial flavour, named so that a parallel one installed beside
// it is never picked up.

// #cgo linux CFLAGS: -I/usr/include/hdf5/serial
// #cgo linux,amd64 LDFLAGS: -L/usr/lib/x86_64-linux-gnu/hdf5/serial
// #cgo linux,arm64 LDFLAGS: -L/usr/lib/aarch64-linux-gnu/hdf5/serial
// #cgo LDFLAGS: -lhdf5_hl -lhdf5
// #include "shim.h"
// #ifdef __clang__
// static const char *lsm_compiler(void) { return __VERSION__; }
// #else
// static const char *lsm_compiler(void) { return "gcc " __VERSION__; }
// #endif
import "C"

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"gonum.org/v1/hdf5"
)

// library serialises all calls of libhdf5, which is one object per process.
var library sync.Mutex

// locked runs fn inside the library: alone, on one OS thread, and with the
// thread's automatic printing of errors off. Calls may be nested.
func locked(fn func() error) error {
	if C.lsm_h5_inside() != 0 { // no other goroutine runs on this thread
		return fn()
	}
	library.Lock()
	defer library.Unlock()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.H5Eset_auto2(C.H5E_DEFAULT, nil, nil)
	C.lsm_h5_enter()
	defer C.lsm_h5_leave()
	return fn()
}

// on is locked for work on a file. If the library crashes, the report names the file.
func on[T any](path string, fn func() (T, error)) (v T, err error) {
	err = locked(func() (err error) {
		mind(path)
		v, err = fn()
		return err
	})
	return v, err
}

// LibraryVersion is the version of the HDF5 library in use, such as "1.10.8".
func LibraryVersion() string {
	v, err := hdf5.LibVersion()
	if err != nil {
		return "unknown"
	}
	return v.String()
}

// Built is the version of the HDF5 library that this program was compiled against, such
// as "1.10.8".
func Built() string {
	return fmt.Sprintf("%d.%d.%d", C.H5_VERS_MAJOR, C.H5_VERS_MINOR, C.H5_VERS_RELEASE)
}

// Compiler is the C compiler that compiled this package, such as "gcc 12.2.0".
func Compiler() string { return C.GoString(C.lsm_compiler()) }

var errnoText = regexp.MustCompile(`errno = (\d+)`)

// libraryError turns the library's error stack into an error. Call it before
// any other call of the library: each call clears the stack.
func libraryError() error {
	buf := make([]byte, 8192)
	n := C.lsm_h5_stack((*C.char)(unsafe.Pointer(&buf[0])), C.size_t(len(buf)))
	text := string(buf[:n])
	// A failed system call is reported by its error number, because the library's own
	// text holds addresses and times of day.
	if m := errnoText.FindStringSubmatch(text); m != nil {
		if no, err := strconv.Atoi(m[1]); err == nil && no != 0 {
			return syscall.Errno(no)
		}
	}
	// The deepest entry says what is wrong. The entries above it only name calling functions.
	deepest, _, _ := strings.Cut(text, "\n")
	if deepest == "" {
		return errors.New("the HDF5 library gives no reason")
	}
	return errors.New(deepest)
}

// cString is a text for one call of the library, ended by a zero byte.
func cString(s string) *C.char { return (*C.char)(unsafe.Pointer(unsafe.StringData(s + "\x00"))) }

var crashReport atomic.Pointer[func(message string) (fd int, text string)]

// OnCrash sets how the program says that libhdf5 crashes on a file, before it ends with
// status 3: report turns the message into a short text, and returns the file descriptor to
// write it to. Without it the error stream gets one line. On systems other than Linux the
// program ends with Go's report of the fault.
func OnCrash(report func(message string) (fd int, text string)) { crashReport.Store(&report) }

// crashNote begins the message of a crash.
const crashNote = "the HDF5 library crashes on it"

// mind sets the file that the report of a crash names from now on. The caller is inside
// the library.
func mind(path string) {
	message := path + ": " + crashNote + ": it is damaged"
	fd, text := int(os.Stderr.Fd()), fmt.Sprintf("lsm: %s\n", message)
	if report := crashReport.Load(); report != nil {
		fd, text = (*report)(message)
	}
	C.lsm_h5_crash_text(C.int(fd), (*C.char)(unsafe.Pointer(unsafe.StringData(text))), C.size_t(len(text)))
}
