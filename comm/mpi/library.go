package mpi

// #include "shim.h"
import "C"

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/kirchhoff-lsm/lsm/device/dynlib"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Variable is the environment variable that names the library: a file, or one of Interfaces.
const Variable = "LSM_MPI_LIB"

// Interfaces are the binary interfaces that package mpi knows, by the libraries that brought
// them up.
var Interfaces = []string{"openmpi", "mpich"}

// files lists the file names of the libraries of an interface.
var files = map[string][]string{
	"openmpi": {"libmpi.so.40", "libmpi.40.dylib"},
	"mpich":   {"libmpich.so.12", "libmpi.so.12", "libmpi_cray.so.12", "libmpi.12.dylib", "libmpich.12.dylib"},
}

// started are variables of launchers that go with one interface. Slurm sets those of PMIx with
// --mpi=pmix and those of PMI with --mpi=pmi2. The innermost launcher comes first.
var started = []struct{ variable, of string }{
	{"OMPI_COMM_WORLD_SIZE", "openmpi"}, {"MV2_COMM_WORLD_SIZE", "mpich"}, {"PMI_RANK", "mpich"}, {"PMI_FD", "mpich"}, {"PMIX_RANK", "openmpi"},
}

// findWanted returns the library to look for: the one that the environment names, otherwise that
// of the launcher, otherwise any.
func findWanted() dynlib.Library {
	l := dynlib.Library{What: "MPI", Variable: Variable, Global: true,
		Hint: "Open MPI, MPICH or their kin is not installed, or its module is not loaded (Debian: libopenmpi3 or libmpich12); " + Variable + " names another file"}
	order := slices.Clone(Interfaces)
	if named := os.Getenv(Variable); slices.Contains(Interfaces, named) {
		order, l.Variable = []string{named}, ""
	} else {
		for _, s := range slices.Backward(started) {
			if os.Getenv(s.variable) != "" {
				order = slices.Insert(slices.DeleteFunc(order, func(name string) bool { return name == s.of }), 0, s.of)
			}
		}
	}
	for _, name := range order {
		l.Names = append(l.Names, files[name]...)
	}
	return l
}

// Sought returns the libraries that are looked for of one interface.
func Sought(of string) dynlib.Library {
	label := map[string]string{"openmpi": "MPI (Open MPI)", "mpich": "MPI (MPICH)"}[of]
	return dynlib.Library{What: "MPI", Label: label, Names: files[of]}
}

// kin are parts of the descriptions by which libraries of a known interface identify
// themselves.
var kin = []string{"Open MPI", "MPICH", "Intel(R) MPI", "MVAPICH"}

// Load loads the library that goes with the launcher, Open MPI's or one with MPICH's binary
// interface, and returns its file. Only the first call does anything. The error is a missing
// resource.
func Load() (file string, err error) { return load() }

var load = sync.OnceValues(find)

// find loads it.
func find() (file string, err error) {
	C.lsm_keep_signals()
	handle, file, err := findWanted().Open()
	C.lsm_restore_signals()
	if err != nil {
		return "", err
	}
	if missing := C.lsm_load(handle); missing != nil {
		return "", status.Resource(fmt.Errorf("%s has no %s: it is no MPI 3.0 or later", file, C.GoString(missing)))
	}
	if about := readDescription(); !slices.ContainsFunc(kin, func(name string) bool { return strings.Contains(about, name) }) {
		return "", status.Resource(fmt.Errorf("%s is %q: its binary interface is not known, which is that of %s", file, libraryName(about), strings.Join(kin, ", ")))
	}
	return file, nil
}

// readDescription returns the description that a loaded library gives of itself.
func readDescription() string {
	var text [1024]C.char
	C.lsm_library(&text[0], C.int(len(text)))
	return C.GoString(&text[0])
}

// nameLibrary names the library, "" where none can be loaded.
func nameLibrary() string {
	if _, err := Load(); err != nil {
		return ""
	}
	return libraryName(readDescription())
}

// libraryName shortens the library's description of itself to the form "Open MPI 4.1.4".
func libraryName(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line, _, _ = strings.Cut(line, ",")
	line = strings.ReplaceAll(line, "Version:", "")
	line = strings.ReplaceAll(line, "Open MPI v", "Open MPI ")
	return strings.Join(strings.Fields(line), " ")
}
