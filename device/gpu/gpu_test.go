package gpu

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

func TestMain(m *testing.M) {
	os.Exit(gputest.Main(m))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, o Options) *Device {
	t.Helper()
	gputest.Need(t)
	o.Cache = accel.UserCache()
	d, err := Open(o)
	if err != nil && gputest.Real() {
		t.Skip(err)
	}
	must(t, err)
	t.Cleanup(func() {
		if err := d.Close(); err != nil && d.context.Err() == nil {
			t.Error(err)
		}
	})
	return d
}

func TestCUDA(t *testing.T) {
	// Sums do not depend on how many blocks make them.
	forms := []device.Device{open(t, Options{})}
	for _, blocks := range []int{7, 1} {
		d := open(t, Options{})
		d.dots.blocks = blocks
		forms = append(forms, d)
	}
	conform(t, forms...)
}

// A kernel's argument may not be a buffer of another device, which would be an address
// that means nothing here.
func TestForeignArgument(t *testing.T) {
	d := open(t, Options{})
	b, err := imaging.NewBand(device.NewHost(1), imaging.Pulse{Step: 1, Values: []float32{1, 0}}, []float32{0, 1, 2}, 1, 3, 1)
	must(t, err)
	x := put(t, d, make([]float32, 3))
	if err := d.Run(b.Kernel(), x, x); err == nil || !strings.Contains(err.Error(), "float32 on cpu") {
		t.Error(err)
	}
}

func TestHIP(t *testing.T) { conform(t, open(t, Options{Engine: driver.HIP})) }

// No kernel touches what is not its own, whatever the lengths.
func TestSanitized(t *testing.T) {
	if out, err := gputest.RunSanitized(t, "^(TestHIP|TestCrossingsAreCounted)$"); err != nil || strings.Contains(out, "AddressSanitizer") {
		t.Errorf("under the sanitizer: %v\n%s", err, out)
	}
}

// Element-wise operations round as the host's.
func TestAsOnTheHost(t *testing.T) {
	d, h := open(t, Options{}), device.NewHost(1)
	x, y := make([]float32, 5000), make([]float32, 5000)
	dx, dy := make([]float64, 5000), make([]float64, 5000)
	for i := range x {
		x[i], y[i] = 1/float32(i+3), float32(i)/7
		dx[i], dy[i] = 1/float64(i+3), float64(i)/7
	}
	for _, pair := range [][2]device.Buf{{device.Wrap(h, x), device.Wrap(h, y)}, {device.Wrap(h, dx), device.Wrap(h, dy)}} {
		var there [2]device.Buf
		for i, b := range pair {
			var err error
			there[i], err = d.Alloc(b.Len(), b.Type())
			must(t, err)
			must(t, d.Copy(there[i], b))
		}
		for _, to := range []struct {
			d device.Device
			b [2]device.Buf
		}{{h, pair}, {d, there}} {
			must(t, to.d.Axpby(0.3, to.b[0], 1.7, to.b[1]))
			must(t, to.d.Multiply(to.b[0], to.b[1]))
		}
		for i := range pair {
			back, err := h.Alloc(pair[i].Len(), pair[i].Type())
			must(t, err)
			must(t, d.Copy(back, there[i]))
			if fmt.Sprint(back) != fmt.Sprint(pair[i]) {
				t.Errorf("%v: the card's vector %d is not the host's", pair[i].Type(), i)
			}
		}
	}
}

// Vectors cross when they are copied and at no other time; of sums only the
// results do.
func TestCrossingsAreCounted(t *testing.T) {
	d, h := open(t, Options{}), device.NewHost(1)
	const n = 3<<20 + 5 // several stages
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i)
	}
	a, err := d.Alloc(n, device.F64)
	must(t, err)
	b, err := d.Alloc(n, device.F64)
	must(t, err)
	check := func(what string, toDevice, toHost int64) {
		t.Helper()
		if to, from := d.Traffic(); to != toDevice || from != toHost {
			t.Errorf("%s: %d bytes to the card and %d from it, want %d and %d", what, to, from, toDevice, toHost)
		}
	}
	check("alloc", 0, 0)
	must(t, d.Copy(a, device.Wrap(h, x)))
	check("upload", 8*n, 0)
	must(t, d.Copy(b, a))
	some, others := a.Slice(n-20000, 20000), b.Slice(n-20000, 20000)
	must(t, d.Axpby(1, some, 1, others))
	must(t, d.Multiply(others, some))
	must(t, d.Zero(b.Slice(0, 10)))
	must(t, d.Sync())
	check("vector operations", 8*n, 0)
	_, err = d.Dots([2]device.Buf{some, others}, [2]device.Buf{others, others})
	must(t, err)
	check("two sums", 8*n, 16)
	clear(x)
	must(t, d.Copy(device.Wrap(h, x), a))
	check("download", 8*n, 16+8*n)
	for i, v := range x {
		if v != float64(i) {
			t.Fatalf("element %d came back as %g", i, v)
		}
	}
}

// A solver's scratch is asked of the driver once; what was freed goes back to it
// when memory is short, and a shortage says what was needed and what there was.
func TestMemory(t *testing.T) {
	gputest.NeedEmulator(t)
	t.Setenv("GPUEMU_MEMORY", fmt.Sprint(10<<20))
	d := open(t, Options{})
	var first accel.Memory
	for i := range 100 {
		b, err := d.Alloc(1<<18, device.F64)
		must(t, err)
		if i == 0 {
			first = b.(*Buf).Memory()
		} else if b.(*Buf).Memory() != first {
			t.Fatal("freed memory was not used again")
		}
		d.Free(b)
	}
	keep, err := d.Alloc(8<<20/8, device.F64) // needs what was kept
	must(t, err)
	_, err = d.Alloc(3<<20/4, device.F32)
	if status.Code(err) != status.NoResource || status.HintOf(err) == "" {
		t.Fatalf("shortage: %v", err)
	}
	for _, w := range []string{"786432 elements of float32", "3.0 MiB", "2.0 MiB of its 10 MiB", "out of memory", "cuda 0 (emulated GPU)"} {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("no %q in %q", w, err)
		}
	}
	d.Free(keep)
	// Buffers that nobody holds any more count as freed.
	for range 20 {
		_, err := d.Alloc(8<<20/8, device.F64)
		must(t, err)
	}
}

func TestMisuseOfFree(t *testing.T) {
	d := open(t, Options{})
	b, err := d.Alloc(10, device.F32)
	must(t, err)
	panics := func(what string, f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s: no panic", what)
			}
		}()
		f()
	}
	panics("free of a slice", func() { d.Free(b.Slice(0, 9)) })
	panics("free of the host's", func() { d.Free(device.Wrap(device.NewHost(1), []float32{1})) })
	d.Free(b)
	panics("second free", func() { d.Free(b) })
	panics("use after free", func() { _ = d.Zero(b) })
	if a, ok := b.(device.Addressed); !ok || a.Pointer() == 0 {
		t.Error("a buffer on a card has no address")
	}
}

// Spans come from the card's clock, on the host's axis, with the time of those inside them
// told apart.
func TestSpans(t *testing.T) {
	d := open(t, Options{})
	main := d.Context().Main()
	d.Clock.Time(main, "unheard")()
	type sum struct {
		count      int
		begin, end time.Time // of the first, of the last
		took, own  time.Duration
	}
	spans := map[string]sum{}
	d.Clock.OnSpan = func(s Span) {
		m := spans[s.Name]
		if m.count++; m.count == 1 {
			m.begin = s.Begin
		}
		m.end, m.took, m.own = s.Begin.Add(s.Took), m.took+s.Took, m.own+s.Own
		if spans[s.Name] = m; s.Lane != device.LaneGPU {
			t.Errorf("lane %q", s.Lane)
		}
	}
	b, err := d.Alloc(1<<16, device.F32)
	must(t, err)
	must(t, d.Sync())
	began := time.Now()
	outer := d.Clock.Time(main, "outer")
	for range 3 {
		end := d.Clock.Time(main, "inner")
		must(t, d.Axpby(1, b, 1, b)) // counts to inner
		end()
	}
	outer()
	must(t, d.Axpby(1, b, 1, b))
	must(t, d.Sync())
	ended := time.Now()
	in, out, vectors := spans["inner"], spans["outer"], spans[device.MarkVectors]
	if len(spans) != 3 || in.count != 3 || out.count != 1 || vectors.count != 1 {
		t.Fatalf("spans are %+v", spans)
	}
	if in.took <= 0 || in.own != in.took || out.own != out.took-in.took || in.begin.Before(out.begin) || in.end.After(out.end) {
		t.Errorf("spans are %+v", spans)
	}
	const apart = time.Second // what the two clocks may differ by
	if out.begin.Before(began.Add(-apart)) || vectors.end.After(ended.Add(apart)) || vectors.begin.Before(out.end) {
		t.Errorf("spans from %v to %v, and %v, which were between %v and %v", out.begin, out.end, vectors.end, began, ended)
	}
}

// However much is timed, a card has no more events than what is under way needs.
func TestSpansReuseEvents(t *testing.T) {
	gputest.NeedEmulator(t)
	d := open(t, Options{})
	spans := map[string]int{}
	d.Clock.OnSpan = func(s Span) { spans[s.Name]++ }
	b, err := d.Alloc(1000, device.F32)
	must(t, err)
	const iterations = 500
	round := func() {
		for range 4 {
			end := d.Clock.Main("work")
			must(t, d.Axpby(1, b, 1, b))
			end()
		}
		if _, err := d.Dots([2]device.Buf{b, b}); err != nil {
			t.Fatal(err)
		}
	}
	round()
	// 9 untimed and timed events may be under way, beside those of the first round.
	t.Setenv("GPUEMU_FAULT", "cuEventCreate:9:700")
	for range iterations - 1 {
		round()
	}
	must(t, d.Sync())
	if spans["work"] != 4*iterations || spans[device.MarkDots] != iterations {
		t.Errorf("%v spans were told of, want %d and %d", spans, 4*iterations, iterations)
	}
}

// Without OnSpan the driver is not asked for anything.
func TestNoSpansUnlessAsked(t *testing.T) {
	gputest.NeedEmulator(t)
	d := open(t, Options{})
	b, err := d.Alloc(1000, device.F32)
	must(t, err)
	must(t, d.Sync())
	main := d.Context().Main()
	t.Setenv("GPUEMU_FAULT", "cuEventCreate:1:700") // Sync takes the one that it used before
	if n := testing.AllocsPerRun(100, func() { d.Clock.Time(main, "work")(); d.Mark("work")() }); n != 0 {
		t.Errorf("%g allocations for nothing", n)
	}
	for range 10 {
		end := d.Clock.Time(main, "work")
		must(t, d.Axpby(1, b, 1, b))
		must(t, d.Zero(b))
		end()
	}
	must(t, d.Sync())
}

func TestMark(t *testing.T) {
	d := open(t, Options{})
	d.Mark("unheard")()
	var said []string
	d.OnMark = func(name string) func() {
		said = append(said, "begin "+name)
		return func() { said = append(said, "end "+name) }
	}
	d.Mark("dots")()
	if want := []string{"begin dots", "end dots"}; !slices.Equal(said, want) {
		t.Errorf("marks %q, want %q", said, want)
	}
}

// A card that fails says so in everything after, with the driver's words.
func TestFaults(t *testing.T) {
	gputest.NeedEmulator(t)
	for fault, want := range map[string]string{
		"cuLaunchKernel:1:719":    "cuLaunchKernel: unspecified launch failure (CUDA_ERROR_LAUNCH_FAILED, status 719)",
		"cuMemcpyDtoDAsync:1:700": "cuMemcpyDtoDAsync_v2: an illegal memory access",
		"cuMemcpyHtoDAsync:2:700": "cuMemcpyHtoDAsync_v2: an illegal memory access",
		"cuEventQuery:3:719":      "cuEventQuery: unspecified launch failure",
		"cuMemsetD8Async:2:1":     "cuMemsetD8Async: invalid argument",
	} {
		t.Run(fault, func(t *testing.T) {
			d := open(t, Options{})
			t.Setenv("GPUEMU_FAULT", fault)
			x, err := d.Alloc(100, device.F32)
			must(t, err)
			h := device.Wrap(device.NewHost(1), make([]float32, 100))
			for i := range 4 {
				y := x.Slice(0, 50)
				for _, err = range []error{d.Copy(x, h), d.Axpby(1, x, 1, x), d.Copy(y, x.Slice(50, 50)), d.Zero(x), d.Copy(h, x), d.Sync()} {
					if err != nil {
						break
					}
				}
				if err != nil {
					break
				} else if i == 3 {
					t.Fatal("no error")
				}
			}
			if status.Code(err) != status.NoResource || !strings.Contains(err.Error(), want) {
				t.Errorf("status %d: %v", status.Code(err), err)
			}
			if _, again := d.Dots([2]device.Buf{x, x}); again == nil {
				t.Error("the card works again")
			}
		})
	}
	t.Run("compiler", func(t *testing.T) {
		t.Setenv("GPUEMU_FAULT", "nvrtcCompileProgram:1:6")
		const want = "compiling vector.cu for sm_90: nvrtcCompileProgram"
		d, err := Open(Options{}) // by what is carried
		must(t, err)
		must(t, d.Close())
		if !strings.Contains(d.Programs(), want) {
			t.Errorf("programs are %s", d.Programs())
		}
		// For AMD's cards nothing is carried.
		t.Setenv("GPUEMU_FAULT", "nvrtcCompileProgram:1:5")
		if _, err := Open(Options{Engine: driver.HIP}); status.Code(err) != status.NoResource || !strings.Contains(err.Error(), "compiling vector.cu for gfx90a") {
			t.Errorf("hiprtc: error is %v", err)
		}
	})
	t.Run("no such card", func(t *testing.T) {
		if _, err := Open(Options{Card: 1}); status.Code(err) != status.NoResource || !strings.Contains(err.Error(), "no card 1: 1 are visible") {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("no driver", func(t *testing.T) {
		t.Setenv("LSM_CUDA_LIB", "/nowhere/libcuda.so.1")
		if _, err := Open(Options{}); status.Code(err) != status.NoResource || !strings.Contains(err.Error(), "engine cuda") || !strings.Contains(err.Error(), "/nowhere/libcuda.so.1") {
			t.Errorf("error is %v", err)
		}
	})
}

// A binary in the cache that the driver refuses is compiled anew.
func TestRefusedBinary(t *testing.T) {
	gputest.NeedEmulator(t)
	cache := accel.Cache{Dir: t.TempDir()}
	d, err := Open(Options{Cache: cache})
	must(t, err)
	must(t, d.Close())
	t.Setenv("GPUEMU_FAULT", "cuModuleLoadData:1:200")
	d, err = Open(Options{Cache: cache})
	must(t, err)
	must(t, d.Close())
}

// Goroutines may share a card: what each asks for is done in its order.
func TestManyGoroutines(t *testing.T) {
	d := open(t, Options{})
	const n = 20000
	errs := make(chan error, 8)
	for g := range cap(errs) {
		go func() {
			errs <- func() error {
				for round := range 20 {
					b, err := d.Alloc(n, device.F32)
					if err != nil {
						return err
					}
					one := make([]float32, n)
					for i := range one {
						one[i] = float32(g + 1)
					}
					if err := device.Upload(b, one); err != nil {
						return err
					}
					if err := d.Axpby(1, b, 1, b); err != nil {
						return err
					}
					dot, err := d.Dots([2]device.Buf{b, b})
					if err != nil {
						return err
					}
					if want := float64(n * 4 * (g + 1) * (g + 1)); dot[0] != want {
						return fmt.Errorf("goroutine %d, round %d: %v, want %v", g, round, dot[0], want)
					}
					d.Free(b)
				}
				return nil
			}()
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// What an operation costs the caller, and an answer from the card, on vectors
// too short to matter.
func BenchmarkAsking(b *testing.B) {
	d := open(b, Options{})
	x, err := d.Alloc(1, device.F32)
	must(b, err)
	b.Run("axpby", func(b *testing.B) {
		for range b.N { // the card's share is not counted
			must(b, d.Axpby(1, x, 1, x))
		}
		b.StopTimer()
		must(b, d.Sync())
	})
	b.Run("sync", func(b *testing.B) {
		for b.Loop() {
			must(b, d.Sync())
		}
	})
	b.Run("dots", func(b *testing.B) {
		for b.Loop() {
			_, err := d.Dots([2]device.Buf{x, x})
			must(b, err)
		}
	})
}

// The vectors of a solver's step, read and written at the card's speed.
func BenchmarkVector(b *testing.B) {
	const n = 1 << 20
	d := open(b, Options{})
	x, err := d.Alloc(n, device.F32)
	must(b, err)
	y, err := d.Alloc(n, device.F32)
	must(b, err)
	b.Run("axpby", func(b *testing.B) {
		b.SetBytes(3 * 4 * n)
		for range b.N {
			must(b, d.Axpby(0.5, x, 0.5, y))
		}
		must(b, d.Sync()) // counted
	})
	b.Run("dots", func(b *testing.B) {
		b.SetBytes(2 * 4 * n)
		for b.Loop() {
			_, err := d.Dots([2]device.Buf{x, y})
			must(b, err)
		}
	})
}
