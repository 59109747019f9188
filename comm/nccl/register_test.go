package nccl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
)

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

// Between cards that cannot have windows a library that can makes none.
func TestNoWindows(t *testing.T) {
	devices := cards(t, driver.CUDA, 2)
	t.Setenv("GPUEMU_NCCL_NO_WINDOWS", "1")
	must(t, ranks(devices, 2, func(g *nccl.Group, d *gpu.Device) error {
		return registered(g, d, "buffers are registered one by one")
	}))
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
		err = g.AllReduce(x.Slice(g.Rank(), 50))
		if err == nil || !strings.Contains(err.Error(), "in window 1 at byte 4") {
			return fmt.Errorf("two places of a window: %v", err)
		}
		return g.AllReduce(x)
	}))
}
