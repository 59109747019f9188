package dist

import (
	"context"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// FirstDerivative is the centred first derivative along an axis,
//
//	y[i] = (x[i+1] − x[i−1]) / (2 h),
//
// zero at both ends, over an array with the given grid spacing h that may be split
// along axis 0 in whole rows, in any order of ranks and with ranks that hold none.
// Elements are real or complex of either precision; domain and range are l. Along
// axis 0 an application exchanges one row with each neighbour. Stencil and ends are
// those of PyLops' FirstDerivative(kind="centered", edge=False).
//
// It is a collective over the Shards; its errors, which name what is wrong with the
// layout, axis or spacing, are the same on all of them. It works on the host, and
// on devices that are a Stenciler.
func FirstDerivative(l *Layout, axis int, h float64) (Operator, error) {
	return newDerivative(l, axis, h, [3]float64{-1 / (2 * h), 0, 1 / (2 * h)})
}

// SecondDerivative is the centred second derivative along an axis,
//
//	y[i] = (x[i+1] − 2 x[i] + x[i−1]) / h²,
//
// zero at both ends; all else is as for FirstDerivative.
func SecondDerivative(l *Layout, axis int, h float64) (Operator, error) {
	w := 1 / (h * h)
	return newDerivative(l, axis, h, [3]float64{w, -2 * w, w})
}

// Laplacian is the sum of the second derivatives along all axes, each zero at the
// ends of its own axis, for one grid spacing per axis.
func Laplacian(l *Layout, h ...float64) (Operator, error) {
	if len(h) != len(l.Shape) {
		return nil, fmt.Errorf("dist: %d grid spacings for a Laplacian of %v", len(h), l)
	}
	ops := make([]Operator, len(h))
	for axis := range h {
		var err error
		if ops[axis], err = SecondDerivative(l, axis, h[axis]); err != nil {
			return nil, err
		}
	}
	return Sum(ops...), nil
}

type derivative struct {
	l             *Layout
	s             Stencil
	split         bool       // the array is split along the axis
	lower, upper  int        // ranks that hold the rows before and after, or comm.None
	before, after device.Buf // what they send, allocated at the first application
}

func newDerivative(l *Layout, axis int, h float64, w [3]float64) (Operator, error) {
	if l.Parts != nil || axis < 0 || axis >= len(l.Shape) {
		return nil, fmt.Errorf("dist: derivative of %v along axis %d", l, axis)
	}
	if !(h > 0) || math.IsInf(h, 0) {
		return nil, fmt.Errorf("dist: derivative with a grid spacing of %g, must be finite and above 0", h)
	}
	all, err := l.spread()
	if err != nil {
		return nil, err
	}
	row := l.row()
	for _, s := range all {
		if s.n > 0 && (s.off%row != 0 || s.n%row != 0) {
			return nil, fmt.Errorf("dist: derivative of %v, of which rank %d holds elements %d to %d: no whole rows of %d",
				l, s.rank, s.off, s.off+s.n, row)
		}
	}
	d := &derivative{l: l, split: axis == 0, lower: comm.None, upper: comm.None}
	d.s = Stencil{Outer: 1, N: l.Shape[axis], Inner: 1, Of: l.Shape[axis], W: w}
	for _, n := range l.Shape[axis+1:] {
		d.s.Inner *= n
	}
	if l.N == 0 {
		return d, nil
	}
	if axis > 0 {
		d.s.Outer = l.N / (d.s.N * d.s.Inner)
		return d, nil
	}
	d.s.First, d.s.N = l.Off/row, l.N/row
	d.lower, d.upper = neighbours(all, l.Shards.Rank())
	return d, nil
}

// neighbours are the ranks that hold something just before and after a rank that
// holds something itself.
func neighbours(all []holding, rank int) (lower, upper int) {
	lower, upper = comm.None, comm.None
	passed := false
	for _, s := range all {
		switch {
		case s.rank == rank:
			passed = true
		case s.n == 0:
		case !passed:
			lower = s.rank
		default:
			return lower, s.rank
		}
	}
	return lower, upper
}

func (d *derivative) Domain() *Layout { return d.l }
func (d *derivative) Range() *Layout  { return d.l }

func (d *derivative) Apply(_ context.Context, dst, src *Vector) error {
	return d.apply(dst, src, false)
}

func (d *derivative) ApplyAdjoint(_ context.Context, dst, src *Vector) error {
	return d.apply(dst, src, true)
}

func (d *derivative) apply(dst, src *Vector, adjoint bool) error {
	mustEqual("derivative", d.l, dst.Layout)
	mustEqual("derivative", d.l, src.Layout)
	if err := d.exchange(src.Buf); err != nil || d.l.N == 0 {
		return err
	}
	s := d.s
	s.Adjoint = adjoint
	return apply(s, dst.Buf, src.Buf, d.before, d.after)
}

// exchange gets the rows before and after this rank's: all ranks send upwards,
// then downwards. Ranks without rows take part with nothing.
func (d *derivative) exchange(x device.Buf) error {
	if !d.split || d.l.Shards.Size() == 1 {
		return nil
	}
	var first, last device.Buf
	row := d.s.Inner
	for _, e := range []struct {
		rank     int
		mine     *device.Buf
		from     int
		received *device.Buf
	}{{d.lower, &first, 0, &d.before}, {d.upper, &last, x.Len() - row, &d.after}} {
		if e.rank == comm.None {
			continue
		}
		*e.mine = x.Slice(e.from, row)
		if *e.received == nil {
			var err error
			if *e.received, err = x.Device().Alloc(row, x.Type()); err != nil {
				return err
			}
		}
	}
	if err := d.l.Shards.SendRecv(last, d.upper, d.before, d.lower); err != nil {
		return err
	}
	return d.l.Shards.SendRecv(first, d.lower, d.after, d.upper)
}
