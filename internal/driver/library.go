package driver

/*
#cgo linux LDFLAGS: -ldl
#include <stdlib.h>
#include "calls.h"
*/
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// library says under which names a shared library is looked for.
type library struct {
	what     string   // for messages
	variable string   // environment variable that names a file instead
	names    []string // tried in order by the loader's own rules
	folders  []string // environment variables of, and fixed, folders where the first name's stem may be
	hint     string
}

var driverLibraries = [...]library{
	CUDA: {
		what: "the CUDA driver", variable: "LSM_CUDA_LIB",
		names: []string{"libcuda.so.1"},
		hint:  "libcuda.so.1 comes with NVIDIA's driver: this machine has no NVIDIA GPU, or its driver is not installed",
	},
	HIP: {
		what: "the HIP runtime", variable: "LSM_HIP_LIB",
		names:   []string{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"},
		folders: []string{"$ROCM_PATH/lib", "/opt/rocm/lib"},
		hint:    "libamdhip64 comes with ROCm: load its module, or add its folder to LD_LIBRARY_PATH",
	},
}

var compilerLibraries = [...]library{
	CUDA: {
		what: "NVIDIA's run-time compiler (NVRTC)", variable: "LSM_NVRTC_LIB",
		names:   []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"},
		folders: []string{"$CUDA_HOME/lib64", "$CUDA_PATH/lib64", "/usr/local/cuda/lib64"},
		hint:    "libnvrtc comes with the CUDA toolkit: load its module, or add its folder to LD_LIBRARY_PATH",
	},
	HIP: {
		what: "AMD's run-time compiler (hiprtc)", variable: "LSM_HIPRTC_LIB",
		// Up to ROCm 5 the compiler's functions are in the runtime itself.
		names: []string{"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so",
			"libamdhip64.so.5", "libamdhip64.so"},
		folders: []string{"$ROCM_PATH/lib", "/opt/rocm/lib"},
		hint:    "libhiprtc comes with ROCm: load its module, or add its folder to LD_LIBRARY_PATH",
	},
}

// candidates are the names to try, in order.
func (l library) candidates() []string {
	if file := os.Getenv(l.variable); file != "" {
		return []string{file}
	}
	all := append([]string(nil), l.names...)
	for _, folder := range l.folders {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(folder, "$"), "/"); ok && folder[0] == '$' {
			base := os.Getenv(name)
			if base == "" {
				continue
			}
			folder = filepath.Join(base, rest)
		}
		for _, name := range l.names {
			all = append(all, filepath.Join(folder, name))
		}
	}
	return all
}

// open loads the first of the candidates that can be loaded.
func (l library) open() (handle unsafe.Pointer, name string, err error) {
	names := l.candidates()
	why := "there is no " + strings.Join(names, ", ")
	for _, name := range names {
		file := C.CString(name)
		var text *C.char
		handle = C.library_open(file, &text)
		C.free(unsafe.Pointer(file))
		if handle != nil {
			return handle, name, nil
		}
		// A file that is there and cannot be loaded is the better explanation.
		if s := C.GoString(text); !strings.Contains(s, "No such file") {
			why = s
		}
	}
	return nil, "", status.Resource(status.Hint(fmt.Errorf("%s cannot be loaded: %s", l.what, why), l.hint))
}

// incomplete is the error of a library without a symbol.
func (l library) incomplete(name string, symbol *C.char) error {
	return status.Resource(status.Hint(
		fmt.Errorf("%s: %s has no function %s", l.what, name, C.GoString(symbol)),
		"it is older than this program needs; CUDA 11.4 and ROCm 5.2 or newer will do"))
}
