package gpuemu

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// why is what stands in the way of the emulator in this test program.
var why = "the test program does not begin with gpuemu.Main"

// Main builds the emulator, runs the tests of a package on it and removes it
// again; for TestMain. With LSM_TEST_GPU=1 the tests run on the machine's own
// GPU instead. It returns the exit status.
func Main(m *testing.M) int {
	if Real() {
		why = ""
		return m.Run()
	}
	if why = Missing(); why != "" {
		return m.Run()
	}
	if os.Getenv("GPUEMU_FOLDER") != "" { // a child of such a test program
		return m.Run()
	}
	folder, err := os.MkdirTemp("", "gpuemu-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	if err := Build(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, s := range Environment(folder) {
		name, value, _ := strings.Cut(s, "=")
		os.Setenv(name, value)
	}
	return m.Run()
}

// Real says whether tests are to run on a real card.
func Real() bool { return os.Getenv("LSM_TEST_GPU") == "1" }

// Need skips a test that has neither the emulator nor a real card.
func Need(t testing.TB) {
	t.Helper()
	if why != "" {
		t.Skip(why)
	}
}

// NeedEmulator skips a test that is about the emulator, or sets it.
func NeedEmulator(t testing.TB) {
	t.Helper()
	Need(t)
	if Real() {
		t.Skip("for the emulated GPU only")
	}
}
