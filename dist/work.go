package dist

import (
	"context"
	"math"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Work performs operations on vectors one after the other, and none after one that has
// failed. Err is the first error. Numbers that were not computed are zero.
type Work struct {
	Ctx context.Context
	Err error
}

// Pair is two vectors whose inner product is computed.
type Pair = [2]*Vector

// Do calls f, unless something has failed.
func (w *Work) Do(f func() error) {
	if w.Err == nil {
		w.Err = f()
	}
}

// Apply sets dst = A src.
func (w *Work) Apply(a Operator, dst, src *Vector) {
	w.Do(func() error { return a.Apply(w.Ctx, dst, src) })
}

// ApplyAdjoint sets dst = Aᵀ src.
func (w *Work) ApplyAdjoint(a Operator, dst, src *Vector) {
	w.Do(func() error { return a.ApplyAdjoint(w.Ctx, dst, src) })
}

// Zero sets v to zero.
func (w *Work) Zero(v *Vector) { w.Do(v.Zero) }

// Copy sets dst = src.
func (w *Work) Copy(dst, src *Vector) { w.Do(func() error { return Copy(dst, src) }) }

// Axpby sets y = a x + b y.
func (w *Work) Axpby(a float64, x *Vector, b float64, y *Vector) {
	w.Do(func() error {
		mustEqual("axpby", x.Layout, y.Layout)
		return x.pairLeaves(y, func(x, y *Vector) error { return y.Buf.Device().Axpby(a, x.Buf, b, y.Buf) })
	})
}

// Multiply sets dst = dst·x, element by element.
func (w *Work) Multiply(dst, x *Vector) { w.Do(func() error { return Multiply(dst, x) }) }

// Dots returns the inner products of the pairs, as the function Dots does.
func (w *Work) Dots(pairs ...Pair) (dots []float64) {
	w.Do(func() (err error) {
		dots, err = Dots(pairs...)
		return err
	})
	if w.Err != nil {
		return make([]float64, len(pairs))
	}
	return dots
}

// Square is ‖v‖².
func (w *Work) Square(v *Vector) float64 { return w.Dots(Pair{v, v})[0] }

// Norm is ‖v‖.
func (w *Work) Norm(v *Vector) float64 { return math.Sqrt(w.Square(v)) }

// New allocates zero vectors of a layout on a device.
func (w *Work) New(d device.Device, l *Layout, to ...**Vector) {
	for _, p := range to {
		w.Do(func() (err error) {
			*p, err = NewVector(d, l)
			return err
		})
	}
}

// Scratch allocates vectors with the layout of another, unless they exist already.
func (w *Work) Scratch(like *Vector, to ...**Vector) {
	if *to[0] == nil {
		w.New(like.Device(), like.Layout, to...)
	}
}
