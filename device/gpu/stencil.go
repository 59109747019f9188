package gpu

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
)

// Stencil implements device.Device.
func (d *Device) Stencil(s device.Stencil, dst, src, before, after device.Buf) error {
	to, from, err := d.pair("stencil", dst, src)
	if err != nil {
		return err
	}
	if n := s.Outer * s.N * s.Inner; n != to.n {
		panic(fmt.Sprintf("device: stencil over %d elements of %d", n, to.n))
	}
	args := []driver.Arg{driver.Address(to.at), driver.Address(from.at)}
	for _, b := range []device.Buf{before, after} {
		at := driver.Memory(0)
		if b != nil {
			row, _, err := d.pair("stencil", b, from.Slice(0, s.Inner))
			if err != nil {
				return err
			}
			at = row.at
		}
		args = append(args, driver.Address(at))
	}
	args = append(args, driver.Int32(int32(s.N)), driver.Int64(int64(s.Inner)), driver.Int32(int32(s.First)), driver.Int32(int32(s.Of)))
	for _, w := range s.W {
		if to.typ == device.F32 || to.typ == device.C64 {
			args = append(args, driver.Float32(float32(w)))
		} else {
			args = append(args, driver.Float64(w))
		}
	}
	return d.launch("stencil", "stencil", to.typ, to.n, append(args, flag(s.Adjoint))...)
}
