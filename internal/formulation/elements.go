package formulation

import (
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// product is a new vector, the product of x and y element by element.
func product(x, y *dist.Vector) (v *dist.Vector, err error) {
	w := &dist.Work{}
	w.New(x.Device(), x.Layout, &v)
	w.Copy(v, x)
	w.Multiply(v, y)
	return v, w.Err
}

// each sets every element of the leaf dst to f of its number in the leaf and the element
// of src there, in order; dst may be src, and nil. On a device.Counter there are none.
func each(dst, src *dist.Vector, f func(i int, v float64) float64) error {
	if _, ok := src.Device().(*device.Counter); ok {
		return nil
	}
	const most = 1 << 16 // elements on the host at a time
	for lo := 0; lo < src.Layout.N; lo += most {
		n := min(most, src.Layout.N-lo)
		x := make([]float64, n)
		if err := device.Download(x, src.Buf.Slice(lo, n)); err != nil {
			return err
		}
		for i, v := range x {
			x[i] = f(lo+i, v)
		}
		if dst == nil {
			continue
		}
		if err := device.Upload(dst.Buf.Slice(lo, n), x); err != nil {
			return err
		}
	}
	return nil
}

// eachRow sets every element of dst, an image or a stack of them, to f of that of src.
func eachRow(dst, src *dist.Vector, f func(v float64) float64) (err error) {
	to := dst.Rows()
	for i, from := range src.Rows() {
		if err == nil {
			err = each(to[i], from, func(_ int, v float64) float64 { return f(v) })
		}
	}
	return err
}

// Diagonal is an image vector of the values of f at every point of the grid, in single
// precision and the same for each class.
func Diagonal(d device.Device, l *dist.Layout, f func(point int) float64) (*dist.Vector, error) {
	if l.Parts != nil {
		one, err := Diagonal(d, l.Parts[0], f)
		return &dist.Vector{Layout: l, Parts: slices.Repeat([]*dist.Vector{one}, len(l.Parts))}, err
	}
	v, err := dist.NewVector(d, l)
	if err != nil {
		return nil, err
	}
	return v, each(v, v, func(i int, _ float64) float64 { return float64(float32(f(l.Off + i))) })
}

// Stack is the sum over classes times a factor; an image of all is itself.
func Stack(x *dist.Vector, factor float64) (*dist.Vector, error) {
	if x.Parts == nil {
		return x, nil
	}
	w := &dist.Work{}
	var sum *dist.Vector
	w.New(x.Device(), x.Parts[0].Layout, &sum)
	for _, part := range x.Parts {
		w.Axpby(factor, part, 1, sum)
	}
	return sum, w.Err
}
