package nccl_test

import (
	"os"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// TestRealCard runs the suite over the machine's own library and cards: on as many
// ranks as there are cards, up to five, and on two that share one where the
// library can do that.
func TestRealCard(t *testing.T) {
	if !gputest.Real() {
		t.Skip("for a real GPU: LSM_TEST_GPU=1")
	}
	for _, engine := range []driver.Engine{driver.CUDA, driver.HIP} {
		t.Run(engine.String(), func(t *testing.T) {
			lib, err := nccl.Open(engine)
			if err != nil {
				t.Skip(err)
			}
			t.Logf("%v", lib)
			first := openReal(t, engine, 0)
			devices := []*gpu.Device{first}
			sizes := []int{1}
			for i := 1; i < 5 && i < visible(t, engine); i++ {
				devices = append(devices, openReal(t, engine, i))
				sizes = append(sizes, i+1)
			}
			must(t, ranks(devices, len(devices), func(g *nccl.Group, d *gpu.Device) error {
				t.Log(g.About())
				x, err := d.Alloc(4<<20, device.F32)
				if err != nil {
					return err
				}
				return g.AllReduce(x)
			}))
			conform(t, devices, sizes...)
			if len(devices) == 1 && lib.Version >= 23000 {
				t.Setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1")
				conform(t, []*gpu.Device{first, openReal(t, engine, 0)}, 2)
			}
		})
	}
}

// TestRealLibrary loads the real NCCL where it can be had, which takes no card:
// every function is there, and what its version offers is found. LSM_TEST_NCCL_LIB
// names it where the loader does not find it.
func TestRealLibrary(t *testing.T) {
	t.Setenv("LSM_NCCL_LIB", os.Getenv("LSM_TEST_NCCL_LIB"))
	lib, err := nccl.Open(driver.CUDA)
	if err != nil {
		t.Skip(err)
	}
	t.Logf("%v: splits %v", lib, lib.Splits())
	if lib.Splits() != (lib.Version >= 21800) {
		t.Errorf("%v: splits %v", lib, lib.Splits())
	}
}

func visible(t *testing.T, engine driver.Engine) int {
	d, err := engine.Open()
	must(t, err)
	cards, err := d.Cards()
	must(t, err)
	return len(cards)
}

func openReal(t *testing.T, engine driver.Engine, card int) *gpu.Device {
	t.Helper()
	d, err := gpu.Open(gpu.Options{Engine: engine, Card: card, Cache: accel.UserCache()})
	if status.Code(err) == status.NoResource {
		t.Skip(err)
	}
	must(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}
