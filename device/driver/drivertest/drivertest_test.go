package drivertest

import (
	"os"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/driver"
)

func TestMain(m *testing.M) {
	ServeCompile()
	os.Exit(m.Run())
}

// spilling wants more registers than a thread may have.
const spilling = `
extern "C" __global__ void __launch_bounds__(1024) spilling(const float *x, float *y, int n)
{
	float v[200];
#pragma unroll
	for (int i = 0; i < 200; i++)
		v[i] = x[i * n + threadIdx.x];
	for (int k = 0; k < n; k++) {
#pragma unroll
		for (int i = 0; i < 200; i++)
			v[i] = v[i] * v[(i + 7) % 200] + x[k];
	}
#pragma unroll
	for (int i = 0; i < 200; i++)
		y[i * n + threadIdx.x] = v[i];
}
`

// A kernel that spills is found out by both compilers.
func TestSpillsAreFound(t *testing.T) {
	for _, c := range []struct {
		engine   driver.Engine
		variable string
		arch     string
		spills   func(driver.Binary) (string, error)
	}{
		{driver.CUDA, "LSM_NVRTC_LIB", "sm_80", spillsOfCUDA},
		{driver.HIP, "LSM_HIPRTC_LIB", "gfx90a", spillsOfHIP},
	} {
		t.Run(c.arch, func(t *testing.T) {
			t.Setenv(c.variable, os.Getenv("LSM_TEST"+c.variable[len("LSM"):]))
			k, err := driver.OpenCompiler(c.engine)
			if err != nil {
				t.Skip(err)
			}
			Child(t, k)
			for text, want := range map[string]bool{spilling: true, `extern "C" __global__ void f(float *x) { *x = 1; }`: false} {
				b, err := k.Compile(driver.Source{Name: "spilling.cu", Text: text}, c.arch)
				if err != nil {
					t.Fatal(err)
				}
				spills, err := c.spills(b)
				if err != nil || (spills != "") != want {
					t.Errorf("spills %q (%v), want %v\n%s", spills, err, want, b.Log)
				}
			}
		})
	}
}

// hiprtc ends its process over a target it does not know.
func TestUnknownTarget(t *testing.T) {
	t.Setenv("LSM_HIPRTC_LIB", os.Getenv("LSM_TEST_HIPRTC_LIB"))
	k, err := driver.OpenCompiler(driver.HIP)
	if err != nil {
		t.Skip(err)
	}
	Child(t, k)
	if _, err := k.Compile(driver.Source{Name: "a.cu", Text: `extern "C" __global__ void f() {}`}, "gfx999"); err == nil {
		t.Error("no error")
	}
}

func TestMessagePack(t *testing.T) {
	for want, data := range map[int][]byte{
		7: {7, 0, 0, 0, 0}, 200: {0xcc, 200, 0, 0, 0}, 300: {0xcd, 1, 44, 0, 0}, 70000: {0xce, 0, 1, 0x11, 0x70},
	} {
		if n, err := messagePackInt(data); n != want || err != nil {
			t.Errorf("%x is %d (%v), want %d", data, n, err, want)
		}
	}
	for _, data := range [][]byte{nil, {0xa1, 0, 0, 0, 0}} {
		if _, err := messagePackInt(data); err == nil {
			t.Errorf("%x is a number", data)
		}
	}
}
