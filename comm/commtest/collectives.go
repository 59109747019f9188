package commtest

import (
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// started begins an all-reduce and ends it at once, for all types and lengths.
func started(c comm.Comm) error {
	for _, t := range types {
		for _, op := range ops(t) {
			for _, n := range lengths {
				x := buffer(t, c.Rank(), 0, n)
				r, err := c.StartAllReduce(x, op)
				if err != nil {
					return err
				}
				if err := r.Wait(); err != nil {
					return err
				}
				if err := holdsAll(op.String(), x, c.Size(), 0, op); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// underWay has several all-reduces under way, of pieces of one buffer, while
// other collectives run, and waits for them last first.
func underWay(c comm.Comm) error {
	const piece, pieces = 5000, 6
	for range 3 {
		x := buffer(device.F32, c.Rank(), 0, piece*pieces)
		var requests []comm.Request
		for k := range pieces {
			r, err := c.StartAllReduce(x.Slice(k*piece, piece), comm.Sum)
			if err != nil {
				return err
			}
			requests = append(requests, r)
			if err := agree(c); err != nil {
				return err
			}
		}
		y := buffer(device.F64, c.Rank(), 3, 100)
		if err := c.AllReduce(y, comm.Max); err != nil {
			return err
		}
		if err := holdsAll("blocking max meanwhile", y, c.Size(), 3, comm.Max); err != nil {
			return err
		}
		slices.Reverse(requests)
		for _, r := range requests {
			if err := r.Wait(); err != nil {
				return err
			}
		}
		if err := holdsAll("sum in pieces", x, c.Size(), 0, comm.Sum); err != nil {
			return err
		}
	}
	return nil
}

// outOfStep has one rank begin two all-reduces when the others are waiting for
// them already, on two communicators.
func outOfStep(c comm.Comm) error {
	other, err := c.Split(0, -c.Rank())
	if err != nil {
		return err
	}
	for late := range c.Size() {
		if c.Rank() == late {
			// A message from each of the others says that it has begun.
			for from := range c.Size() {
				if from == late {
					continue
				}
				if err := c.SendRecv(nil, comm.None, buffer(device.F32, 0, 0, 1), from); err != nil {
					return err
				}
			}
		}
		x, y := buffer(device.C64, c.Rank(), 0, 70001), buffer(device.I64, c.Rank(), 5, 300)
		rx, err := c.StartAllReduce(x, comm.Sum)
		if err != nil {
			return err
		}
		ry, err := other.StartAllReduce(y, comm.Min)
		if err != nil {
			return err
		}
		if c.Rank() != late {
			if err := c.SendRecv(buffer(device.F32, 0, 0, 1), late, nil, comm.None); err != nil {
				return err
			}
		}
		if err := rx.Wait(); err != nil {
			return err
		}
		if err := ry.Wait(); err != nil {
			return err
		}
		if err := holdsAll("late sum", x, c.Size(), 0, comm.Sum); err != nil {
			return err
		}
		if err := holdsAll("late min", y, c.Size(), 5, comm.Min); err != nil {
			return err
		}
	}
	return nil
}

func reduce(c comm.Comm) error {
	for root := range c.Size() {
		for _, t := range types {
			for _, op := range ops(t) {
				sizes := []int{7}
				if t == device.F32 {
					sizes = []int{0, 1 << 15}
				}
				for _, n := range sizes {
					x := buffer(t, c.Rank(), 0, n)
					if err := c.Reduce(x, op, root); err != nil {
						return err
					}
					if c.Rank() != root {
						continue
					}
					if err := holdsAll(fmt.Sprintf("%v at rank %d", op, root), x, c.Size(), 0, op); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// shares are ways to divide elements among ranks, with and without empty hands.
func shares(size int) [][]int {
	var equal, rising, gaps, last []int
	for r := range size {
		equal = append(equal, 100)
		rising = append(rising, r)
		gaps = append(gaps, (r%2)*33000)
		last = append(last, 0)
	}
	last[size-1] = 7
	return [][]int{equal, rising, gaps, last, make([]int, size)}
}

// bounds is where a rank's share begins, and how long all are together.
func bounds(counts []int, rank int) (first, whole int) {
	for r, n := range counts {
		if r < rank {
			first += n
		}
		whole += n
	}
	return first, whole
}

func allGather(c comm.Comm) error {
	for _, counts := range shares(c.Size()) {
		first, whole := bounds(counts, c.Rank())
		for _, t := range types {
			src, dst := buffer(t, c.Rank(), first, counts[c.Rank()]), buffer(t, 99, 0, whole)
			if err := c.AllGather(dst, src, counts); err != nil {
				return err
			}
			for r, n := range counts {
				first, _ := bounds(counts, r)
				if err := holds(fmt.Sprintf("%v: part of rank %d", counts, r), dst.Slice(first, n), r, first); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func reduceScatter(c comm.Comm) error {
	for _, counts := range shares(c.Size()) {
		first, whole := bounds(counts, c.Rank())
		for _, t := range types {
			for _, op := range ops(t) {
				src, dst := buffer(t, c.Rank(), 0, whole), buffer(t, 99, 0, counts[c.Rank()])
				if err := c.ReduceScatter(dst, src, counts, op); err != nil {
					return err
				}
				if err := holdsAll(fmt.Sprintf("%v %v", op, counts), dst, c.Size(), first, op); err != nil {
					return err
				}
				if err := holds("what was given", src, c.Rank(), 0); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
