package gpu

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
)

// As in vector.cu: threads of a block, and elements that a block works on.
const (
	width = 256
	span  = 4 * width
)

// suffix is how kernels for a type end.
var suffix = map[device.Type]string{
	device.F32: "_f32", device.F64: "_f64", device.I64: "_i64",
}

// elementwise names the kernels with one form for each element type. wholes says whether
// there is one for int64.
var elementwise = []struct {
	name   string
	wholes bool
}{{"axpby", true}, {"multiply", true}, {"stencil", false}}

// launch runs an element-wise kernel over n elements of a type. With n = 0 it does nothing.
func (d *Device) launch(kernel string, t device.Type, n int, args ...any) error {
	k := d.kernels[kernel+suffix[t]]
	if k == nil {
		return fmt.Errorf("device: %s of %v", kernel, t)
	}
	if n > 0 {
		defer d.Clock.outside(d.context.Main(), device.MarkVectors)()
		d.context.Launch(d.context.Main(), k, accel.Line((n+span-1)/span, width), append([]any{int64(n)}, args...)...)
	}
	return d.context.Err()
}

// scalar is a factor as the kernels for a type take it.
func scalar(t device.Type, v float64) any {
	switch t {
	case device.F32:
		return float32(v)
	case device.F64:
		return v
	}
	return int64(v)
}

// flag is a bool for a kernel.
func flag(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// Zero sets x to zero.
func (d *Device) Zero(x device.Buf) error {
	b := d.ownBuffer(x)
	if b == nil {
		return device.Foreign(d, "zero", x)
	}
	if b.n > 0 {
		defer d.Clock.outside(d.context.Main(), device.MarkVectors)()
		d.context.Fill(d.context.Main(), b.at, 0, b.bytes())
	}
	return d.context.Err()
}

// Axpby sets y = a·x + b·y; with b = 0 the old y is not read.
func (d *Device) Axpby(a float64, x device.Buf, b float64, y device.Buf) error {
	from, to, err := d.ownPair("axpby", x, y)
	if err != nil {
		return err
	}
	keep := b != 0
	if to.typ == device.F32 {
		keep = float32(b) != 0
	}
	return d.launch("axpby", to.typ, to.n, scalar(to.typ, a), from.at, scalar(to.typ, b), to.at, flag(keep))
}

// Multiply sets dst = dst·x, element by element.
func (d *Device) Multiply(dst, x device.Buf) error {
	to, by, err := d.ownPair("multiply", dst, x)
	if err != nil {
		return err
	}
	return d.launch("multiply", to.typ, to.n, to.at, by.at)
}

// Stencil implements device.Device.
func (d *Device) Stencil(s device.Stencil, dst, src, before, after device.Buf) error {
	to, from, err := d.ownPair("stencil", dst, src)
	if err != nil {
		return err
	}
	if n := s.Outer * s.N * s.Inner; n != to.n {
		panic(fmt.Sprintf("device: stencil over %d elements of %d", n, to.n))
	}
	args := []any{to.at, from.at}
	for _, b := range []device.Buf{before, after} {
		at := accel.Memory(0)
		if b != nil {
			row, _, err := d.ownPair("stencil", b, from.Slice(0, s.Inner))
			if err != nil {
				return err
			}
			at = row.at
		}
		args = append(args, at)
	}
	args = append(args, int32(s.N), int64(s.Inner), int32(s.First), int32(s.Of))
	for _, w := range s.W {
		args = append(args, scalar(to.typ, w))
	}
	return d.launch("stencil", to.typ, to.n, append(args, flag(s.Adjoint))...)
}

// Run launches a kernel of another package.
func (d *Device) Run(k device.Kernel, dst, src device.Buf) error {
	to, from := d.ownBuffer(dst), d.ownBuffer(src)
	switch {
	case to == nil || from == nil:
		return device.Foreign(d, k.Name, dst, src)
	case to.typ != device.F32 || from.typ != device.F32:
		return fmt.Errorf("device: %s of %v and %v", k.Name, to.typ, from.typ)
	case to.n == 0:
		return nil
	}
	m, err := d.Build(accel.Source{Name: k.Program.Name, Text: k.Program.Text})
	if err != nil {
		return err
	}
	f, err := m.Function(k.Name)
	if err != nil {
		return err
	}
	args := []any{to.at, from.at}
	for _, arg := range k.Args {
		if b, ok := arg.(device.Buf); ok {
			here := d.ownBuffer(b)
			if here == nil {
				return device.Foreign(d, k.Name, b)
			}
			arg = here.at
		}
		args = append(args, arg)
	}
	defer d.Clock.outside(d.context.Main(), k.Name)()
	d.context.Launch(d.context.Main(), f, accel.Line(k.Blocks, k.Threads), args...)
	return d.context.Err()
}

// ownBuffer returns x as a buffer of this device, or nil if it is not one. It panics if x was
// freed.
func (d *Device) ownBuffer(x device.Buf) *Buf {
	b, ok := x.(*Buf)
	if !ok || b.dev != d {
		return nil
	}
	if b.whole.freed.Load() {
		panic("device: a buffer is used that was freed")
	}
	return b
}

// ownPair returns the two buffers of an operation, which must be on this device and agree in
// type and length.
func (d *Device) ownPair(op string, x, y device.Buf) (bx, by *Buf, err error) {
	if bx, by = d.ownBuffer(x), d.ownBuffer(y); bx == nil || by == nil {
		return nil, nil, device.Foreign(d, op, x, y)
	}
	device.Match(op, x, y)
	return bx, by, nil
}
