package solver

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// work does one operation after the other, and none after one that has failed: err
// is the first error. Numbers that were not computed are zero.
type work struct {
	ctx context.Context
	err error
}

// pair are two vectors whose inner product is asked for.
type pair = [2]*dist.Vector

// apply sets dst = A src.
func (w *work) apply(a dist.Operator, dst, src *dist.Vector) {
	if w.err == nil {
		w.err = a.Apply(w.ctx, dst, src)
	}
}

// applyAdjoint sets dst = Aᴴ src.
func (w *work) applyAdjoint(a dist.Operator, dst, src *dist.Vector) {
	if w.err == nil {
		w.err = a.ApplyAdjoint(w.ctx, dst, src)
	}
}

// axpby sets y = a x + b y.
func (w *work) axpby(a float64, x *dist.Vector, b float64, y *dist.Vector) {
	w.axpbyComplex(complex(a, 0), x, complex(b, 0), y)
}

func (w *work) axpbyComplex(a complex128, x *dist.Vector, b complex128, y *dist.Vector) {
	if w.err == nil {
		w.err = dist.AxpbyComplex(a, x, b, y)
	}
}

func (w *work) copy(dst, src *dist.Vector) {
	if w.err == nil {
		w.err = dist.Copy(dst, src)
	}
}

// dots are the inner products of the pairs, with one collective.
func (w *work) dots(pairs ...pair) []complex128 {
	var dots []complex128
	if w.err == nil {
		dots, w.err = dist.Dots(pairs...)
	}
	if w.err != nil {
		return make([]complex128, len(pairs))
	}
	return dots
}

// norm is ‖v‖.
func (w *work) norm(v *dist.Vector) (n float64) {
	if w.err == nil {
		n, w.err = dist.Norm(v)
	}
	return n
}

// square is ‖v‖².
func (w *work) square(v *dist.Vector) float64 { return real(w.dots(pair{v, v})[0]) }

// make fills the given pointers with vectors made by f.
func (w *work) make(f func() (*dist.Vector, error), to ...**dist.Vector) {
	for _, p := range to {
		if w.err == nil {
			*p, w.err = f()
		}
	}
}
