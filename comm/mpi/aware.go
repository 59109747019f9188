package mpi

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// spaces are the kinds of GPUs whose memory a library may take, with what tells whether it
// does.
var spaces = [...]struct {
	queries []string // extensions that return 1 for yes: those of Open MPI and of MPICH
	number  C.int    // of MPICH's MPIX_GPU_query_support
	item    string   // begins the names of parts of a library that know this kind
}{
	device.CUDA: {[]string{"MPIX_Query_cuda_support"}, 0, "cuda"},
	device.ROCm: {[]string{"MPIX_Query_rocm_support", "MPIX_Query_hip_support"}, 2, "rocm"},
}

// anyKind is the query of MPICH 3.4 and newer, and its kin.
const anyKind = "MPIX_GPU_query_support"

// switches are the environment's variables that switch GPU memory on or off.
var switches = []struct {
	name string
	of   []device.Space
	list bool // of parts, such as "sm,cuda_copy" or "^cuda"; otherwise a yes or no
}{
	{"OMPI_MCA_opal_cuda_support", []device.Space{device.CUDA}, false}, // Open MPI 4
	{"OMPI_MCA_mpi_cuda_support", []device.Space{device.CUDA}, false},
	{"OMPI_MCA_accelerator", []device.Space{device.CUDA, device.ROCm}, true}, // Open MPI 5
	{"MPIR_CVAR_ENABLE_GPU", []device.Space{device.CUDA, device.ROCm}, false},
	{"MPICH_GPU_SUPPORT_ENABLED", []device.Space{device.CUDA, device.ROCm}, false}, // Cray MPICH
	{"MV2_USE_CUDA", []device.Space{device.CUDA}, false},                           // MVAPICH2
	{"MV2_USE_ROCM", []device.Space{device.ROCm}, false},
	{"UCX_TLS", []device.Space{device.CUDA, device.ROCm}, true},
}

// Switches are the names of the variables that Claim looks at.
func Switches() (names []string) {
	for _, v := range switches {
		names = append(names, v.name)
	}
	return names
}

// answer is yes, no or nothing.
type answer int

const (
	nothing answer = iota
	no
	yes
)

func answered(v bool) answer {
	if v {
		return yes
	}
	return no
}

// askLibrary asks the library, and says what was asked. If the library has anyKind, the others only
// pass it on, and those of MPICH 3.4.1 end the process. They are therefore called only without anyKind.
func askLibrary(s device.Space) (a answer, by string) {
	for _, name := range append([]string{anyKind}, spaces[s].queries...) {
		number := C.int(-1)
		if name == anyKind {
			number = spaces[s].number
		}
		text := C.CString(name)
		said := C.lsm_query(text, number)
		C.free(unsafe.Pointer(text))
		if said == 1 || said == 0 && a == nothing {
			a, by = answered(said == 1), name
		}
		if a == yes || a == no && name == anyKind {
			break
		}
	}
	return a, by
}

// readSwitch reads the value of a switch for parts whose names begin with item.
func readSwitch(value string, list bool, item string) answer {
	if !list {
		switch strings.ToLower(value) {
		case "on", "yes", "enabled":
			return yes
		case "off", "no", "disabled":
			return no
		}
		if v, err := strconv.ParseBool(value); err == nil {
			return answered(v)
		}
		return nothing
	}
	rest, without := strings.CutPrefix(value, "^")
	named := slices.ContainsFunc(strings.Split(rest, ","), func(part string) bool {
		return strings.HasPrefix(part, item) || part == "all" && !without
	})
	switch {
	case value == "", without && !named:
		return nothing
	case without:
		return no
	}
	return answered(named)
}

// Claim reports whether the library and the environment say that MPI takes the memory of a
// kind of GPU, and how it is known. A query of the library that says no and a variable that
// switches off each rule it out. A variable that switches on counts where the library has
// no query. It may be called once the run is open.
func Claim(s device.Space) comm.Claim {
	a, by := askLibrary(s)
	why := []string{"it has no query"}
	if a != nothing {
		why[0] = by + " says " + [...]string{no: "no", yes: "yes"}[a]
	}
	for _, v := range switches {
		value, set := os.LookupEnv(v.name)
		if !set || !slices.Contains(v.of, s) {
			continue
		}
		switch readSwitch(value, v.list, spaces[s].item) {
		case no:
			a = no
		case yes:
			if a == nothing {
				a = yes
			}
		default:
			continue
		}
		why = append(why, fmt.Sprintf("%s=%s", v.name, value))
	}
	return comm.Claim{Takes: a == yes, Why: strings.Join(why, ", ")}
}

// Deny has the library given no memory of a kind of GPU any more. It may be called once the
// run is open, before the first buffer.
func Deny(s device.Space) {
	if w := opened.Load(); w != nil {
		w.aware[s] = false
	}
}
