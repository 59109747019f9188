package nccl_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
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

// cards opens n cards of the emulator, one a rank.
func cards(t testing.TB, engine driver.Engine, n int) []*gpu.Device {
	t.Helper()
	gputest.NeedEmulator(t)
	t.Setenv("GPUEMU_CARDS", fmt.Sprint(n))
	devices := make([]*gpu.Device, n)
	for i := range devices {
		d, err := gpu.Open(gpu.Options{Engine: engine, Card: i, Cache: accel.UserCache()})
		must(t, err)
		t.Cleanup(func() { d.Close() })
		devices[i] = d
	}
	return devices
}

// use makes NCCL another of the emulator's libraries.
func use(t *testing.T, library string) {
	t.Helper()
	gputest.NeedEmulator(t)
	t.Setenv("LSM_NCCL_LIB", filepath.Join(os.Getenv("GPUEMU_FOLDER"), library))
}

// ranks runs body on n ranks that are goroutines, each with a card.
func ranks(devices []*gpu.Device, n int, body func(g *nccl.Group, d *gpu.Device) error) error {
	return commtest.Ranks(n, func(control comm.Comm) error {
		d := devices[control.Rank()]
		g, err := nccl.New(control, d, nccl.Options{})
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
			return body(onDevice{g, d})
		})
	}, sizes...)
}

func TestConformance(t *testing.T) { conform(t, cards(t, driver.CUDA, 5), 1, 2, 3, 4, 5) }

// A communicator of the host carries what lies on cards through pinned memory.
func TestStaged(t *testing.T) {
	devices := cards(t, driver.CUDA, 3)
	commtest.Run(t, func(n int, body func(c comm.Comm) error) error {
		return commtest.Ranks(n, func(c comm.Comm) error {
			return body(onDevice{comm.Staged(onHost{c}), devices[c.Rank()]})
		})
	}, 1, 3)
}

// onHost is a communicator that panics over a buffer of a card.
type onHost struct{ comm.Comm }

func (c onHost) AllReduce(x device.Buf) error {
	_ = x.Device().(*device.Host)
	return c.Comm.AllReduce(x)
}

func (c onHost) StartAllReduce(x device.Buf) (comm.Request, error) {
	_ = x.Device().(*device.Host)
	return c.Comm.StartAllReduce(x)
}

func (c onHost) Split(color, key int) (comm.Comm, error) {
	part, err := c.Comm.Split(color, key)
	return onHost{part}, err
}

func TestRCCL(t *testing.T) { conform(t, cards(t, driver.HIP, 3), 3) }

// A library that cannot split has groups made by identifiers.
func TestOldLibraries(t *testing.T) {
	for _, c := range []struct{ library, about string }{
		{gputest.NCCL, "NCCL 2.30.3 (libnccl.so.2): the start can be aborted; groups are split by the library"},
		{gputest.NCCLUnshared, "NCCL 2.26.2 (libnccl-unshared.so): the start can be aborted; groups are split by the library"},
		{gputest.NCCLNoSplit, "NCCL 2.16.2 (libnccl-nosplit.so): the start can be aborted; groups are made by identifiers"},
		{gputest.NCCLBlocking, "NCCL 2.12.12 (libnccl-blocking.so): the start cannot be aborted; groups are made by identifiers"},
	} {
		t.Run(c.library, func(t *testing.T) {
			use(t, c.library)
			devices := cards(t, driver.CUDA, 3)
			must(t, ranks(devices, 3, func(g *nccl.Group, d *gpu.Device) error {
				if g.About() != c.about {
					return fmt.Errorf("chosen: %s, want %s", g.About(), c.about)
				}
				return sumsParts(g, d)
			}))
			if c.library != gputest.NCCL {
				conform(t, devices, 3)
			}
		})
	}
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
			func() error { return g.AllReduce(buf(n)) },
			func() error { return part.AllReduce(buf(n)) },
			func() error { return g.Bcast(buf(n), 2) },
			func() error { return g.AllGather(buf(n+7), me, counts) },
			func() error { return g.SendRecv(buf(n), (r+1)%3, buf(n), (r+2)%3) },
			func() error {
				q, err := g.StartAllReduce(buf(n))
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
	both[1], err = gpu.Open(gpu.Options{Cache: accel.UserCache()})
	must(t, err)
	defer both[1].Close()
	none := func(g *nccl.Group, d *gpu.Device) error { return nil }
	err = ranks(both, 2, none)
	if status.Code(err) != status.NoResource || status.HintOf(err) == "" || !strings.Contains(err.Error(), "ranks 0, 1 share the GPU at 0000:01:00.0") {
		t.Errorf("a card for two: %v", err)
	}
	t.Setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1")
	must(t, ranks(both, 2, func(g *nccl.Group, d *gpu.Device) error {
		return sumsParts(g, d)
	}))
	use(t, gputest.NCCLUnshared)
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

// sumsParts sums parts of a buffer on both streams.
func sumsParts(g *nccl.Group, d *gpu.Device) error {
	const n = 3 << 20
	x, err := d.Alloc(n, device.F32)
	if err != nil {
		return err
	}
	ones := slices.Repeat([]float32{1}, n)
	if err := device.Upload(x, ones); err != nil {
		return err
	}
	if err := g.AllReduce(x.Slice(0, n/2)); err != nil {
		return err
	}
	r, err := g.StartAllReduce(x.Slice(n/2, n/4))
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
	return nil
}
