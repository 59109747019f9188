package gpu

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
)

// As in vector.cu: threads of a block, and elements that a block works on.
const (
	width = 256
	span  = 4 * width
)

// suffix is how kernels for a type end.
var suffix = map[device.Type]string{
	device.F32: "_f32", device.F64: "_f64", device.C64: "_c64", device.C128: "_c128", device.I64: "_i64",
}

// elementwise launches a kernel over n elements; none is nothing to do.
func (d *Device) elementwise(name string, n int, args ...driver.Arg) error {
	if n > 0 {
		d.context.Launch(d.kernels[name], driver.Line((n+span-1)/span, width), args...)
	}
	return d.context.Err()
}

// Zero sets x to zero.
func (d *Device) Zero(x device.Buf) error {
	b := d.mine(x)
	if b == nil {
		return d.foreign("zero", x)
	}
	if b.n > 0 {
		d.context.Fill(d.context.Main(), b.at, 0, b.bytes())
	}
	return d.context.Err()
}

// Axpby sets y = a·x + b·y; with b = 0 the old y is not read.
func (d *Device) Axpby(a complex128, x device.Buf, b complex128, y device.Buf) error {
	bx, by := d.mine(x), d.mine(y)
	if bx == nil || by == nil {
		return d.foreign("axpby", x, y)
	}
	match("axpby", x, y)
	var keep int32
	n := driver.Int64(int64(by.n))
	px, py := driver.Address(bx.at), driver.Address(by.at)
	factors := func(f complex128) []driver.Arg {
		switch by.typ {
		case device.F32:
			v := float32(re("axpby", f))
			if v != 0 {
				keep = 1
			}
			return []driver.Arg{driver.Float32(v)}
		case device.C64:
			if complex64(f) != 0 {
				keep = 1
			}
			return []driver.Arg{driver.Float32(float32(real(f))), driver.Float32(float32(imag(f)))}
		}
		if f != 0 {
			keep = 1
		}
		switch by.typ {
		case device.F64:
			return []driver.Arg{driver.Float64(re("axpby", f))}
		case device.I64:
			return []driver.Arg{driver.Int64(int64(re("axpby", f)))}
		}
		return []driver.Arg{driver.Float64(real(f)), driver.Float64(imag(f))}
	}
	args := append([]driver.Arg{n}, factors(a)...)
	args = append(args, px)
	keep = 0 // of b
	args = append(args, factors(b)...)
	args = append(args, py, driver.Int32(keep))
	return d.elementwise("axpby"+suffix[by.typ], by.n, args...)
}

// Multiply sets dst = dst·x, element by element.
func (d *Device) Multiply(dst, x device.Buf) error {
	to, by := d.mine(dst), d.mine(x)
	if to == nil || by == nil {
		return d.foreign("multiply", dst, x)
	}
	match("multiply", dst, x)
	return d.elementwise("multiply"+suffix[to.typ], to.n,
		driver.Int64(int64(to.n)), driver.Address(to.at), driver.Address(by.at))
}

// SoftThreshold shrinks every element of x towards zero by t.
func (d *Device) SoftThreshold(x device.Buf, t float64) error {
	b := d.mine(x)
	if b == nil {
		return d.foreign("soft threshold", x)
	}
	limit := driver.Float64(t)
	switch b.typ {
	case device.F32:
		limit = driver.Float32(float32(t))
	case device.I64:
		return fmt.Errorf("device: soft threshold of %v", b.typ)
	}
	return d.elementwise("shrink"+suffix[b.typ], b.n, driver.Int64(int64(b.n)), limit, driver.Address(b.at))
}

// mine is the buffer if it is this device's; one that was freed is a programming
// error.
func (d *Device) mine(x device.Buf) *Buf {
	b, ok := x.(*Buf)
	if !ok || b.dev != d {
		return nil
	}
	if b.whole.freed.Load() {
		panic("device: a buffer is used that was freed")
	}
	return b
}

func (d *Device) foreign(op string, bufs ...device.Buf) error {
	names := make([]string, len(bufs))
	for i, b := range bufs {
		names[i] = fmt.Sprintf("%v on %s", b.Type(), b.Device().Name())
	}
	return fmt.Errorf("device: %s on %s of buffers %v", op, d.Name(), names)
}

func match(op string, x, y device.Buf) {
	if x.Type() != y.Type() || x.Len() != y.Len() {
		panic(fmt.Sprintf("device: %s of %d %v with %d %v", op, x.Len(), x.Type(), y.Len(), y.Type()))
	}
}

func re(op string, a complex128) float64 {
	if imag(a) != 0 {
		panic(fmt.Sprintf("device: %s of a real buffer with the complex factor %v", op, a))
	}
	return real(a)
}
