package mpi

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// compared is a program that compiles and returns 0 where an interface is that of a library's
// own header.
const compared = `
#define _GNU_SOURCE
#include <mpi.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include "%s.h"
#include "functions.h"

#define FUNCTION(name, parameters) .name = MPI_##name,
struct functions all = { FUNCTIONS(FUNCTION) };

#define SAME(name) if ((intptr_t)(MPI_##name) != (intptr_t)(NUMBER_##name)) return __LINE__;
#define OBJECT(type, name, symbol) if ((type)dlsym(RTLD_DEFAULT, symbol) != name) return __LINE__;
int main(void) {
	if (MPI_SUCCESS || sizeof(MPI_Status) != NUMBER_STATUS_BYTES || sizeof(MPI_Aint) != sizeof(ptrdiff_t))
		return 1;
	SAME(IN_PLACE)
	SAME(STATUS_IGNORE)
	SAME(COMM_TYPE_SHARED)
	SAME(PROC_NULL)
	SAME(MODE_NOCHECK)
	SAME(THREAD_FUNNELED)
	SAME(ERR_NO_MEM)
	SAME(MAX_ERROR_STRING)
	SAME(MAX_LIBRARY_VERSION_STRING)
	%s
	return 0;
}
`

// Numbers, handles and functions are those of the headers that are here.
func TestInterfacesAreThoseOfHeaders(t *testing.T) {
	for _, c := range []struct{ name, module, handles string }{
		{"openmpi", "ompi-c", "OBJECTS(OBJECT)"},
		{"mpich", "mpich", `
	SAME(COMM_WORLD)
	SAME(COMM_NULL)
	SAME(WIN_NULL)
	SAME(INFO_NULL)
	SAME(ERRORS_RETURN)
	SAME(SUM)
	SAME(MAX)
	SAME(BOR)
	SAME(DATATYPE_NULL)
	SAME(BYTE)
	SAME(INT)
	SAME(FLOAT)
	SAME(DOUBLE)
	SAME(INT64_T)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			flags, err := exec.Command("pkg-config", "--cflags", "--libs", c.module).Output()
			if err != nil {
				t.Skipf("pkg-config knows no %s: no header to compare with", c.module)
			}
			program := filepath.Join(t.TempDir(), "compared")
			if err := os.WriteFile(program+".c", fmt.Appendf(nil, compared, c.name, c.handles), 0o600); err != nil {
				t.Fatal(err)
			}
			args := append([]string{"-Werror", "-I.", "-o", program, program + ".c"}, strings.Fields(string(flags))...)
			if out, err := exec.Command("gcc", append(args, "-ldl")...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if out, err := exec.Command(program).CombinedOutput(); err != nil {
				t.Errorf("line of the program: %v\n%s", err, out)
			}
		})
	}
}
