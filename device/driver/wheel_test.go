package driver_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
)

// NVRTC 13.0 as the Python package index has it says nothing of where its builtins lie. Loaded
// by its full path it compiles all the same. LSM_TEST_NVRTC_WHEEL names the library.
func TestCompilerOfWheel(t *testing.T) {
	file := os.Getenv("LSM_TEST_NVRTC_WHEEL")
	if home, err := os.UserHomeDir(); file == "" && err == nil {
		file = filepath.Join(home, ".cache", "lsm", "nvrtc-13.0", "libnvrtc.so.13")
	}
	if _, err := os.Stat(file); err != nil {
		t.Skipf("no NVRTC of the Python package nvidia-cuda-nvrtc 13.0: %v", err)
	}
	exe, err := os.Executable()
	must(t, err)
	linked := filepath.Join(t.TempDir(), "libnvrtc.so.13")
	if err := os.Symlink(file, linked); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, linked} {
		t.Setenv("LSM_NVRTC_LIB", path)
		k, err := driver.OpenCompiler(driver.CUDA)
		if err != nil {
			t.Fatal(err)
		}
		k.Child = []string{"env", "LSM_TEST_COMPILE=1", exe} // libraries stay loaded
		b, err := k.Compile(accel.Source{Name: "a.cu", Text: `extern "C" __global__ void f(float *x) { x[threadIdx.x] = 1; }`}, "sm_90")
		if err != nil {
			t.Fatalf("%s, NVRTC %s: %v", path, k.Version, err)
		}
		if !bytes.HasPrefix(b.Image, []byte("\x7fELF")) {
			t.Errorf("%s, NVRTC %s made no binary of sm_90", path, k.Version)
		}
	}
}
