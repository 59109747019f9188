package h5

// #include "shim.h"
import "C"

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"
)

// CrashReport is what is written, to a file descriptor, where libhdf5 crashes on a
// file. It must be short.
type CrashReport func(path string) (fd int, text string)

var crashReport atomic.Pointer[CrashReport]

// OnCrash sets what is said of a file that libhdf5 crashes on; the program then ends with
// status 3. Without it the error stream gets one line. On systems other than Linux the
// program ends with Go's report of the fault.
func OnCrash(report CrashReport) { crashReport.Store(&report) }

// crashNote begins what is said of a crash.
const crashNote = "the HDF5 library crashes on it"

// CrashMessage is the message of a crash on a file.
func CrashMessage(path string) string { return path + ": " + crashNote + ": it is damaged" }

// mind says which file is at work from here on. It needs the library's lock.
func mind(path string) {
	fd, text := int(os.Stderr.Fd()), fmt.Sprintf("lsm: %s\n", CrashMessage(path))
	if report := crashReport.Load(); report != nil {
		fd, text = (*report)(path)
	}
	C.lsm_h5_crash_text(C.int(fd), (*C.char)(unsafe.Pointer(unsafe.StringData(text))), C.size_t(len(text)))
}
