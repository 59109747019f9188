package gputest_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
)

func TestMain(m *testing.M) { os.Exit(gputest.Main(m)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Kernels that go wrong, each in its own way.
const faulty = `
extern "C" __global__ void divergent(float *x)
{
	if (threadIdx.x < 5)
		__syncthreads();
	x[threadIdx.x] = 1;
}
extern "C" __global__ void beyond(float *x, int n)
{
	x[n] = 1;
}
extern "C" __global__ void shared_beyond(float *x, int n)
{
	__shared__ float s[32];
	s[threadIdx.x + n] = 2;
	__syncthreads();
	x[threadIdx.x] = s[threadIdx.x ^ 1];
}
extern "C" __global__ void dynamic_beyond(float *x, int n)
{
	extern __shared__ float s[];
	s[threadIdx.x] = 2;
	__syncthreads();
	x[threadIdx.x] = s[threadIdx.x + n];
}
extern "C" __global__ void recursive(float *x, int n)
{
	volatile float deep[64];
	deep[n % 64] = x[0];
	__syncthreads();
	x[threadIdx.x] = deep[n % 64] + 1;
}
`

// run launches one of the kernels with 32 threads on 32 floats.
func run(t testing.TB, name string, n int32, shared int) ([]byte, error) {
	t.Helper()
	d, err := driver.CUDA.Open()
	must(t, err)
	cards, err := d.Cards()
	must(t, err)
	c, err := d.Use(cards[0])
	must(t, err)
	defer c.Close()
	k, err := driver.OpenCompiler(driver.CUDA)
	must(t, err)
	b, _, err := accel.UserCache().Compile(k, accel.Source{Name: "faulty.cu", Text: faulty}, "sm_90", false)
	must(t, err)
	m, err := c.Load("faulty.cu", b.Image)
	must(t, err)
	f, err := m.Function(name)
	must(t, err)
	x, err := c.Alloc(32 * 4)
	must(t, err)
	c.Fill(c.Main(), x, 0, 32*4)
	shape := accel.Line(1, 32)
	shape.Shared = shared
	c.Launch(c.Main(), f, shape, x, int32(n))
	p, err := c.AllocPinned(32 * 4)
	must(t, err)
	c.ToHost(c.Main(), p, 0, 32*4, x)
	err = c.Finish(c.Main())
	return bytes.Clone(p.Bytes), err
}

// A barrier that not all threads reach and a write beyond an allocation are
// errors of the card without any sanitizer.
func TestFaultyKernels(t *testing.T) {
	gputest.NeedEmulator(t)
	for _, c := range []struct {
		name   string
		n      int32
		shared int
		want   string
	}{
		{"divergent", 0, 0, "unspecified launch failure"},
		{"beyond", 32, 0, "illegal memory access"},
		{"beyond", -1, 0, "illegal memory access"},
		{"beyond", 31, 0, ""},
		{"shared_beyond", 0, 0, ""},
		{"dynamic_beyond", 0, 32 * 4, ""},
		{"recursive", 3, 0, ""},
	} {
		_, err := run(t, c.name, c.n, c.shared)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %d: %v, want %q", c.name, c.n, err, c.want)
		}
	}
}

// Shared memory that was not written and memory fresh from the driver are NaN.
func TestFreshMemoryIsNaN(t *testing.T) {
	gputest.NeedEmulator(t)
	x, err := run(t, "dynamic_beyond", 1, 33*4)
	must(t, err)
	if !bytes.Equal(x[31*4:], []byte{0xFF, 0xFF, 0xFF, 0xFF}) || bytes.Equal(x[:4], x[31*4:]) {
		t.Errorf("shared memory that nobody wrote is %x", x[31*4:])
	}
}

// Under the sanitizer the process ends with the line of the kernel that went
// beyond memory; kernels without fault pass.
func TestSanitizer(t *testing.T) {
	gputest.NeedEmulator(t)
	if kernel := os.Getenv("GPUEMU_TEST_KERNEL"); kernel != "" {
		n := map[string]int32{"beyond": 32, "shared_beyond": 1, "dynamic_beyond": 1, "recursive": 3, "divergent": 0}[kernel]
		_, err := run(t, kernel, n, 32*4)
		if (err != nil) != (kernel == "divergent") {
			t.Errorf("%s: %v", kernel, err)
		}
		return
	}
	for kernel, line := range map[string]string{
		"beyond": "x[n] = 1;", "shared_beyond": "s[threadIdx.x + n] = 2;", "dynamic_beyond": "= s[threadIdx.x + n];",
		"recursive": "", "divergent": "",
	} {
		out, err := gputest.RunSanitized(t, "^TestSanitizer$", "GPUEMU_TEST_KERNEL="+kernel)
		var exit *exec.ExitError
		if line == "" {
			if err != nil || strings.Contains(out, "AddressSanitizer") {
				t.Errorf("%s under the sanitizer: %v\n%s", kernel, err, out)
			}
			continue
		}
		before, _, _ := strings.Cut(faulty, line)
		place := "faulty.cu:" + strconv.Itoa(strings.Count(before, "\n")+1)
		if !errors.As(err, &exit) || !strings.Contains(out, "AddressSanitizer") || !strings.Contains(out, place) {
			t.Errorf("%s: %v, want a report of %s\n%s", kernel, err, place, out)
		}
	}
}

// Nothing is left in the folder for temporary files.
func TestNothingIsLeft(t *testing.T) {
	gputest.NeedEmulator(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // so that there is something to compile
	_, err := run(t, "recursive", 0, 0)
	must(t, err)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
