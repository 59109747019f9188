package dist

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Stencil is a three-point operator along one axis; see device.Stencil.
type Stencil = device.Stencil

// Stenciler is a device that works stencils out on its own buffers. Devices
// other than the host need it for derivatives.
type Stenciler interface {
	// Stencil sets dst from src, both of Outer·N·Inner elements of one type, and
	// the rows of Inner elements before and after this part of the axis, nil where
	// the axis ends or, for Outer > 1, is not split.
	Stencil(s Stencil, dst, src, before, after device.Buf) error
}

// apply works the stencil out where the buffers are.
func apply(s Stencil, dst, src, before, after device.Buf) error {
	d := dst.Device()
	if own, ok := d.(Stenciler); ok {
		return own.Stencil(s, dst, src, before, after)
	}
	if _, ok := d.(*device.Host); !ok {
		return status.Resource(fmt.Errorf("dist: derivatives on %s are not built in, only on the host", d.Name()))
	}
	switch dst.Type() {
	case device.F32:
		onHost(s, dst, src, before, after, func(w float64) float32 { return float32(w) })
	case device.F64:
		onHost(s, dst, src, before, after, func(w float64) float64 { return w })
	case device.C64:
		onHost(s, dst, src, before, after, func(w float64) complex64 { return complex(float32(w), 0) })
	case device.C128:
		onHost(s, dst, src, before, after, func(w float64) complex128 { return complex(w, 0) })
	default:
		return fmt.Errorf("dist: derivative of %v", dst.Type())
	}
	return nil
}

func onHost[T device.Number](s Stencil, dst, src, before, after device.Buf, weight func(float64) T) {
	y, x := device.Slice[T](dst), device.Slice[T](src)
	var ends [2][]T
	for k, b := range []device.Buf{before, after} {
		if b != nil {
			ends[k] = device.Slice[T](b)
		}
	}
	n := s.N * s.Inner
	for o := range s.Outer {
		lines(s, y[o*n:(o+1)*n], x[o*n:(o+1)*n], ends[0], ends[1], weight)
	}
}

// lines works one N × Inner part out. Rows in the middle, which have the same
// weights and their neighbours in x, are one loop: it reads x once from memory and
// writes y once.
func lines[T device.Number](s Stencil, y, x, before, after []T, weight func(float64) T) {
	in := s.Inner
	rows := func(i, j int) []T { return x[i*in : j*in] }
	for i, j := 0, 0; i < s.N; i = j {
		j = i + 1
		a, b, c := before, rows(i, j), after
		if g := s.First + i; i > 0 && g >= 2 {
			j = max(j, min(s.N-1, s.Of-2-s.First))
			b = rows(i, j)
		}
		if i > 0 {
			a = rows(i-1, j-1)
		}
		if j < s.N {
			c = rows(i+1, j+1)
		}
		w := s.Weights(s.First + i)
		three(y[i*in:j*in], [3]T{weight(w[0]), weight(w[1]), weight(w[2])}, a, b, c)
	}
}

// three is the one expression for all rows, so that they do not depend on where
// the array is cut. A neighbour that does not exist has no weight.
func three[T device.Number](y []T, w [3]T, a, b, c []T) {
	if a == nil {
		a = b
	}
	if c == nil {
		c = b
	}
	for k := range y {
		y[k] = w[0]*a[k] + w[1]*b[k] + w[2]*c[k]
	}
}
