package dist

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device"
)

// FromWhole makes an operator of two kernels, of which adjoint is the transpose of
// forward. Each sets this rank's share of a destination from all of a source. Domain and
// range are real leaves whose elements lie in the order of the ranks. Every application
// gathers the whole source on every rank, where its vector lives. The result does not
// depend on how domain and range are split, provided that the kernels' results do not.
func FromWhole(domain, rng *Layout, forward, adjoint device.Kernel) Operator {
	through := func(k device.Kernel) func(w *Work, dst, src *Vector) {
		var all device.Buf // scratch
		return func(w *Work, dst, src *Vector) {
			w.Do(func() error {
				from, err := gathered(&all, src)
				if err != nil {
					return err
				}
				return dst.Device().Run(k, dst.Buf, from)
			})
		}
	}
	return Map("whole", domain, rng, through(forward), through(adjoint))
}

// gathered returns all elements of a leaf, in a buffer that is made by the first call: on a
// single rank they are the leaf's own.
func gathered(all *device.Buf, v *Vector) (device.Buf, error) {
	counts, err := v.Layout.counts()
	if err != nil || len(counts) == 1 {
		return v.Buf, err
	}
	if *all == nil {
		if *all, err = v.Device().Alloc(v.Layout.Size(), v.Layout.Type); err != nil {
			return nil, err
		}
	}
	return *all, v.Layout.Shards.AllGather(*all, v.Buf, counts)
}

// Gathered returns all elements of a real leaf on every rank, on the host. The elements must
// lie in the order of the ranks.
func Gathered(v *Vector) ([]float32, error) {
	var all device.Buf
	buf, err := gathered(&all, v)
	if err != nil {
		return nil, err
	}
	if all != nil {
		defer v.Device().Free(all)
	}
	dst := make([]float32, buf.Len())
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
