package device_test

import (
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/device"
)

// other is a device that is not the host.
type other struct{ device.Device }

func (other) Name() string { return "gpu 0" }

type otherBuf struct{ device.Buf }

func (otherBuf) Device() device.Device { return other{} }

// A buffer of another device is an error that names both, never a copy.
func TestForeignBuffersAreErrors(t *testing.T) {
	h := device.NewHost(1)
	here := device.Wrap(h, []float32{1, 2})
	there := otherBuf{device.Wrap(h, []float32{1, 2})}
	_, dots := h.Dots([2]device.Buf{here, here}, [2]device.Buf{here, there})
	for name, err := range map[string]error{
		"zero":           h.Zero(there),
		"copy":           h.Copy(here, there),
		"copy back":      h.Copy(there, here),
		"axpby":          h.Axpby(1, there, 1, here),
		"axpby back":     h.Axpby(1, here, 1, there),
		"multiply":       h.Multiply(here, there),
		"soft threshold": h.SoftThreshold(there, 1),
		"dots":           dots,
	} {
		if err == nil || !strings.Contains(err.Error(), "gpu 0") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Lengths and types that do not fit are the programmer's fault.
func TestShapeErrorsPanic(t *testing.T) {
	h := device.NewHost(1)
	x2, x3 := device.Wrap(h, make([]float32, 2)), device.Wrap(h, make([]float32, 3))
	y2 := device.Wrap(h, make([]float64, 2))
	for name, f := range map[string]func(){
		"copy lengths":        func() { _ = h.Copy(x2, x3) },
		"copy types":          func() { _ = h.Copy(x2, y2) },
		"axpby lengths":       func() { _ = h.Axpby(1, x2, 1, x3) },
		"axpby types":         func() { _ = h.Axpby(1, x2, 1, y2) },
		"complex factor":      func() { _ = h.Axpby(1i, x2, 1, x2) },
		"complex factor b":    func() { _ = h.Axpby(1, x2, 1i, x2) },
		"multiply":            func() { _ = h.Multiply(x2, x3) },
		"dots":                func() { _, _ = h.Dots([2]device.Buf{x2, x3}) },
		"slice as":            func() { device.Slice[float64](x2) },
		"slice of a stranger": func() { device.Slice[float32](otherBuf{x2}) },
		"slice range":         func() { x2.Slice(1, 2) },
		"alloc":               func() { _, _ = h.Alloc(-1, device.F32) },
		"upload":              func() { _ = device.Upload(x2, make([]float32, 3)) },
		"download":            func() { _ = device.Download(make([]float32, 3), x2) },
		"size of nothing":     func() { device.Type(0).Size() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func TestTypes(t *testing.T) {
	h := device.NewHost(1)
	for _, c := range []struct {
		t    device.Type
		size int
		name string
	}{
		{device.F32, 4, "float32"}, {device.F64, 8, "float64"}, {device.C64, 8, "complex64"},
		{device.C128, 16, "complex128"}, {device.I64, 8, "int64"},
	} {
		b, err := h.Alloc(3, c.t)
		must(t, err)
		if c.t.Size() != c.size || c.t.String() != c.name || b.Type() != c.t || b.Len() != 3 || b.Device() != device.Device(h) {
			t.Errorf("%v: size %d, type %v, length %d", c.t, c.t.Size(), b.Type(), b.Len())
		}
	}
	if _, err := h.Alloc(1, device.Type(99)); err == nil {
		t.Error("a buffer of an unknown type was allocated")
	}
	if _, err := h.Dots([2]device.Buf{device.Wrap(h, []int64{1}), device.Wrap(h, []int64{1})}); err == nil {
		t.Error("integers have a dot product")
	}
	if err := h.SoftThreshold(device.Wrap(h, []int64{1}), 1); err == nil {
		t.Error("integers were shrunk")
	}
	if device.NewHost(0).Threads() < 1 || device.NewHost(3).Threads() != 3 {
		t.Error("threads")
	}
}

func TestUploadAndDownload(t *testing.T) {
	h := device.NewHost(1)
	x32, x64 := make([]float32, 2), make([]float64, 2)
	for _, b := range []device.Buf{device.Wrap(h, x32), device.Wrap(h, x64)} {
		must(t, device.Upload(b, []float64{1.5, -0.1}))
		got32, got64 := make([]float32, 2), make([]float64, 2)
		must(t, device.Download(got32, b))
		must(t, device.Download(got64, b))
		want := -0.1
		if b.Type() == device.F32 {
			want = float64(float32(want))
		}
		if got32[0] != 1.5 || got32[1] != float32(-0.1) || got64[0] != 1.5 || got64[1] != want {
			t.Errorf("%v: got %v and %v", b.Type(), got32, got64)
		}
		must(t, device.Upload(b, []float32{0.1, 7}))
		must(t, device.Download(got64, b))
		if got64[0] != float64(float32(0.1)) || got64[1] != 7 {
			t.Errorf("%v from float32: got %v", b.Type(), got64)
		}
	}
	z := device.Wrap(h, []complex64{1})
	if device.Upload(z, []float64{1}) == nil || device.Download([]float64{1}, z) == nil {
		t.Error("real numbers went into or came out of a complex buffer")
	}
}
