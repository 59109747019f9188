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

// Library lists the names under which a shared library is looked for.
type Library struct {
	What     string   // for messages
	Variable string   // environment variable that names a file instead
	Names    []string // tried in order by the loader's own rules
	Folders  []string // tried after that; they may begin with an environment variable: $CUDA_HOME/lib64
	Hint     string   // what to do where there is none
	Global   bool     // its symbols serve what is loaded later, such as its own plug-ins
	Needs    []string // libraries that it needs of its own folder, such as libcublasLt, in its own version
}

// Libraries returns the driver and the run-time compiler of an engine.
func Libraries(e Engine) (driver, compiler Library) { return driverLibraries[e], compilerLibraries[e] }

var driverLibraries = [...]Library{
	CUDA: {
		What: "the CUDA driver", Variable: "LSM_CUDA_LIB",
		Names: []string{"libcuda.so.1"},
		Hint:  "libcuda.so.1 comes with NVIDIA's driver: this machine has no NVIDIA GPU, or its driver is not installed",
	},
	HIP: {
		What: "the HIP runtime", Variable: "LSM_HIP_LIB",
		Names:   []string{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"},
		Folders: []string{"$ROCM_PATH/lib", "/opt/rocm/lib"},
		Hint:    "libamdhip64 comes with ROCm: load its module, or add its folder to LD_LIBRARY_PATH",
	},
}

var compilerLibraries = [...]Library{
	CUDA: {
		What: "NVIDIA's run-time compiler (NVRTC)", Variable: "LSM_NVRTC_LIB",
		Names:   []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"},
		Folders: []string{"$CUDA_HOME/lib64", "$CUDA_PATH/lib64", "/usr/local/cuda/lib64"},
		Hint:    "libnvrtc comes with the CUDA toolkit: load its module, or add its folder to LD_LIBRARY_PATH",
	},
	HIP: {
		What: "AMD's run-time compiler (hiprtc)", Variable: "LSM_HIPRTC_LIB",
		// Up to ROCm 5 the runtime itself contains the compiler's functions.
		Names: []string{"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so",
			"libamdhip64.so.5", "libamdhip64.so"},
		Folders: []string{"$ROCM_PATH/lib", "/opt/rocm/lib"},
		Hint:    "libhiprtc comes with ROCm: load its module, or add its folder to LD_LIBRARY_PATH",
	},
}

// Candidates are the names to try, in order.
func (l Library) Candidates() []string {
	if file := os.Getenv(l.Variable); file != "" {
		return []string{file}
	}
	all := append([]string(nil), l.Names...)
	for _, folder := range l.Folders {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(folder, "$"), "/"); ok && folder[0] == '$' {
			base := os.Getenv(name)
			if base == "" {
				continue
			}
			folder = filepath.Join(base, rest)
		}
		for _, name := range l.Names {
			all = append(all, filepath.Join(folder, name))
		}
	}
	return all
}

// Find returns the file of the first candidate that exists, or "". Candidates may be
// patterns, such as libmpi.so.*. loader lists the folders of the system's loader. Find
// loads nothing.
func (l Library) Find(loader []string) string {
	for _, name := range l.Candidates() {
		places := []string{name}
		if !strings.Contains(name, "/") { // as the loader sees it
			places = nil
			for _, folder := range loader {
				places = append(places, filepath.Join(folder, name))
			}
		}
		for _, place := range places {
			files, _ := filepath.Glob(place) // the patterns are right
			for _, file := range files {
				if _, err := os.Stat(file); err == nil {
					return file
				}
			}
		}
	}
	return ""
}

// Open loads the first candidate that can be loaded. Its error is a missing resource that
// says what was looked for and carries the hint.
func (l Library) Open() (handle unsafe.Pointer, name string, err error) {
	names := l.Candidates()
	global := C.int(0)
	if l.Global {
		global = 1
	}
	why := "there is no " + strings.Join(names, ", ")
	for _, name := range names {
		_, version, _ := strings.Cut(filepath.Base(name), ".so")
		for _, need := range l.Needs {
			openBeside(name, need+".so"+version)
		}
		var text string
		if handle, text = open(name, global); handle != nil {
			return handle, name, nil
		}
		// A file that exists but cannot be loaded, itself or what it needs, explains the failure better.
		if !strings.HasPrefix(text, name+": ") || !strings.Contains(text, "No such file") {
			why = text
		}
	}
	return nil, "", status.Resource(status.Hint(fmt.Errorf("%s cannot be loaded: %s", l.What, why), l.Hint))
}

// open loads a library, or says why it cannot.
func open(name string, global C.int) (handle unsafe.Pointer, why string) {
	file := C.CString(name)
	defer C.free(unsafe.Pointer(file))
	var text *C.char
	handle = C.library_open(file, global, &text)
	return handle, C.GoString(text)
}

// openBeside loads libraries that another one asks the loader for by their names alone. The
// loader does not look into the folder of a library that was loaded by its full path and says
// nothing of where to look (it has no run path), as in some of NVIDIA's packages for Python.
// What is loaded already it finds by name. Names that are not there are left out.
func openBeside(file string, names ...string) {
	if !strings.Contains(file, "/") {
		return
	}
	folders := []string{filepath.Dir(file)}
	if real, err := filepath.EvalSymlinks(file); err == nil && filepath.Dir(real) != folders[0] {
		folders = append(folders, filepath.Dir(real))
	}
	for _, name := range names {
		for _, folder := range folders {
			if handle, _ := open(filepath.Join(folder, name), 1); handle != nil {
				break
			}
		}
	}
}

// functions are those of a loaded driver or compiler.
type functions struct {
	Engine  Engine
	Library string // the name it was loaded under
	calls   *C.gpu_calls
}

// load opens the library and looks up its functions through find, which returns the
// missing symbol or nil.
func (l Library) load(e Engine, find func(calls *C.gpu_calls, handle unsafe.Pointer) *C.char) (functions, error) {
	handle, name, err := l.Open()
	if err != nil {
		return functions{}, err
	}
	f := functions{e, name, new(C.gpu_calls)}
	if symbol := find(f.calls, handle); symbol != nil {
		C.library_close(handle)
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

// OutOfMemory reports whether the card had too little memory.
func (e *Error) OutOfMemory() bool { return e.Code == outOfMemory }
