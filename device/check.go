package device

import "fmt"

// What implementations share.

// Match panics if two buffers differ in length or type.
func Match(op string, x, y Buf) {
	if x.Type() != y.Type() || x.Len() != y.Len() {
		panic(fmt.Sprintf("device: %s of %d %v with %d %v", op, x.Len(), x.Type(), y.Len(), y.Type()))
	}
}

// RealPart returns the factor to use for a real buffer. It panics if a has an imaginary part.
func RealPart(op string, a complex128) float64 {
	if imag(a) != 0 {
		panic(fmt.Sprintf("device: %s of a real buffer with the complex factor %v", op, a))
	}
	return real(a)
}

// Foreign returns the error of a device that was asked to work on buffers of another device.
func Foreign(d Device, op string, bufs ...Buf) error {
	names := make([]string, len(bufs))
	for i, b := range bufs {
		names[i] = fmt.Sprintf("%v on %s", b.Type(), b.Device().Name())
	}
	return fmt.Errorf("device: %s on %s of buffers %v", op, d.Name(), names)
}
