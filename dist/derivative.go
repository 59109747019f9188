package dist

import (
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// The derivatives in this file are differences of neighbours along an axis, in grid
// steps. They are zero at both ends of their axis. The array may be split along axis 0 in
// whole rows, in any order of ranks, and some ranks may hold none. Elements are in either
// precision; domain and range have the same layout. Along axis 0 an application exchanges
// one row with each neighbour.
//
// Their constructors are collectives over the Shards. Errors name what is wrong with the
// layout or axis and are the same on all ranks.

// The weights of x[i−1], x[i] and x[i+1].
var (
	difference = [3]float64{0, -1, 1}
	mean       = [3]float64{0, 0.5, 0.5}
)

// Difference is y[i] = x[i+1] − x[i] along an axis. Unlike a centred derivative it sees
// what alternates from point to point.
func Difference(l *Layout, axis int) (Operator, error) { return newDerivative(l, axis, difference) }

// operators makes one along each of some axes.
func operators(along []int, of func(axis int) (Operator, error)) (ops []Operator, err error) {
	for _, axis := range along {
		op, err := of(axis)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// axes lists the axes of a leaf of at least three points.
func axes(l *Layout) (list []int) {
	for axis, n := range l.Shape {
		if n >= 3 {
			list = append(list, axis)
		}
	}
	return list
}

type derivative struct {
	l             *Layout
	s             device.Stencil
	split         bool       // the array is split along the axis
	lower, upper  int        // ranks that hold the rows before and after, or comm.None
	before, after device.Buf // what they send, allocated at the first application
}

// newDerivative is y[i] = w[0] x[i−1] + w[1] x[i] + w[2] x[i+1].
func newDerivative(l *Layout, axis int, w [3]float64) (Operator, error) {
	if l.Parts != nil || axis < 0 || axis >= len(l.Shape) {
		return nil, fmt.Errorf("dist: derivative of %v along axis %d", l, axis)
	}
	all, err := l.spread()
	if err != nil {
		return nil, err
	}
	row := product(l.Shape[1:]) // elements that share an index of axis 0
	for _, s := range all {
		if s.n > 0 && (s.off%row != 0 || s.n%row != 0) {
			return nil, fmt.Errorf("dist: derivative of %v, of which rank %d holds elements %d to %d: no whole rows of %d",
				l, s.rank, s.off, s.off+s.n, row)
		}
	}
	d := &derivative{l: l, split: axis == 0, lower: comm.None, upper: comm.None}
	d.s = device.Stencil{Outer: 1, N: l.Shape[axis], Inner: product(l.Shape[axis+1:]), Of: l.Shape[axis], W: w}
	switch {
	case l.N == 0:
	case axis > 0:
		d.s.Outer = l.N / (d.s.N * d.s.Inner)
	default:
		d.s.First, d.s.N = l.Off/row, l.N/row
		d.lower, d.upper = neighbours(all, l.Shards.Rank())
	}
	return d.operator(), nil
}

// neighbours returns the nearest ranks before and after a rank, in element order, that
// hold elements themselves. The rank must hold some too. It drops the others from all.
func neighbours(all []holding, rank int) (lower, upper int) {
	held := slices.DeleteFunc(all, func(h holding) bool { return h.n == 0 })
	at := slices.IndexFunc(held, func(h holding) bool { return h.rank == rank })
	lower, upper = comm.None, comm.None
	if at > 0 {
		lower = held[at-1].rank
	}
	if at+1 < len(held) {
		upper = held[at+1].rank
	}
	return lower, upper
}

func (d *derivative) operator() Operator {
	apply := func(adjoint bool) func(w *Work, dst, src *Vector) {
		s := d.s
		s.Adjoint = adjoint
		return func(w *Work, dst, src *Vector) {
			w.Do(func() error { return d.exchange(src.Buf) })
			if d.l.N > 0 {
				w.Do(func() error { return dst.Buf.Device().Stencil(s, dst.Buf, src.Buf, d.before, d.after) })
			}
		}
	}
	return Map("derivative", d.l, d.l, apply(false), apply(true))
}

// exchange fetches the rows before and after this rank's. All ranks send upwards, then
// downwards. Ranks without rows take part without sending anything.
func (d *derivative) exchange(x device.Buf) error {
	if !d.split || d.l.Shards.Size() == 1 {
		return nil
	}
	row := d.s.Inner
	beside := func(rank, from int, received *device.Buf) (mine device.Buf, err error) {
		if rank == comm.None {
			return nil, nil
		}
		if *received == nil {
			*received, err = x.Device().Alloc(row, x.Type())
		}
		return x.Slice(from, row), err
	}
	first, err := beside(d.lower, 0, &d.before)
	if err != nil {
		return err
	}
	last, err := beside(d.upper, x.Len()-row, &d.after)
	if err != nil {
		return err
	}
	if err := d.l.Shards.SendRecv(last, d.upper, d.before, d.lower); err != nil {
		return err
	}
	return d.l.Shards.SendRecv(first, d.lower, d.after, d.upper)
}
