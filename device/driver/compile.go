package driver

/*
#include <stdlib.h>
#include "calls.h"
*/
import "C"

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/dynlib"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Compiler is a run-time compiler. Engine says whose it is, and Library is the name it was
// loaded under.
type Compiler struct {
	functions
	Version string // its own, such as "12.9"

	// Child is a command that runs ServeCompile on its standard streams. hiprtc ends the
	// process if it does not know the target; in a child this becomes an ordinary error.
	// Without Child, programs are compiled in this process.
	Child []string

	Lines bool // NVRTC notes in what it makes which line of the source each instruction is of
}

var _ accel.Compiler = (*Compiler)(nil)

// String is the compiler's file and version.
func (k *Compiler) String() string { return k.Library + " " + k.Version }

// Kind implements accel.Compiler.
func (k *Compiler) Kind() (engine, version string) { return k.Engine.String(), k.Version }

// OpenCompiler loads the run-time compiler of an engine.
func OpenCompiler(e Engine) (*Compiler, error) {
	f, err := load(compilerLibraries[e], e, func(calls *C.gpu_calls, handle unsafe.Pointer) *C.char {
		return C.compiler_load(calls, handle, C.int(e))
	})
	if err != nil {
		return nil, err
	}
	k := &Compiler{functions: f}
	var major, minor C.int
	if err := k.check(C.gpu_version(k.calls, &major, &minor), "version"); err != nil {
		return nil, status.Resource(err)
	}
	k.Version = fmt.Sprintf("%d.%d", major, minor)
	dynlib.OpenBeside(C.GoString(C.compiler_file(k.calls)), k.builtins()...)
	return k, nil
}

// builtins are the names of the library with what a compiler adds to programs, which it loads
// when it compiles. NVIDIA's ends in the compiler's version, AMD's in that of its library.
func (k *Compiler) builtins() []string {
	if k.Engine == CUDA {
		return []string{"libnvrtc-builtins.so." + k.Version}
	}
	const name = "libhiprtc-builtins.so"
	_, version, _ := strings.Cut(filepath.Base(k.Library), ".so")
	names := []string{name + version}
	if parts := strings.SplitN(version, ".", 3); len(parts) == 3 { // of .6.2.41134, .6
		names = append(names, name+"."+parts[1])
	}
	return append(names, name)
}

// Compile makes a binary for an architecture as accel.Card names it. If NVRTC is older than
// the card, the binary is PTX for the newest architecture that NVRTC knows, and the
// driver compiles that for the card. For compute_N the binary is PTX for that
// architecture. The error of a faulty program holds the compiler's log.
func (k *Compiler) Compile(src accel.Source, arch string) (accel.Binary, error) {
	var b accel.Binary
	var err error
	if k.Child != nil {
		b, err = k.compileInChild(src, arch)
	} else {
		b, err = k.compile(src, arch)
	}
	if err != nil {
		return b, status.Resource(fmt.Errorf("compiling %s for %s: %w", src.Name, arch, err))
	}
	return b, nil
}

func (k *Compiler) compile(src accel.Source, arch string) (b accel.Binary, err error) {
	options, ptx, err := k.options(src, arch)
	if err != nil {
		return b, err
	}
	text, name := C.CString(src.Text), C.CString(src.Name)
	defer C.free(unsafe.Pointer(text))
	defer C.free(unsafe.Pointer(name))
	var program unsafe.Pointer
	if err := k.check(C.gpu_create(k.calls, &program, text, name, 0, nil, nil), "create"); err != nil {
		return b, err
	}
	defer C.gpu_destroy(k.calls, &program)

	list := make([]*C.char, len(options))
	for i, o := range options {
		list[i] = C.CString(o)
		defer C.free(unsafe.Pointer(list[i]))
	}
	code := C.gpu_compile(k.calls, program, C.int(len(list)), unsafe.SliceData(list))
	var n C.size_t
	if C.gpu_log_size(k.calls, program, &n) == 0 && n > 1 {
		log := make([]byte, n)
		if C.gpu_log(k.calls, program, (*C.char)(unsafe.Pointer(&log[0]))) == 0 {
			b.Log = strings.TrimSpace(cut(log))
		}
	}
	if err := k.check(code, "compile"); err != nil {
		return b, fmt.Errorf("%w\n%s", err, b.Log)
	}
	b.Image, err = k.image(program, ptx)
	return b, err
}

// image fetches what was compiled.
func (k *Compiler) image(program unsafe.Pointer, ptx bool) ([]byte, error) {
	var n C.size_t
	var code C.int
	if ptx {
		code = C.gpu_ptx_size(k.calls, program, &n)
	} else {
		code = C.gpu_binary_size(k.calls, program, &n)
	}
	if err := k.check(code, "binary_size"); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fmt.Errorf("%s made an empty binary", compilerLibraries[k.Engine].What)
	}
	image := make([]byte, n)
	to := (*C.char)(unsafe.Pointer(&image[0]))
	if ptx {
		code = C.gpu_ptx(k.calls, program, to)
	} else {
		code = C.gpu_binary(k.calls, program, to)
	}
	if ptx {
		image = bytes.TrimRight(image, "\x00")
	}
	return image, k.check(code, "binary")
}

// options returns the compiler options for a program and an architecture.
func (k *Compiler) options(src accel.Source, arch string) (options []string, ptx bool, err error) {
	if k.Engine == HIP {
		options = []string{"--offload-arch=" + arch, "-std=c++17", "-O3", "-ffp-contract=off"}
	} else {
		target, err := k.target(arch)
		if err != nil {
			return nil, false, err
		}
		ptx = strings.HasPrefix(target, virtual)
		options = []string{"--gpu-architecture=" + target, "--std=c++17", "--fmad=false"}
		if !ptx {
			options = append(options, "--ptxas-options=-v")
		}
		if k.Lines {
			options = append(options, "-lineinfo")
		}
	}
	for _, d := range src.Defines {
		options = append(options, "-D"+d)
	}
	return options, ptx, nil
}

// target returns what NVRTC can compile for a card sm_N: a binary for that card, or PTX
// for an older architecture.
func (k *Compiler) target(arch string) (string, error) {
	if strings.HasPrefix(arch, virtual) {
		return arch, nil
	}
	want, err := strconv.Atoi(strings.TrimPrefix(arch, "sm_"))
	if err != nil {
		return "", fmt.Errorf("%q is no architecture of the form sm_90", arch)
	}
	var n C.int
	if err := k.check(C.gpu_archs_count(k.calls, &n), "archs_count"); err != nil {
		return "", err
	}
	archs := make([]C.int, max(n, 1))
	if err := k.check(C.gpu_archs(k.calls, &archs[0]), "archs"); err != nil {
		return "", err
	}
	best := 0
	for _, a := range archs {
		if int(a) <= want {
			best = max(best, int(a))
		}
	}
	switch best {
	case want:
		return arch, nil
	case 0:
		return "", fmt.Errorf("NVRTC %s compiles for sm_%d and newer only", k.Version, archs[0])
	}
	return virtual + strconv.Itoa(best), nil
}

// virtual is the prefix of the architectures that PTX is made for.
const virtual = "compute_"
