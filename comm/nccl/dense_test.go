package nccl_test

import (
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/blas"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/dist/dense/densetest"
)

// onCards are the places of ranks whose matrices are on cards.
func onCards(t *testing.T, devices []*gpu.Device) densetest.Place {
	t.Helper()
	libraries := make([]*blas.Card, len(devices))
	for i, d := range devices {
		l, err := blas.NewCard(d)
		must(t, err)
		t.Cleanup(func() { must(t, l.Close()) })
		libraries[i] = l
	}
	return func(rank int) (device.Device, blas.Library) { return devices[rank], libraries[rank] }
}

// Distributed matrices on cards are the same on every grid: over NCCL, RCCL, through the host,
// and on one card.
func TestDenseMatrices(t *testing.T) {
	devices := cards(t, driver.CUDA, 6)
	place := onCards(t, devices)
	byNCCL := func(n int, body func(c comm.Comm) error) error {
		return ranks(devices, n, func(g *nccl.Group, _ *gpu.Device) error { return body(g) })
	}
	staged := func(n int, body func(c comm.Comm) error) error {
		return commtest.Ranks(n, func(c comm.Comm) error { return body(comm.Staged(onHost{c})) })
	}
	t.Run("nccl", func(t *testing.T) { densetest.RunBriefly(t, byNCCL, place, densetest.Types, 1, 6) })
	t.Run("staged", func(t *testing.T) { densetest.RunBriefly(t, staged, place, []device.Type{device.F32}, 4) })
}

func TestDenseMatricesByRCCL(t *testing.T) {
	devices := cards(t, driver.HIP, 2)
	densetest.RunBriefly(t, func(n int, body func(c comm.Comm) error) error {
		return ranks(devices, n, func(g *nccl.Group, _ *gpu.Device) error { return body(g) })
	}, onCards(t, devices), []device.Type{device.F32, device.F64}, 2)
}
