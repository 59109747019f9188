package sim

import "github.com/kirchhoff-lsm/lsm/device"

// bytesOf is the size of a buffer.
func bytesOf(x device.Buf) int { return x.Len() * x.Type().Size() }

// keep copies a buffer to the host, where other ranks read it. It is nil for one of a
// device.Counter, which has no values.
func keep(x device.Buf) (any, error) {
	if _, counted := x.Device().(*device.Counter); counted {
		return nil, nil
	}
	mine, err := device.NewHost(1).Alloc(x.Len(), x.Type())
	if err != nil {
		return nil, err
	}
	return mine, x.Device().Copy(mine, x)
}

// add adds up what keep has kept of all ranks, in their order, and returns an error where that
// fails.
func add(all []any) any {
	if all[0] == nil {
		return nil
	}
	sum := all[0].(device.Buf)
	for _, v := range all[1:] {
		if err := sum.Device().Axpby(1, v.(device.Buf), 1, sum); err != nil {
			return err
		}
	}
	return sum
}

// take sets x to what was kept or added up.
func take(x device.Buf, values any) error {
	switch v := values.(type) {
	case error:
		return v
	case device.Buf:
		return x.Device().Copy(x, v)
	}
	return nil
}
