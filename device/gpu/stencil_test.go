package gpu_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
)

// Derivatives on a card give the host's bits, along every axis of an array that is
// split over ranks, and pass the dot test.
func TestDerivativesAsOnTheHost(t *testing.T) {
	gputest.Need(t)
	d, err := gpu.Open(gpu.Options{Cache: accel.UserCache()})
	if err != nil && gputest.Real() {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	shape := []int{9, 5, 31}
	for _, typ := range []device.Type{device.F32, device.F64} {
		err := commtest.Ranks(2, func(c comm.Comm) error {
			l := &dist.Layout{Shape: shape, Off: []int{0, 4 * 155}[c.Rank()], N: []int{4, 5}[c.Rank()] * 155,
				Type: typ, Shards: c, Copies: comm.Self()}
			for axis := range shape {
				// An operator keeps buffers of the device that it was first used on.
				var results [2]string
				for i, dev := range []device.Device{device.NewHost(1), d} {
					op, err := dist.Difference(l, axis)
					if err != nil {
						return err
					}
					if results[i], err = both(dev, op); err != nil {
						return err
					}
					if dev == device.Device(d) {
						if e, err := dist.DotTest(context.Background(), d, op, 3); err != nil || !(e < 1e-6) {
							return fmt.Errorf("derivative along axis %d: dot test %g, %v", axis, e, err)
						}
					}
				}
				if results[0] != results[1] {
					return fmt.Errorf("derivative along axis %d: other bits than on the host", axis)
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("%v: %v", typ, err)
		}
	}
}

// both is what an operator and its adjoint make of given numbers.
func both(d device.Device, op dist.Operator) (string, error) {
	l, h := op.Domain(), device.NewHost(1)
	var v [3]*dist.Vector
	for i := range v {
		var err error
		if v[i], err = dist.NewVector(d, l); err != nil {
			return "", err
		}
	}
	x, err := h.Alloc(l.N, l.Type)
	if err != nil {
		return "", err
	}
	for i := range l.N {
		n := 1/float64(l.Off+i+3) - 0.01
		if l.Type == device.F32 {
			device.Slice[float32](x)[i] = float32(n)
		} else {
			device.Slice[float64](x)[i] = n
		}
	}
	if err := d.Copy(v[0].Buf, x); err != nil {
		return "", err
	}
	if err := op.Apply(context.Background(), v[1], v[0]); err != nil {
		return "", err
	}
	if err := op.ApplyAdjoint(context.Background(), v[2], v[0]); err != nil {
		return "", err
	}
	text := ""
	for _, r := range v[1:] {
		back, err := h.Alloc(l.N, l.Type)
		if err != nil {
			return "", err
		}
		if err := d.Copy(back, r.Buf); err != nil {
			return "", err
		}
		if l.Type == device.F32 {
			text += fmt.Sprint(device.Slice[float32](back))
		} else {
			text += fmt.Sprint(device.Slice[float64](back))
		}
	}
	return text, nil
}
