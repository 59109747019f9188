package driver_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

func TestMain(m *testing.M) {
	if os.Getenv("LSM_TEST_COMPILE") == "" {
		os.Exit(gputest.Main(m))
	}
	if err := driver.ServeCompile(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// program has a kernel for each thing that kernels do with one another.
const program = `
typedef long long i64;
extern "C" __global__ void scale(i64 n, float a, double b, const float *x, float *y, int add)
{
	i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = (float)(a * x[i] + b) + add;
}

// One sum a block, through shared memory.
extern "C" __global__ void __launch_bounds__(256) total(int n, const int *x, int *sums)
{
	extern __shared__ __align__(16) int part[];
	__shared__ int base;
	int t = threadIdx.x;
	if (t == 0)
		base = blockIdx.x * blockDim.x;
	__syncthreads();
	part[t] = base + t < n ? x[base + t] : 0;
	__syncthreads();
	for (int half = blockDim.x / 2; half > 0; half /= 2) {
		if (t < half)
			part[t] += part[t + half];
		__syncthreads();
	}
	if (t == 0)
		sums[blockIdx.x] = part[0];
}

struct Place { const int *x; i64 n; double factor; };

// The same through atomics, with a structure by value and a grid of three axes.
extern "C" __global__ void count(Place p, unsigned long long *sum, int *most, int *blocks)
{
	i64 block = blockIdx.x + gridDim.x * (i64)(blockIdx.y + gridDim.y * blockIdx.z);
	i64 thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
	i64 i = block * blockDim.x * blockDim.y * blockDim.z + thread;
	if (i < p.n) {
		atomicAdd(sum, (unsigned long long)(p.x[i] * p.factor));
		atomicMax(most, p.x[i]);
	}
	if (thread == 0)
		atomicAdd(blocks, 1);
}
`

// card opens the first card of an engine.
func card(t testing.TB, e driver.Engine) *accel.Context {
	t.Helper()
	gputest.Need(t)
	d, err := e.Open()
	if err != nil && gputest.Real() {
		t.Skipf("no %v card: %v", e, err)
	}
	must(t, err)
	cards, err := d.Cards()
	must(t, err)
	c, err := d.Use(cards[0])
	must(t, err)
	t.Cleanup(func() {
		if err := c.Close(); err != nil && c.Err() == nil {
			t.Error(err)
		}
	})
	return c
}

func compile(t testing.TB, c *accel.Context, e driver.Engine, text string) *accel.Module {
	t.Helper()
	k, err := driver.OpenCompiler(e)
	must(t, err)
	b, _, err := accel.UserCache().Compile(k, accel.Source{Name: "test.cu", Text: text}, c.Card.Arch, false)
	must(t, err)
	m, err := c.Load("test.cu", b.Image)
	must(t, err)
	return m
}

func function(t testing.TB, m *accel.Module, name string) *accel.Function {
	t.Helper()
	f, err := m.Function(name)
	must(t, err)
	return f
}

// upload puts little-endian values on the card.
func upload(t testing.TB, c *accel.Context, values any) accel.Memory {
	t.Helper()
	n := binary.Size(values)
	m, err := c.Alloc(int64(n))
	must(t, err)
	p, err := c.AllocPinned(n)
	must(t, err)
	_, err = binary.Encode(p.Bytes, binary.LittleEndian, values)
	must(t, err)
	c.ToDevice(c.Main(), m, p, 0, n)
	must(t, c.Finish(c.Main()))
	return m
}

func download(t testing.TB, c *accel.Context, values any, m accel.Memory) {
	t.Helper()
	n := binary.Size(values)
	p, err := c.AllocPinned(n)
	must(t, err)
	c.ToHost(c.Main(), p, 0, n, m)
	must(t, c.Finish(c.Main()))
	_, err = binary.Decode(p.Bytes, binary.LittleEndian, values)
	must(t, err)
}

func engines(t *testing.T, f func(t *testing.T, e driver.Engine)) {
	for _, e := range []driver.Engine{driver.CUDA, driver.HIP} {
		t.Run(e.String(), func(t *testing.T) { f(t, e) })
	}
}

func TestKernels(t *testing.T) {
	engines(t, func(t *testing.T, e driver.Engine) {
		c := card(t, e)
		m := compile(t, c, e, program)
		const n = 1000
		x, want := make([]float32, n), make([]float32, n)
		whole := make([]int32, n)
		var total, most int32
		for i := range x {
			x[i] = float32(i) / 8
			want[i] = float32(2.5*float64(x[i])+0.25) - 3
			whole[i] = int32(i*i) % 301
			total += whole[i]
			most = max(most, whole[i])
		}
		dx, dy := upload(t, c, x), upload(t, c, make([]float32, n))
		c.Launch(c.Main(), function(t, m, "scale"), accel.Line((n+127)/128, 128), int64(n), float32(2.5),
			float64(0.25), dx, dy, int32(-3))
		got := make([]float32, n)
		download(t, c, got, dy)
		if !slices.Equal(got, want) {
			t.Errorf("scale: %v", got[:10])
		}

		dw, ds := upload(t, c, whole), upload(t, c, make([]int32, 8))
		shape := accel.Line(8, 128)
		shape.Shared = 128 * 4
		c.Launch(c.Main(), function(t, m, "total"), shape, int32(n), dw, ds)
		sums := make([]int32, 8)
		download(t, c, sums, ds)
		var sum int32
		for _, s := range sums {
			sum += s
		}
		if sum != total || sums[0] == 0 {
			t.Errorf("sums %v make %d, want %d", sums, sum, total)
		}

		d3 := upload(t, c, []int64{0, 0, 0})
		c.Launch(c.Main(), function(t, m, "count"), accel.Shape{Blocks: [3]int{2, 3, 4}, Threads: [3]int{8, 4, 2}},
			struct {
				values accel.Memory
				n      int64
				least  float64
			}{dw, n, 2}, d3, d3+8, d3+16)
		counts := make([]int64, 3)
		download(t, c, counts, d3)
		if counts[0] != 2*int64(total) || counts[1] != int64(most) || counts[2] != 24 {
			t.Errorf("counted %v, want %d, %d, 24", counts, 2*total, most)
		}
	})
}

// What a kernel has of its own counts towards the shared memory that a launch may use
// without asking, and towards what there is.
func TestSharedMemory(t *testing.T) {
	gputest.NeedEmulator(t)
	const own = 4 << 10
	t.Setenv("GPUEMU_STATIC_SHARED", fmt.Sprint(own))
	src := accel.Source{Name: "shared.cu", Text: `extern "C" __global__ void f(float *x) {
	extern __shared__ float s[];
	s[threadIdx.x] = 3;
	x[threadIdx.x] = s[threadIdx.x];
}`}
	launch := func(shared int) (*accel.Context, error) {
		c := card(t, driver.CUDA)
		k, err := driver.OpenCompiler(driver.CUDA)
		must(t, err)
		b, err := k.Compile(src, c.Card.Arch)
		must(t, err)
		m, err := c.Load(src.Name, b.Image)
		must(t, err)
		f, again := function(t, m, "f"), function(t, m, "f")
		if f.Shared != own {
			t.Errorf("the kernel has %d bytes of its own, want %d", f.Shared, own)
		}
		shape := accel.Line(1, 8)
		shape.Shared = shared
		x := upload(t, c, make([]float32, 8))
		c.Launch(c.Main(), f, shape, x)
		// The driver has one limit for the kernel, however often it is looked up.
		less := shape
		less.Shared = min(shared, max(48<<10, shared-1<<10))
		c.Launch(c.Main(), again, less, x)
		c.Launch(c.Main(), f, shape, x)
		return c, c.Finish(c.Main())
	}
	for _, shared := range []int{64, 44 << 10, 46 << 10, 60 << 10} {
		if _, err := launch(shared); err != nil {
			t.Errorf("%d bytes: %v", shared, err)
		}
	}
	c, err := launch(62 << 10)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("kernel f needs %d bytes of shared memory a block, of which %d are its own; the card has %d", 66<<10, own, c.Card.Shared)) {
		t.Errorf("more than there is: %v", err)
	}
	// Its driver hears that shared memory is preferred, however little is added.
	t.Setenv("GPUEMU_FAULT", "cuFuncSetAttribute:1:1")
	if _, err := launch(64); err == nil || !strings.Contains(err.Error(), "cuFuncSetAttribute") {
		t.Errorf("preference refused: %v", err)
	}
}

// What is asked of two streams is ordered by Follow alone.
func TestStreams(t *testing.T) {
	c := card(t, driver.CUDA)
	m := compile(t, c, driver.CUDA, program)
	f := function(t, m, "scale")
	other, err := c.NewStream("other")
	must(t, err)
	const n = 1 << 16
	x, y, z := upload(t, c, make([]float32, n)), upload(t, c, make([]float32, n)), upload(t, c, make([]float32, n))
	var took time.Duration
	span := c.Time(c.Main(), func(_ time.Time, d time.Duration) { took = d })
	for round := range 10 {
		c.Launch(c.Main(), f, accel.Line(n/256, 256), int64(n), float32(1), float64(0), x, y, int32(1))
		c.Follow(other, c.Main())
		c.Within(other, z, y, 4*n)
		c.Launch(other, f, accel.Line(n/256, 256), int64(n), float32(2), float64(0), z, x, int32(1))
		c.Follow(c.Main(), other)
		got := make([]float32, n)
		download(t, c, got, x)
		want := float32(math.Pow(2, float64(round+1))*3 - 3)
		for i, v := range got {
			if v != want {
				t.Fatalf("round %d: element %d is %g, want %g", round, i, v, want)
			}
		}
	}
	span.End()
	must(t, c.Finish(c.Main()))
	if took <= 0 {
		t.Errorf("ten rounds took %v", took)
	}
	c.CloseStream(other)
}

func TestCards(t *testing.T) {
	gputest.NeedEmulator(t)
	t.Setenv("GPUEMU_CARDS", "4")
	t.Setenv("CUDA_VISIBLE_DEVICES", "2,0")
	engines(t, func(t *testing.T, e driver.Engine) {
		d, err := e.Open()
		must(t, err)
		cards, err := d.Cards()
		must(t, err)
		if len(cards) != 2 || cards[0].Bus != "0000:03:00.0" || cards[1].Bus != "0000:01:00.0" || cards[0].ID == cards[1].ID {
			t.Errorf("cards are %+v", cards)
		}
		want := map[driver.Engine]string{driver.CUDA: "sm_90", driver.HIP: "gfx90a:sramecc+:xnack-"}[e]
		a := cards[0]
		if a.Arch != want || a.Shared < 48<<10 || a.Multiprocessors != 4 || a.Memory != 1<<30 {
			t.Errorf("a card is %+v", a)
		}
	})
}

// What is missing, or refuses, is named with its status and what to do.
func TestErrorsOfLibraries(t *testing.T) {
	gputest.NeedEmulator(t)
	broken := filepath.Join(t.TempDir(), "broken.so")
	if out, err := exec.Command("g++", "-shared", "-o", broken, "-x", "c++", "/dev/null").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for name, c := range map[string]struct {
		variable, value string
		open            func() error
		want            []string
	}{
		"no driver":    {"LSM_CUDA_LIB", "/no/libcuda.so.1", openCUDA, []string{"the CUDA driver", "/no/libcuda.so.1"}},
		"no HIP":       {"LSM_HIP_LIB", "/no/lib", openHIP, []string{"the HIP runtime", "/no/lib"}},
		"no compiler":  {"LSM_NVRTC_LIB", "/no/lib", openNVRTC, []string{"NVRTC", "/no/lib"}},
		"no hiprtc":    {"LSM_HIPRTC_LIB", "/no/lib", openHIPRTC, []string{"hiprtc", "/no/lib"}},
		"no symbol":    {"LSM_CUDA_LIB", broken, openCUDA, []string{broken, "cuInit"}},
		"no hipInit":   {"LSM_HIP_LIB", broken, openHIP, []string{broken, "hipInit"}},
		"no nvrtc":     {"LSM_NVRTC_LIB", broken, openNVRTC, []string{broken, "nvrtcVersion"}},
		"driver says":  {"GPUEMU_FAULT", "cuInit:1:100", openCUDA, []string{"cuInit", "no CUDA-capable device", "CUDA_ERROR_NO_DEVICE", "100"}},
		"hip says":     {"GPUEMU_FAULT", "cuInit:1:101", openHIP, []string{"hipInit", "invalid device", "101"}},
		"nothing seen": {"CUDA_VISIBLE_DEVICES", "-1", openCUDA, []string{"cuInit", "no CUDA-capable device"}},
		"context":      {"GPUEMU_FAULT", "cuDevicePrimaryCtxRetain:1:2", useFirst, []string{"card 0 (emulated GPU)", "cuDevicePrimaryCtxRetain", "out of memory"}},
		"stream":       {"GPUEMU_FAULT", "cuStreamCreate:1:999", useFirst, []string{"cuStreamCreate", "status 999"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(c.variable, c.value)
			err := c.open()
			if status.Code(err) != status.NoResource {
				t.Fatalf("status %d: %v", status.Code(err), err)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("no %q in %q", w, err)
				}
			}
			if strings.HasPrefix(name, "no ") && status.HintOf(err) == "" {
				t.Errorf("no hint with %q", err)
			}
		})
	}
}

func openCUDA() error   { _, err := driver.CUDA.Open(); return err }
func openHIP() error    { _, err := driver.HIP.Open(); return err }
func openNVRTC() error  { _, err := driver.OpenCompiler(driver.CUDA); return err }
func openHIPRTC() error { _, err := driver.OpenCompiler(driver.HIP); return err }

func useFirst() error {
	d, err := driver.CUDA.Open()
	if err != nil {
		return err
	}
	cards, err := d.Cards()
	if err != nil {
		return err
	}
	c, err := d.Use(cards[0])
	if err == nil {
		err = errors.Join(errors.New("no error"), c.Close())
	}
	return err
}

// A posted command that fails answers everything that comes after it.
func TestPostedErrorsAreKept(t *testing.T) {
	gputest.NeedEmulator(t)
	c := card(t, driver.CUDA)
	m := compile(t, c, driver.CUDA, program)
	f := function(t, m, "scale")
	c.Launch(c.Main(), f, accel.Line(1, 2048))
	c.Fill(c.Main(), 0, 0, 1)
	for range 2 {
		err := c.Finish(c.Main())
		if status.Code(err) != status.NoResource || !strings.Contains(err.Error(), "kernel scale") || !strings.Contains(err.Error(), "invalid argument") {
			t.Errorf("finish: %v", err)
		}
	}
	if _, err := c.Alloc(8); err == nil {
		t.Error("memory was allocated on a card that failed")
	}
}

// A launch with more threads than a kernel was compiled for wants more registers than there are, and
// parameters have a limit, as on real cards.
func TestLimitsOfLaunches(t *testing.T) {
	gputest.NeedEmulator(t)
	for _, c := range []struct {
		kernel  string
		threads int
		want    string
	}{
		{"extern \"C\" __global__ void __launch_bounds__(128) f(int *x) { x[threadIdx.x] = 1; }", 128, ""},
		{"extern \"C\" __global__ void __launch_bounds__(128) f(int *x) { x[threadIdx.x] = 1; }", 160, "too many resources"},
		{"extern \"C\" __global__ void f(int *x) { x[threadIdx.x] = 1; }", 256, ""},
		{"extern \"C\" __global__ void f(int *x) { x[threadIdx.x] = 1; }", 512, "status 701"},
	} {
		d := card(t, driver.CUDA)
		f := function(t, compile(t, d, driver.CUDA, c.kernel), "f")
		d.Launch(d.Main(), f, accel.Line(1, c.threads), upload(t, d, make([]int32, 1024)))
		err := d.Finish(d.Main())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d threads of %s: %v, want %q", c.threads, c.kernel, err, c.want)
		}
	}
	d := card(t, driver.CUDA)
	m := compile(t, d, driver.CUDA, "struct Large { char bytes[4097]; }; extern \"C\" __global__ void f(Large x) {}")
	if _, err := m.Function("f"); err == nil || !strings.Contains(err.Error(), "image is invalid") {
		t.Errorf("4097 bytes of parameters: %v", err)
	}
}

// A card that failed stays so as long as somebody has it, or another card of the process, in use.
func TestFailureLastsWhileSomebodyRetains(t *testing.T) {
	gputest.NeedEmulator(t)
	t.Setenv("GPUEMU_CARDS", "2")
	lib, err := driver.CUDA.Open()
	must(t, err)
	cards, err := lib.Cards()
	must(t, err)
	use := func(n int) (*accel.Context, error) { return lib.Use(cards[n]) }
	bad, err := use(0)
	must(t, err)
	m := compile(t, bad, driver.CUDA, "extern \"C\" __global__ void f(int *x) { x[threadIdx.x + 1] = 1; }")
	bad.Launch(bad.Main(), function(t, m, "f"), accel.Line(1, 32), upload(t, bad, make([]int32, 32)))
	if err := bad.Finish(bad.Main()); err == nil {
		t.Fatal("an access beyond memory is no failure")
	}
	if other, err := use(1); err == nil {
		must(t, other.Close())
	}
	if again, err := use(0); err == nil {
		t.Errorf("a card that failed is ready again")
		_ = again.Close()
	}
	_ = bad.Close() // it tells the failure
	again, err := use(0)
	must(t, err)
	must(t, again.Close())
}

// Streams that share one of the hardware's queues keep their order, and none waits for ever.
func TestStreamsOfOneQueue(t *testing.T) {
	gputest.NeedEmulator(t)
	t.Setenv("GPUEMU_QUEUES", "1")
	TestStreams(t)
}

func TestOutOfMemory(t *testing.T) {
	gputest.NeedEmulator(t)
	t.Setenv("GPUEMU_MEMORY", "1000000")
	c := card(t, driver.CUDA)
	m, err := c.Alloc(900000)
	must(t, err)
	_, err = c.Alloc(100001)
	var e *driver.Error
	if !errors.As(err, &e) || !errors.Is(err, accel.ErrMemory) || e.Name != "CUDA_ERROR_OUT_OF_MEMORY" {
		t.Fatalf("too much: %v", err)
	}
	if free, total, err := c.MemoryInfo(); free != 100000 || total != 1000000 || err != nil {
		t.Errorf("%d free of %d (%v)", free, total, err)
	}
	must(t, c.Free(m))
	if free, _, err := c.MemoryInfo(); free != 1000000 || err != nil {
		t.Errorf("%d free after all was given back (%v)", free, err)
	}
}

func TestClosedContext(t *testing.T) {
	gputest.Need(t)
	c := card(t, driver.CUDA)
	must(t, c.Close())
	c.Fill(c.Main(), 0, 0, 1)
	if err := c.Finish(c.Main()); err == nil {
		t.Error("a card that was given back still works")
	}
}
