// Package ptxtest runs tests on what a real compiler makes of the project's programs, by the
// emulated driver's executor of PTX, and takes things out of the programs to see whether that
// is noticed.
package ptxtest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
)

// OnPTX runs tests of this test program in children in which the emulated card is given
// programs as PTX, and runs that statement by statement: first what the program carries,
// then what the machine's own NVRTC makes.
func OnPTX(t *testing.T, pattern string) {
	gputest.NeedEmulator(t)
	t.Run("carried", func(t *testing.T) { onPTX(t, pattern, "LSM_NVRTC_LIB=/no/NVRTC") })
	t.Run("made here", func(t *testing.T) { OnMadePTX(t, pattern) })
}

// OnMadePTX is OnPTX for programs that are not carried.
func OnMadePTX(t *testing.T, pattern string) {
	gputest.NeedEmulator(t)
	onPTX(t, pattern, append(gputest.Environment(os.Getenv("GPUEMU_FOLDER")), "GPUEMU_NVRTC="+NVRTC(t).Library)...)
}

// NVRTC is the machine's own NVRTC: the one that LSM_TEST_NVRTC_LIB names, or that the loader
// finds. Without one the test is skipped.
func NVRTC(t *testing.T) *driver.Compiler {
	t.Helper()
	emulated := os.Getenv("LSM_NVRTC_LIB")
	t.Setenv("LSM_NVRTC_LIB", os.Getenv("LSM_TEST_NVRTC_LIB"))
	k, err := driver.OpenCompiler(driver.CUDA)
	if err != nil {
		t.Skip(err)
	}
	t.Setenv("LSM_NVRTC_LIB", emulated)
	return k
}

func onPTX(t *testing.T, pattern string, environ ...string) {
	report := filepath.Join(t.TempDir(), "report")
	out, err := gputest.Run(t, pattern, append(environ, "LSM_TEST_ON_PTX=1", "GPUEMU_REPORT="+report)...)
	if err != nil {
		t.Fatalf("on PTX: %v\n%s", err, out)
	}
	said, err := os.ReadFile(report)
	if err != nil {
		t.Fatalf("no kernel was run as PTX: %v\n%s", err, out)
	}
	last := said[bytes.LastIndexByte(bytes.TrimSpace(said), '\n')+1:]
	t.Logf("%d tests passed on PTX, %d were skipped; %s", strings.Count(out, "--- PASS"), strings.Count(out, "--- SKIP"), last)
}
