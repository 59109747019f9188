package gpu

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
)

// Stencil implements dist.Stenciler: dst is set from src and the rows beside it, nil
// for none.
func (d *Device) Stencil(s device.Stencil, dst, src, before, after device.Buf) error {
	to, from := d.mine(dst), d.mine(src)
	if to == nil || from == nil {
		return d.foreign("stencil", dst, src)
	}
	match("stencil", dst, src)
	if n := s.Outer * s.N * s.Inner; n != to.n {
		panic(fmt.Sprintf("device: stencil over %d elements of %d", n, to.n))
	}
	if to.typ == device.I64 {
		return fmt.Errorf("device: stencil of %v", to.typ)
	}
	var beside [2]driver.Memory
	for i, b := range []device.Buf{before, after} {
		if b == nil {
			continue
		}
		row := d.mine(b)
		if row == nil {
			return d.foreign("stencil", b)
		}
		match("stencil", b, from.Slice(0, s.Inner))
		beside[i] = row.at
	}
	args := []driver.Arg{driver.Int64(int64(to.n)), driver.Address(to.at), driver.Address(from.at),
		driver.Address(beside[0]), driver.Address(beside[1]),
		driver.Int32(int32(s.N)), driver.Int64(int64(s.Inner)), driver.Int32(int32(s.First)), driver.Int32(int32(s.Of))}
	for _, w := range s.W {
		if to.typ == device.F32 || to.typ == device.C64 {
			args = append(args, driver.Float32(float32(w)))
		} else {
			args = append(args, driver.Float64(w))
		}
	}
	adjoint := int32(0)
	if s.Adjoint {
		adjoint = 1
	}
	return d.elementwise("stencil"+suffix[to.typ], to.n, append(args, driver.Int32(adjoint))...)
}
