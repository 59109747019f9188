package nccl_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/internal/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/driver"
	"github.com/kirchhoff-lsm/lsm/internal/driver/drivertest"
	"github.com/kirchhoff-lsm/lsm/internal/gpuemu"
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

// old makes NCCL one of the emulator's older libraries.
func old(t *testing.T, library string) {
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
	var mu sync.Mutex // tests of one world at a time
	commtest.Run(t, func(n int, body func(c comm.Comm) error) error {
		mu.Lock()
		defer mu.Unlock()
		return ranks(devices, n, func(g *nccl.Group, d *gpu.Device) error {
			return body(commtest.OnDevice(g, d))
		})
	}, sizes...)
}

func TestConformance(t *testing.T) { conform(t, cards(t, driver.CUDA, 5), 1, 2, 3, 4, 5) }
