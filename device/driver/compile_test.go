package driver_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

func TestFaultyProgram(t *testing.T) {
	gputest.Need(t)
	k, err := driver.OpenCompiler(driver.CUDA)
	must(t, err)
	_, err = k.Compile(accel.Source{Name: "bad.cu", Text: "\nextern \"C\" __global__ void f(int *x) { *x = nonsense; }"}, "sm_90")
	if status.Code(err) != status.NoResource || !strings.Contains(err.Error(), "nonsense") || !strings.Contains(err.Error(), "bad.cu") {
		t.Errorf("error is %v", err)
	}
	if _, err := k.Compile(accel.Source{Name: "a.cu"}, "ninety"); err == nil || !strings.Contains(err.Error(), "ninety") {
		t.Errorf("architecture: %v", err)
	}
}

// hiprtc ends its process over a target it does not know; in a child that is an
// error.
func TestCompileInChild(t *testing.T) {
	gputest.NeedEmulator(t)
	k, err := driver.OpenCompiler(driver.HIP)
	must(t, err)
	exe, err := os.Executable()
	must(t, err)
	k.Child = []string{"env", "LSM_TEST_COMPILE=1", exe}
	src := accel.Source{Name: "ok.cu", Text: `extern "C" __global__ void f(float *x) { x[threadIdx.x] = VALUE; }`, Defines: []string{"VALUE=3"}}
	b, err := k.Compile(src, "gfx90a")
	must(t, err)
	c := card(t, driver.HIP)
	m, err := c.Load(src.Name, b.Image)
	must(t, err)
	x := upload(t, c, make([]float32, 4))
	c.Launch(c.Main(), function(t, m, "f"), accel.Line(1, 4), x)
	got := make([]float32, 4)
	download(t, c, got, x)
	if got[3] != 3 {
		t.Errorf("got %v", got)
	}
	if _, err = k.Compile(src, "gfx9999"); err == nil || !strings.Contains(err.Error(), "gfx9999") || !strings.Contains(err.Error(), "ended the process") {
		t.Errorf("unknown target: %v", err)
	}
	src.Text = "nonsense"
	if _, err = k.Compile(src, "gfx90a"); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("faulty program: %v", err)
	}
}

func TestCache(t *testing.T) {
	gputest.Need(t)
	k, err := driver.OpenCompiler(driver.CUDA)
	must(t, err)
	cache := accel.Cache{Dir: filepath.Join(t.TempDir(), "a", "b")}
	src := accel.Source{Name: "a.cu", Text: `extern "C" __global__ void f() {}`}
	anew := false
	get := func(src accel.Source, arch string, want bool) []byte {
		t.Helper()
		b, cached, err := cache.Compile(k, src, arch, anew)
		must(t, err)
		if cached != want {
			t.Errorf("cached: %v, want %v", cached, want)
		}
		return b.Image
	}
	first := get(src, "sm_90", false)
	if !bytes.Equal(first, get(src, "sm_90", true)) {
		t.Error("the cache holds something else")
	}
	get(src, "sm_80", false)
	other := src
	other.Defines = []string{"A"}
	get(other, "sm_90", false)

	// Damage, cut short or gone: compiled anew.
	files, err := filepath.Glob(filepath.Join(cache.Dir, "*"))
	must(t, err)
	if len(files) != 3 {
		t.Errorf("files are %q", files)
	}
	for _, f := range files {
		must(t, os.Truncate(f, 100))
	}
	get(src, "sm_90", false)
	get(src, "sm_90", true)
	anew = true
	get(src, "sm_90", false)
	anew = false
	get(src, "sm_90", true)

	// A folder that cannot be had costs time alone.
	for _, dir := range []string{"", "/proc/no/such", files[0]} {
		cache = accel.Cache{Dir: dir}
		get(src, "sm_90", false)
		get(src, "sm_90", false)
	}
}
