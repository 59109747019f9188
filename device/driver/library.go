package driver

/*
#include <stdlib.h>
#include "calls.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/dynlib"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

var driverLibraries = [...]dynlib.Library{
	CUDA: {
		What: "the CUDA driver", Label: "CUDA driver", Variable: "LSM_CUDA_LIB",
		Names: []string{"libcuda.so.1"},
		Hint:  "libcuda.so.1 comes with NVIDIA's driver: this machine has no NVIDIA GPU, or its driver is not installed",
	},
	HIP: {
		What: "the HIP runtime", Label: "HIP runtime", Variable: "LSM_HIP_LIB",
		Names:   []string{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"},
		Folders: []string{"$ROCM_PATH/lib", "/opt/rocm/lib"},
		Hint:    "libamdhip64 comes with ROCm: load its module, or add its folder to LD_LIBRARY_PATH",
	},
}

var compilerLibraries = [...]dynlib.Library{
	CUDA: {
		What: "NVIDIA's run-time compiler (NVRTC)", Label: "CUDA compiler (NVRTC)", Variable: "LSM_NVRTC_LIB",
		Names:   []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"},
		Folders: []string{"$CUDA_HOME/lib64", "$CUDA_PATH/lib64", "/usr/local/cuda/lib64"},
		Hint:    "libnvrtc comes with the CUDA toolkit: load its module, or add its folder to LD_LIBRARY_PATH",
	},
	HIP: {
		What: "AMD's run-time compiler (hiprtc)", Label: "HIP compiler (hipRTC)", Variable: "LSM_HIPRTC_LIB",
		// Up to ROCm 5 the runtime itself contains the compiler's functions.
		Names: []string{"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so",
			"libamdhip64.so.5", "libamdhip64.so"},
		Folders: []string{"$ROCM_PATH/lib", "/opt/rocm/lib"},
		Hint:    "libhiprtc comes with ROCm: load its module, or add its folder to LD_LIBRARY_PATH",
	},
}

var collectives = [...]dynlib.Library{
	CUDA: {
		Name: "nccl", What: "NCCL", Variable: "LSM_NCCL_LIB",
		Names: []string{"libnccl.so.2"}, Folders: []string{"$NCCL_HOME/lib", "$CUDA_HOME/lib64", "/usr/local/cuda/lib64"},
		Hint: "libnccl.so.2 comes with NCCL: load its module, or add its folder to LD_LIBRARY_PATH",
	},
	HIP: {
		Name: "rccl", What: "RCCL", Variable: "LSM_RCCL_LIB",
		Names: []string{"librccl.so.1", "librccl.so"}, Folders: []string{"$ROCM_PATH/lib", "/opt/rocm/lib"},
		Hint: "librccl.so.1 comes with ROCm: load its module, or add its folder to LD_LIBRARY_PATH",
	},
}

var matrices = [...]dynlib.Library{
	CUDA: {
		Name: "cublas", What: "cuBLAS", Variable: "LSM_CUBLAS_LIB",
		Names:   []string{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"},
		Folders: []string{"$CUDA_HOME/lib64", "$CUDA_PATH/lib64", "/usr/local/cuda/lib64"},
		Needs:   []string{"libcublasLt"},
		Hint:    "libcublas comes with the CUDA toolkit: load its module, or add its folder to LD_LIBRARY_PATH",
	},
	HIP: {
		Name: "hipblas", What: "hipBLAS", Variable: "LSM_HIPBLAS_LIB",
		Names:   []string{"libhipblas.so.3", "libhipblas.so.2", "libhipblas.so.1", "libhipblas.so.0", "libhipblas.so"},
		Folders: []string{"$ROCM_PATH/lib", "/opt/rocm/lib"},
		Hint:    "libhipblas comes with ROCm: load its module, or add its folder to LD_LIBRARY_PATH",
	},
}

// functions are the functions of a loaded driver or compiler.
type functions struct {
	Engine  Engine
	Library string // the name it was loaded under
	calls   *C.gpu_calls
}

// load opens the library and looks up its functions through find, which returns the
// missing symbol or nil.
func load(l dynlib.Library, e Engine, find func(calls *C.gpu_calls, handle unsafe.Pointer) *C.char) (functions, error) {
	handle, name, err := l.Open()
	if err != nil {
		return functions{}, err
	}
	f := functions{e, name, new(C.gpu_calls)}
	if symbol := find(f.calls, handle); symbol != nil {
		dynlib.Close(handle)
		return f, status.Resource(status.Hint(
			fmt.Errorf("%s: %s has no function %s", l.What, name, C.GoString(symbol)),
			"it is older than this program needs; CUDA 11.4 and ROCm 5.2 or newer will do"))
	}
	return f, nil
}

// check turns the status code of a function in the table into an error.
func (f *functions) check(code C.int, field string) error {
	if code == 0 {
		return nil
	}
	e := &Error{Code: int(code), Name: "unknown", Text: "the driver does not know this status"}
	name := C.CString(field)
	e.Call = C.GoString(C.gpu_symbol(name, C.int(f.Engine)))
	C.free(unsafe.Pointer(name))
	if s := C.gpu_error(f.calls, code, 0); s != nil {
		e.Name = C.GoString(s)
	}
	if s := C.gpu_error(f.calls, code, 1); s != nil {
		e.Text = C.GoString(s)
	}
	return e
}

// Statuses that both drivers number alike.
const (
	outOfMemory = 2
	notReady    = 600
)

// Error is a call that the driver refused.
type Error struct {
	Call   string // the driver's function
	Code   int    // its status
	Name   string // the driver's name of it, such as CUDA_ERROR_OUT_OF_MEMORY
	Text   string // the driver's own words
	During string // what was being done, "" where the call says it all
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s (%s, status %d)", e.Call, e.Text, e.Name, e.Code)
	if e.During != "" {
		s = e.During + ": " + s
	}
	return s
}

// Is reports whether the card had too little memory, for accel.ErrMemory.
func (e *Error) Is(target error) bool { return target == accel.ErrMemory && e.Code == outOfMemory }
