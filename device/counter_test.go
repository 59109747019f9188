package device_test

import (
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
)

// A counter knows what is held and what was held at most, and computes nothing.
func TestCounter(t *testing.T) {
	c := device.NewCounter(device.NewHost(1))
	a, err := c.Alloc(10, device.F32)
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Alloc(1<<40, device.F64) // more than any memory
	if err != nil {
		t.Fatal(err)
	}
	if c.Now() != 40+8<<40 || c.Peak() != c.Now() {
		t.Errorf("%d bytes and %d at most", c.Now(), c.Peak())
	}
	c.Free(b)
	if c.Now() != 40 || c.Peak() != 40+8<<40 {
		t.Errorf("after freeing %d bytes and %d at most", c.Now(), c.Peak())
	}
	part := a.Slice(3, 7)
	if part.Len() != 7 || part.Type() != device.F32 || part.Device() != device.Device(c) || c.Now() != 40 {
		t.Errorf("a slice of %d %v, %d bytes", part.Len(), part.Type(), c.Now())
	}
	dots, err := c.Dots([2]device.Buf{a, a}, [2]device.Buf{part, part})
	if err != nil || len(dots) != 2 || dots[0] != 1 || dots[1] != 1 {
		t.Errorf("inner products %v, %v", dots, err)
	}
	if err := device.Upload(part, make([]float64, 7)); err != nil {
		t.Error(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a slice past the end did not panic")
		}
	}()
	a.Slice(4, 7)
}
