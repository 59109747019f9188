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
	args := []any{to.at, from.at}
	for _, b := range []device.Buf{before, after} {
		at := driver.Memory(0)
		if b != nil {
			row, _, err := d.pair("stencil", b, from.Slice(0, s.Inner))
			if err != nil {
				return err
			}
			at = row.at
		}
		args = append(args, at)
	}
	args = append(args, int32(s.N), int64(s.Inner), int32(s.First), int32(s.Of))
	for _, w := range s.W {
		if to.typ == device.F32 || to.typ == device.C64 {
			args = append(args, float32(w))
		} else {
			args = append(args, w)
		}
	}
	return d.launch("stencil", "stencil", to.typ, to.n, append(args, flag(s.Adjoint))...)
}
