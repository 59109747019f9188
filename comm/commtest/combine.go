package commtest

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// keep copies a buffer to the host, where the others read it.
func keep(x device.Buf) (device.Buf, error) {
	h := device.NewHost(1)
	mine, err := h.Alloc(x.Len(), x.Type())
	if err != nil {
		return nil, err
	}
	return mine, x.Device().Copy(mine, x)
}

// combine sets x to what all ranks brought, from element at on, combined in rank
// order, so that all ranks get the same bits.
func combine(x device.Buf, all []any, at int, op comm.Op) error {
	switch x.Type() {
	case device.F32:
		return combineAs(x, all, at, ordered[float32](op))
	case device.F64:
		return combineAs(x, all, at, ordered[float64](op))
	case device.I64:
		return combineAs(x, all, at, ordered[int64](op))
	case device.C64:
		return combineAs(x, all, at, func(a, b complex64) complex64 { return a + b })
	case device.C128:
		return combineAs(x, all, at, func(a, b complex128) complex128 { return a + b })
	}
	return fmt.Errorf("comm: reduction of %v", x.Type())
}

func ordered[T float32 | float64 | int64](op comm.Op) func(a, b T) T {
	switch op {
	case comm.Max:
		return func(a, b T) T { return max(a, b) }
	case comm.Min:
		return func(a, b T) T { return min(a, b) }
	}
	return func(a, b T) T { return a + b }
}

func combineAs[T device.Number](x device.Buf, all []any, at int, f func(a, b T) T) error {
	whole := make([]T, x.Len())
	for k, v := range all {
		part := device.Slice[T](v.(device.Buf))[at : at+len(whole)]
		if k == 0 {
			copy(whole, part)
			continue
		}
		for i := range whole {
			whole[i] = f(whole[i], part[i])
		}
	}
	return x.Device().Copy(x, device.Wrap(device.NewHost(1), whole))
}
