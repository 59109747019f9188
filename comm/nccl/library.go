package nccl

/*
#cgo linux LDFLAGS: -ldl
#include <stdlib.h>
#include "calls.h"
*/
import "C"

import (
	"fmt"
	"path/filepath"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Library is NCCL or RCCL with its functions found.
type Library struct {
	Engine  accel.Engine
	Path    string        // the name it was loaded under
	Version int           // as the library counts: 23003 is 2.30.3; up to 2.8 it was 2803
	calls   *C.nccl_calls // in C's memory, never freed: a library stays loaded
}

// sharing is the version from which ranks may share a card, where
// NCCL_MULTI_RANK_GPU_ENABLE=1 asks for it.
const sharing = 23000

// Backend is the name of an engine's library in the configuration.
func Backend(e accel.Engine) string { return e.Facts().Collectives.Name }

// Open loads the library that goes with an engine. LSM_NCCL_LIB and LSM_RCCL_LIB name
// another file. Its error is a missing resource that names the missing library or
// function.
func Open(e accel.Engine) (*Library, error) {
	sought := e.Facts().Collectives
	handle, path, err := sought.Open()
	if err != nil {
		return nil, err
	}
	l := &Library{Engine: e, Path: path, calls: (*C.nccl_calls)(C.calloc(1, C.sizeof_nccl_calls))}
	if symbol := C.nccl_load(l.calls, handle); symbol != nil {
		return nil, status.Resource(fmt.Errorf("%s: %s has no function %s", sought.What, path, C.GoString(symbol)))
	}
	var v C.int
	if err := l.check(C.nccl_GetVersion(l.calls, &v), "GetVersion"); err != nil {
		return nil, status.Resource(err)
	}
	l.Version = int(v)
	return l, nil
}

// String is the library with its version: "NCCL 2.30.3 (libnccl.so.2)".
func (l *Library) String() string {
	name := l.Engine.Facts().Collectives.What
	if name != "NCCL" {
		name += " of NCCL"
	}
	v, major := l.Version, 10000
	if v < major {
		major = 1000
	}
	return fmt.Sprintf("%s %d.%d.%d (%s)", name, v/major, v%major/100, v%100, filepath.Base(l.Path))
}

// canSplit reports whether the library can divide communicators itself.
func (l *Library) canSplit() bool { return l.calls.CommSplit != nil }

// Statuses that are no error.
const (
	success    = 0
	inProgress = 7
)

// check turns the status code of a function into an error. It is marked as a lost peer,
// since that is the usual cause of failures once ranks communicate.
func (l *Library) check(code C.int, function string) error {
	if code == success {
		return nil
	}
	text := C.GoString(C.nccl_error(l.calls, code))
	if last := C.GoString(C.nccl_last(l.calls)); last != "" {
		text += ": " + last
	}
	return status.Peer(fmt.Errorf("nccl%s: %s (status %d)", function, text, int(code)))
}
