package blas

/*
#cgo linux LDFLAGS: -ldl
#include <stdlib.h>
#include "openblas.h"
*/
import "C"

import (
	"fmt"
	"path/filepath"
	"strings"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/dynlib"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// SoughtOnHost says where the program looks for OpenBLAS.
func SoughtOnHost() dynlib.Library { return openBLAS }

var openBLAS = dynlib.Library{
	What: "OpenBLAS", Variable: "LSM_OPENBLAS_LIB",
	Names: []string{"libopenblas.so.0", "libopenblas.so", "libopenblas.dylib"},
	Hint:  "libopenblas comes with the package libopenblas0 of Debian and Ubuntu, or load its module; LSM_OPENBLAS_LIB names a file",
}

// prefixes are the beginnings of all function names; scipy's packages have their own.
var prefixes = []string{"", "scipy_"}

// OpenBLAS loads OpenBLAS, on some threads of the host. Its error is a missing resource. A build
// with 64-bit integers has other names of functions and is refused.
func OpenBLAS(threads int) (Solver, error) {
	handle, file, err := openBLAS.Open()
	if err != nil {
		return nil, err
	}
	k := &openKernels{file: file}
	for _, prefix := range prefixes {
		text := C.CString(prefix)
		missing := C.blas_load(&k.calls, handle, text)
		C.free(unsafe.Pointer(text))
		if missing == nil {
			return &host{k, max(1, threads)}, nil
		}
		err = status.Resource(fmt.Errorf("%s has no function %s", file, C.GoString(missing)))
	}
	return nil, err
}

type openKernels struct {
	calls C.blas_calls
	file  string // the name it was loaded under
}

func (k *openKernels) name() string { return "openblas" }

// about is the library with its version and file: "OpenBLAS 0.3.21 (libopenblas.so.0)".
func (k *openKernels) about() string {
	words := strings.Fields(C.GoString(C.blas_config(&k.calls))) // how it was built follows the version
	return fmt.Sprintf("%s (%s)", strings.Join(words[:min(2, len(words))], " "), filepath.Base(k.file))
}

// kinds are the numbers of the types in C.
var kinds = [...]C.int{device.F32: C.BLAS_F32, device.F64: C.BLAS_F64}

func address(t Tile) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(device.Memory(t.Buf))) }

func (k *openKernels) multiply(alpha float64, p Product) {
	C.blas_multiply(&k.calls, kinds[p.C.Buf.Type()], C.int(p.C.Rows), C.int(p.C.Columns), C.int(p.A.Columns),
		C.double(alpha), address(p.A), address(p.B), address(p.C))
}

func (k *openKernels) solve(s System, adjoint bool) {
	turned := C.int(0)
	if adjoint {
		turned = 1
	}
	C.blas_solve(&k.calls, kinds[s.B.Buf.Type()], turned, C.int(s.B.Rows), C.int(s.B.Columns), address(s.L), address(s.B))
}
