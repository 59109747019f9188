package dist

import (
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Whole sets this rank's share of a destination from all of a source. Both are real, in
// single precision and on the host.
type Whole func(dst, src []float32)

// FromWhole makes an operator from two such functions, of which adjoint is the transpose
// of forward. Domain and range are leaves whose elements lie in the order of the ranks.
// Every application gathers the whole source on every rank. The result does not depend on
// how domain and range are split, provided that the functions' results do not.
func FromWhole(domain, rng *Layout, forward, adjoint Whole) Operator {
	var all, part []float32 // scratch
	through := func(f Whole) func(w *Work, dst, src *Vector) {
		return func(w *Work, dst, src *Vector) {
			w.Do(func() (err error) {
				if all, err = Gathered(all, src); err != nil {
					return err
				}
				part = slices.Grow(part[:0], dst.Layout.N)[:dst.Layout.N]
				f(part, all)
				return device.Upload(dst.Buf, part)
			})
		}
	}
	return Map("whole", domain, rng, through(forward), through(adjoint))
}

// Gathered returns all elements of a real leaf on every rank, in the memory of dst if it
// suffices. The elements must lie in the order of the ranks.
func Gathered(dst []float32, v *Vector) ([]float32, error) {
	counts, err := v.Layout.counts()
	if err != nil {
		return nil, err
	}
	buf := v.Buf
	if len(counts) > 1 {
		if buf, err = v.Device().Alloc(v.Layout.Size(), v.Layout.Type); err != nil {
			return nil, err
		}
		defer v.Device().Free(buf)
		if err := v.Layout.Shards.AllGather(buf, v.Buf, counts); err != nil {
			return nil, err
		}
	}
	dst = slices.Grow(dst[:0], buf.Len())[:buf.Len()]
	return dst, device.Download(dst, buf)
}

// counts returns the number of elements that each rank of a leaf's Shards holds.
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
