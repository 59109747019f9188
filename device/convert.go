package device

import "fmt"

// Upload copies numbers into a buffer of floating point of either precision on any
// device, converting on the host where the precisions differ.
func Upload[T float32 | float64](dst Buf, src []T) error {
	if dst.Len() != len(src) {
		panic(fmt.Sprintf("device: upload of %d elements into %d", len(src), dst.Len()))
	}
	h := NewHost(0)
	switch dst.Type() {
	case F32:
		return dst.Device().Copy(dst, Wrap(h, converted[float32](src)))
	case F64:
		return dst.Device().Copy(dst, Wrap(h, converted[float64](src)))
	}
	return fmt.Errorf("device: upload of %T into a buffer of %v", src, dst.Type())
}

// converted returns src in another precision, or src itself in its own.
func converted[D, S float32 | float64](src []S) []D {
	if same, ok := any(src).([]D); ok {
		return same
	}
	out := make([]D, len(src))
	for i, v := range src {
		out[i] = D(v)
	}
	return out
}

// Download copies a buffer of floating point of either precision from any device.
func Download[T float32 | float64](dst []T, src Buf) error {
	if src.Len() != len(dst) {
		panic(fmt.Sprintf("device: download of %d elements into %d", src.Len(), len(dst)))
	}
	switch src.Type() {
	case F32:
		return downloadAs[float32](dst, src)
	case F64:
		return downloadAs[float64](dst, src)
	}
	return fmt.Errorf("device: download of %T from a buffer of %v", dst, src.Type())
}

func downloadAs[S, T float32 | float64](dst []T, src Buf) error {
	tmp, same := any(dst).([]S)
	if !same {
		tmp = make([]S, len(dst))
	}
	err := src.Device().Copy(Wrap(NewHost(0), tmp), src)
	if err == nil && !same {
		copy(dst, converted[T](tmp))
	}
	return err
}
