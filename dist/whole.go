package dist

import (
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Whole is a function that sets this rank's share of a destination from all of a
// source, both real and in single precision on the host.
type Whole func(dst, src []float32)

// FromWhole makes an operator of two such functions, of which the second is the
// transpose of the first. Every application brings the whole source to every rank;
// the result does not depend on how domain and range, both leaves, are split if that
// of the functions does not. All of a source must be in the order of the ranks.
func FromWhole(domain, rng *Layout, forward, adjoint Whole) (Operator, error) {
	var all, part []float32 // scratch
	through := func(f Whole, from *Layout) (func(w *Work, dst, src *Vector), error) {
		counts, err := from.counts()
		var gathered device.Buf // scratch, on more than one rank
		return func(w *Work, dst, src *Vector) {
			w.Do(func() (err error) {
				if all, err = wholeOf(all, src, counts, &gathered); err != nil {
					return err
				}
				part = slices.Grow(part[:0], dst.Layout.N)[:dst.Layout.N]
				f(part, all)
				return device.Upload(dst.Buf, part)
			})
		}, err
	}
	there, err := through(forward, domain)
	if err != nil {
		return nil, err
	}
	back, err := through(adjoint, rng)
	return Map("whole", domain, rng, there, back), err
}

// counts are the elements that each rank of a leaf's Shards holds.
func (l *Layout) counts() ([]int, error) {
	all, err := l.spread()
	if err != nil {
		return nil, err
	}
	n, at := make([]int, len(all)), make([]int, len(all))
	for _, h := range all {
		n[h.rank], at[h.rank] = h.n, h.off
	}
	next := 0
	for r, n := range n {
		if n > 0 && at[r] != next {
			return nil, fmt.Errorf("dist: rank %d holds elements from %d on of %v, where %d would be in order", r, at[r], l, next)
		}
		next += n
	}
	return n, nil
}

// wholeOf is all of a leaf, on every rank, in out's memory if that suffices and by way of
// a buffer that is made at the first call.
func wholeOf(out []float32, v *Vector, counts []int, gathered *device.Buf) ([]float32, error) {
	buf := v.Buf
	if len(counts) > 1 {
		if *gathered == nil {
			var err error
			if *gathered, err = buf.Device().Alloc(v.Layout.Size(), v.Layout.Type); err != nil {
				return nil, err
			}
		}
		buf = *gathered
		if err := v.Layout.Shards.AllGather(buf, v.Buf, counts); err != nil {
			return nil, err
		}
	}
	out = slices.Grow(out[:0], buf.Len())[:buf.Len()]
	return out, device.Download(out, buf)
}

// Gathered is all of a leaf of real elements, on every rank.
func Gathered(v *Vector) ([]float32, error) {
	counts, err := v.Layout.counts()
	if err != nil {
		return nil, err
	}
	var buf device.Buf
	out, err := wholeOf(nil, v, counts, &buf)
	if buf != nil {
		buf.Device().Free(buf)
	}
	return out, err
}
