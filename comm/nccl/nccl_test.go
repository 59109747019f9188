package nccl_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/internal/device"
	"github.com/kirchhoff-lsm/lsm/internal/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/driver"
	"github.com/kirchhoff-lsm/lsm/internal/driver/drivertest"
	"github.com/kirchhoff-lsm/lsm/internal/gpuemu"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

func TestMain(m *testing.M) {
	drivertest.ServeCompile()
	os.Exit(gpuemu.Main(m))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// cards opens n cards of the emulator, one a rank.
func cards(t testing.TB, engine driver.Engine, n int) []*gpu.Device {
	t.Helper()
	gpuemu.NeedEmulator(t)
	t.Setenv("GPUEMU_CARDS", fmt.Sprint(n))
	devices := make([]*gpu.Device, n)
	for i := range devices {
		d, err := gpu.Open(gpu.Options{Engine: engine, Card: i, Cache: driver.UserCache()})
		must(t, err)
		t.Cleanup(func() { d.Close() })
		devices[i] = d
	}
	return devices
}

// use makes NCCL another of the emulator's libraries.
func use(t *testing.T, library string) {
	t.Helper()
	gpuemu.NeedEmulator(t)
	t.Setenv("LSM_NCCL_LIB", filepath.Join(os.Getenv("GPUEMU_FOLDER"), library))
}

// ranks runs body on n ranks that are goroutines, each with a card.
func ranks(devices []*gpu.Device, n int, body func(g *nccl.Group, d *gpu.Device) error) error {
	return commtest.Ranks(n, func(control comm.Comm) error {
		d := devices[control.Rank()]
		g, err := nccl.New(control, d)
		if err != nil {
			return err
		}
		if err := body(g, d); err != nil {
			return err
		}
		return g.Close()
	})
}

// conform runs the suite with device buffers.
func conform(t *testing.T, devices []*gpu.Device, sizes ...int) {
	commtest.Run(t, func(n int, body func(c comm.Comm) error) error {
		return ranks(devices, n, func(g *nccl.Group, d *gpu.Device) error {
			return body(commtest.OnDevice(g, d))
		})
	}, sizes...)
}

func TestConformance(t *testing.T) { conform(t, cards(t, driver.CUDA, 5), 1, 2, 3, 4, 5) }

func TestRCCL(t *testing.T) { conform(t, cards(t, driver.HIP, 3), 3) }

// A library that cannot split has groups made by identifiers; one that cannot
// register does without.
func TestOldLibraries(t *testing.T) {
	for _, c := range []struct{ library, about, how string }{
		{gpuemu.NCCL, "NCCL 2.30.3 (libnccl.so.2): groups are split by the library; buffers from 8 MiB on come from the library's allocator; buffers are registered in symmetric windows", "buffers are registered in symmetric windows"},
		{gpuemu.NCCLNoWindow, "NCCL 2.26.2 (libnccl-nowindow.so): groups are split by the library; buffers from 8 MiB on come from the library's allocator; buffers are registered one by one", "buffers are registered one by one"},
		{gpuemu.NCCLNoRegister, "NCCL 2.18.1 (libnccl-noregister.so): groups are split by the library; no buffer comes from the library's allocator; buffers are not registered", "buffers are not registered"},
		{gpuemu.NCCLNoSplit, "NCCL 2.16.2 (libnccl-nosplit.so): groups are made by identifiers; no buffer comes from the library's allocator; buffers are not registered", "buffers are not registered"},
	} {
		t.Run(c.library, func(t *testing.T) {
			use(t, c.library)
			devices := cards(t, driver.CUDA, 3)
			must(t, ranks(devices, 3, func(g *nccl.Group, d *gpu.Device) error {
				if g.About() != c.about {
					return fmt.Errorf("chosen: %s, want %s", g.About(), c.about)
				}
				return registered(g, d, c.how)
			}))
			if c.library != gpuemu.NCCL {
				conform(t, devices, 3)
			}
		})
	}
}

// registered sums parts of a registered buffer on both streams.
func registered(g *nccl.Group, d *gpu.Device, want string) error {
	const n = 3 << 20
	x, err := d.Alloc(n, device.F32)
	if err != nil {
		return err
	}
	if how, err := g.Register(x.Slice(10, 20)); err != nil || how != want {
		return fmt.Errorf("registered: %q, %v, want %q", how, err, want)
	}
	ones := make([]float32, n)
	for i := range ones {
		ones[i] = 1
	}
	if err := device.Upload(x, ones); err != nil {
		return err
	}
	if err := g.AllReduce(x.Slice(0, n/2), comm.Sum); err != nil {
		return err
	}
	r, err := g.StartAllReduce(x.Slice(n/2, n/4), comm.Sum)
	if err != nil {
		return err
	}
	if err := r.Wait(); err != nil {
		return err
	}
	if err := d.Copy(device.Wrap(device.NewHost(1), ones), x); err != nil {
		return err
	}
	for i, v := range ones {
		if sum := float32(g.Size()); i < n*3/4 && v != sum || i >= n*3/4 && v != 1 {
			return fmt.Errorf("element %d is %g", i, v)
		}
	}
	d.Free(x)
	y, err := d.Alloc(n, device.F32)
	if err != nil {
		return err
	}
	if want != "buffers are not registered" && y.(*gpu.Buf).Memory() == x.(*gpu.Buf).Memory() {
		return fmt.Errorf("registered memory was given to another buffer")
	}
	return nil
}

// Windows need equal places on all ranks; what cannot have one is registered in
// the plain way.
func TestWindows(t *testing.T) {
	devices := cards(t, driver.CUDA, 2)
	must(t, ranks(devices, 2, func(g *nccl.Group, d *gpu.Device) error {
		ragged, err := d.Alloc(3<<20+g.Rank(), device.F32)
		if err != nil {
			return err
		}
		small, err := d.Alloc(100, device.F32) // not from the library's allocator
		if err != nil {
			return err
		}
		for _, x := range []device.Buf{ragged, small} {
			if how, err := g.Register(x); err != nil || how != "buffers are registered one by one" {
				return fmt.Errorf("%d elements: %q, %v", x.Len(), how, err)
			}
		}
		x, err := d.Alloc(3<<20, device.F32)
		if err != nil {
			return err
		}
		if _, err := g.Register(x); err != nil {
			return err
		}
		if _, err := g.Register(x); err == nil {
			return fmt.Errorf("registered twice without an error")
		}
		err = g.AllReduce(x.Slice(g.Rank(), 50), comm.Sum)
		if err == nil || !strings.Contains(err.Error(), "in window 1 at byte 4") {
			return fmt.Errorf("two places of a window: %v", err)
		}
		return g.AllReduce(x, comm.Sum)
	}))
}

// What ranks do not agree on is an error on all of them before anything is sent.
func TestMismatch(t *testing.T) {
	devices := cards(t, driver.CUDA, 3)
	must(t, ranks(devices, 3, func(g *nccl.Group, d *gpu.Device) error {
		odd := g.Rank() == 1
		pick := func(a, b int) int {
			if odd {
				return b
			}
			return a
		}
		buf := func(n int, t device.Type) device.Buf {
			b, err := d.Alloc(n, t)
			if err != nil {
				panic(err)
			}
			return b
		}
		on := map[bool]device.Buf{false: buf(4, device.F32), true: device.Wrap(device.NewHost(1), make([]float32, 4))}
		for _, c := range []struct {
			what, others string // in the error of the others
			call         func() error
		}{
			{"length", "ranks 0, 2: all-reduce of 4 float32 (sum); rank 1: all-reduce of 5 float32 (sum)",
				func() error { return g.AllReduce(buf(pick(4, 5), device.F32), comm.Sum) }},
			{"type", "rank 1: all-reduce of 4 int64 (max)",
				func() error {
					return g.AllReduce(buf(4, device.Type(pick(int(device.F64), int(device.I64)))), comm.Max)
				}},
			{"operation", "rank 1: all-reduce of 4 float32 (min)",
				func() error { return g.AllReduce(buf(4, device.F32), comm.Op(pick(int(comm.Max), int(comm.Min)))) }},
			{"device", "rank 1: comm: all-reduce of a buffer on cpu: nccl takes those of cuda 1 (emulated GPU)",
				func() error { return g.AllReduce(on[odd], comm.Sum) }},
			{"root", "rank 1: broadcast of 4 float32 from rank 2",
				func() error { return g.Bcast(buf(4, device.F32), pick(0, 2)) }},
			{"root of a reduction", "rank 1: reduction of 4 float32 (sum) at rank 2",
				func() error { return g.Reduce(buf(4, device.F32), comm.Sum, pick(0, 2)) }},
			{"counts", "all-gather of [2 2 2] float32; rank 1: all-gather of [3 2 1] float32", func() error {
				return g.AllGather(buf(6, device.F32), buf(2, device.F32), []int{pick(2, 3), 2, pick(2, 1)})
			}},
			{"kind", "rank 1: all-reduce of 6 float32 (sum)", func() error {
				if odd {
					return g.AllReduce(buf(6, device.F32), comm.Sum)
				}
				return g.ReduceScatter(buf(2, device.F32), buf(6, device.F32), []int{2, 2, 2}, comm.Sum)
			}},
			{"split", "rank 1: comm: split with color -1", func() error {
				_, err := g.Split(pick(0, -1), 0)
				return err
			}},
			{"started", "the ranks do not agree", func() error {
				r, err := g.StartAllReduce(on[odd], comm.Max)
				if err != nil {
					return err
				}
				return r.Wait()
			}},
		} {
			err := c.call()
			if err == nil || !odd && !strings.Contains(err.Error(), c.others) {
				return fmt.Errorf("%s: %v, want %s", c.what, err, c.others)
			}
		}
		// The ranks are in step, and the card has come to no harm.
		x := buf(4, device.F32)
		if err := g.AllReduce(x, comm.Sum); err != nil {
			return err
		}
		r, err := g.StartAllReduce(x, comm.Sum)
		if err != nil {
			return err
		}
		return r.Wait()
	}))
}

// A message that does not fit, or of the wrong device, is an error of both ends;
// one that fits goes its way meanwhile.
func TestMessagesThatDoNotFit(t *testing.T) {
	devices := cards(t, driver.CUDA, 2)
	must(t, ranks(devices, 2, func(g *nccl.Group, d *gpu.Device) error {
		buf := func(n int) device.Buf {
			b, err := d.Alloc(n, device.F32)
			if err != nil {
				panic(err)
			}
			return b
		}
		host := device.Wrap(device.NewHost(1), make([]float32, 4))
		other := 1 - g.Rank()
		for _, c := range []struct {
			send, recv [2]device.Buf // by rank
			want       [2]string
		}{
			{[2]device.Buf{buf(4), buf(7)}, [2]device.Buf{buf(7), buf(5)},
				[2]string{"rank 1 does not take the 4 float32 of rank 0", "waits for 5 float32 from rank 0, which sends 4 float32"}},
			{[2]device.Buf{host, buf(7)}, [2]device.Buf{buf(7), buf(4)},
				[2]string{"message of a buffer on cpu", "which cannot send"}},
			{[2]device.Buf{buf(4), buf(7)}, [2]device.Buf{buf(7), host},
				[2]string{"does not take the 4 float32", "message of a buffer on cpu"}},
		} {
			me := g.Rank()
			if me == 1 {
				if err := device.Upload(c.send[1], []float32{1, 2, 3, 4, 5, 6, 7}); err != nil {
					return err
				}
			}
			err := g.SendRecv(c.send[me], other, c.recv[me], other)
			if err == nil || !strings.Contains(err.Error(), c.want[me]) {
				return fmt.Errorf("%v, want %s", err, c.want[me])
			}
			if me == 0 {
				got := make([]float32, 7)
				if err := d.Copy(device.Wrap(device.NewHost(1), got), c.recv[0]); err != nil || got[6] != 7 {
					return fmt.Errorf("the message that fits: %v, %v", got, err)
				}
			}
		}
		return nil
	}))
}

// A card that failed on one rank is an error of all.
func TestFailedCard(t *testing.T) {
	devices := cards(t, driver.CUDA, 2)
	must(t, commtest.Ranks(2, func(control comm.Comm) error {
		d := devices[control.Rank()]
		g, err := nccl.New(control, d)
		if err != nil {
			return err
		}
		x, err := d.Alloc(10, device.F32)
		if err != nil {
			return err
		}
		if control.Rank() == 1 {
			d.Context().Fail(errors.New("the card is on fire"))
		}
		if err := g.AllReduce(x, comm.Sum); err == nil || !strings.Contains(err.Error(), "the card is on fire") {
			return fmt.Errorf("all-reduce: %v", err)
		}
		r, err := g.StartAllReduce(x, comm.Sum)
		if err == nil {
			err = r.Wait()
		}
		if err == nil {
			return errors.New("started all-reduce: no error")
		}
		if err := g.SendRecv(x, 1-control.Rank(), x, 1-control.Rank()); err == nil {
			return errors.New("message: no error")
		}
		return nil
	}))
}

// No buffer crosses to the host.
func TestNoHostCopies(t *testing.T) {
	devices := cards(t, driver.CUDA, 3)
	must(t, ranks(devices, 3, func(g *nccl.Group, d *gpu.Device) error {
		buf := func(n int) device.Buf {
			b, err := d.Alloc(n, device.F32)
			if err != nil {
				panic(err)
			}
			return b
		}
		const n = 100000
		counts := []int{n, 0, 7}
		r, me := g.Rank(), buf(counts[g.Rank()])
		part, err := g.Split(r%2, 0)
		if err != nil {
			return err
		}
		for _, call := range []func() error{
			func() error { return g.AllReduce(buf(n), comm.Sum) },
			func() error { return part.AllReduce(buf(n), comm.Max) },
			func() error { return g.Reduce(buf(n), comm.Min, 1) },
			func() error { return g.Bcast(buf(n), 2) },
			func() error { return g.AllGather(buf(n+7), me, counts) },
			func() error { return g.ReduceScatter(me, buf(n+7), counts, comm.Max) },
			func() error { return g.SendRecv(buf(n), (r+1)%3, buf(n), (r+2)%3) },
			func() error {
				q, err := g.StartAllReduce(buf(n), comm.Max)
				if err != nil {
					return err
				}
				return q.Wait()
			},
			d.Sync,
		} {
			if err := call(); err != nil {
				return err
			}
		}
		if to, from := d.Traffic(); to != 0 || from != 0 {
			return fmt.Errorf("%d bytes went to the card and %d to the host", to, from)
		}
		return nil
	}))
}

// Two ranks on one card are refused by name, unless NCCL can and may do it.
func TestSharedCard(t *testing.T) {
	d := cards(t, driver.CUDA, 1)[0]
	both := []*gpu.Device{d, nil}
	var err error
	both[1], err = gpu.Open(gpu.Options{Cache: driver.UserCache()})
	must(t, err)
	defer both[1].Close()
	none := func(g *nccl.Group, d *gpu.Device) error { return nil }
	err = ranks(both, 2, none)
	if status.Code(err) != status.NoResource || status.HintOf(err) == "" || !strings.Contains(err.Error(), "ranks 0, 1 share the GPU at 0000:01:00.0") {
		t.Errorf("a card for two: %v", err)
	}
	t.Setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1")
	must(t, ranks(both, 2, func(g *nccl.Group, d *gpu.Device) error {
		return registered(g, d, "buffers are registered in symmetric windows")
	}))
	use(t, gpuemu.NCCLNoWindow)
	if err := ranks(both, 2, none); status.Code(err) != status.NoResource {
		t.Errorf("a card for two of NCCL 2.26: %v", err)
	}
}

// What is missing is named, with status 4, on all ranks.
func TestMissing(t *testing.T) {
	devices := cards(t, driver.CUDA, 1)
	none := func(g *nccl.Group, d *gpu.Device) error { return nil }
	for library, want := range map[string]string{
		"/nowhere/libnccl.so.2":      "NCCL cannot be loaded: there is no /nowhere/libnccl.so.2",
		os.Getenv("LSM_CUDA_LIB"):    "has no function ncclGetVersion",
		os.Args[0] + "/is a program": "cannot be loaded",
	} {
		t.Setenv("LSM_NCCL_LIB", library)
		if err := ranks(devices, 1, none); status.Code(err) != status.NoResource || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", library, err)
		}
	}
}

func TestNames(t *testing.T) {
	for version, want := range map[int]string{2803: "NCCL 2.8.3 (libx.so.2)", 21602: "NCCL 2.16.2 (libx.so.2)"} {
		if got := nccl.Named(driver.CUDA, version); got != want {
			t.Errorf("%d is %s, want %s", version, got, want)
		}
	}
	if got := nccl.Named(driver.HIP, 22203); got != "RCCL of NCCL 2.22.3 (libx.so.2)" {
		t.Error(got)
	}
}

// The compilers of real cards take the kernels, and no register spills.
func TestRealCompilers(t *testing.T) { drivertest.Compile(t, nccl.OrderSource()) }

// Extremes of whole allocations, of all lengths about those of the kernels' blocks.
func TestExtremes(t *testing.T) {
	devices := cards(t, driver.CUDA, 2)
	must(t, ranks(devices, 2, func(g *nccl.Group, d *gpu.Device) error {
		for _, n := range []int{1, 255, 256, 257, 4096*256 + 1} {
			for _, sign := range []float64{1, -1} {
				x, err := d.Alloc(n, device.F64)
				if err != nil {
					return err
				}
				v := make([]float64, n)
				for i := range v {
					v[i] = sign * float64(i+g.Rank())
				}
				if err := device.Upload(x, v); err != nil {
					return err
				}
				if err := g.AllReduce(x, comm.Max); err != nil {
					return err
				}
				if err := d.Copy(device.Wrap(device.NewHost(1), v), x); err != nil {
					return err
				}
				d.Free(x)
				for i, got := range v {
					if want := max(sign*float64(i), sign*float64(i+1)); got != want {
						return fmt.Errorf("%d elements: element %d is %g, want %g", n, i, got, want)
					}
				}
			}
		}
		return nil
	}))
}

// No kernel touches what is not its own.
func TestSanitized(t *testing.T) {
	if out, err := gpuemu.RunSanitized(t, "^TestExtremes$"); err != nil || strings.Contains(out, "AddressSanitizer") {
		t.Errorf("under the sanitizer: %v\n%s", err, out)
	}
}
