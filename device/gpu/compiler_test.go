package gpu

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
)

// A compiler that is there and fails costs nothing but a warning: programs carried as PTX take
// the place of those that it would make, also where it fails at a later program.
func TestCompilerThatFails(t *testing.T) {
	gputest.NeedEmulator(t)
	apart := filepath.Join(t.TempDir(), "libnvrtc.so.12")
	library, err := os.ReadFile(filepath.Join(os.Getenv("GPUEMU_FOLDER"), "libgpuemu.so"))
	must(t, err)
	must(t, os.WriteFile(apart, library, 0o644))
	for _, c := range []struct{ name, variable, value, want string }{
		{"it lacks its builtins", "LSM_NVRTC_LIB", apart, "failed to open libnvrtc-builtins.so.0.1"},
		{"the first program", "GPUEMU_FAULT", "nvrtcCompileProgram:1:7", "BUILTIN_OPERATION_FAILURE"},
		{"the driver refuses what it makes", "GPUEMU_FAULT", "cuModuleLoadData:1:200", "device kernel image is invalid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if out, err := gputest.Run(t, "^TestWorksWithWarning$", c.variable+"="+c.value, "LSM_TEST_WARNING="+c.want); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestWorksWithWarning is what TestCompilerThatFails does in a process of its own: libraries
// stay loaded.
func TestWorksWithWarning(t *testing.T) {
	want := os.Getenv("LSM_TEST_WARNING")
	if want == "" {
		t.Skip("it is a part of another test")
	}
	var warnings []string
	d, err := Open(Options{Warn: func(text string) { warnings = append(warnings, text) }})
	must(t, err)
	defer d.Close()
	if len(warnings) != 1 || !strings.Contains(warnings[0], want) || !strings.Contains(d.Programs(), want) || d.Compiles() {
		t.Errorf("warnings %q, programs %q, compiles %v; want %q", warnings, d.Programs(), d.Compiles(), want)
	}
	x, err := d.Alloc(100, device.F32)
	must(t, err)
	must(t, device.Upload(x, make([]float32, 100)))
	must(t, d.Axpby(1, x, 1, x))
	if _, err := d.Build(accel.Source{Name: "other.cu", Text: `extern "C" __global__ void f() {}`}); err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("a program that is not carried: %v", err)
	}
}
