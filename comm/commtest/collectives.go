package commtest

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

func identity(c comm.Comm) error {
	switch {
	case c.Name() == "":
		return fmt.Errorf("no name")
	case c.Rank() < 0 || c.Rank() >= c.Size():
		return fmt.Errorf("rank is %d of %d", c.Rank(), c.Size())
	case c != comm.Comm(c): // panics where it is not comparable
		return fmt.Errorf("not equal to itself")
	}
	// Every rank is there once.
	x := make([]float64, c.Size())
	x[c.Rank()] = 1
	if err := c.Host().AllReduce(x, comm.Sum); err != nil {
		return err
	}
	for r, n := range x {
		if n != 1 {
			return fmt.Errorf("rank %d is there %g times", r, n)
		}
	}
	return nil
}

// A reduction sums a buffer over all ranks in one of a communicator's ways.
type reduction func(x device.Buf) error

func startAndWait(c comm.Comm) reduction {
	return func(x device.Buf) error {
		r, err := c.StartAllReduce(x)
		if err != nil {
			return err
		}
		return r.Wait()
	}
}

// everySum sums buffers of all types and lengths.
func everySum(c comm.Comm, sum reduction) error {
	for _, t := range types {
		for _, n := range lengths {
			x := buffer(t, c.Rank(), 0, n)
			if err := sum(x); err != nil {
				return err
			}
			if err := holdsSum("sum", x, c.Size(), 0); err != nil {
				return err
			}
		}
	}
	return nil
}

func allReduce(c comm.Comm) error { return everySum(c, c.AllReduce) }

func started(c comm.Comm) error { return everySum(c, startAndWait(c)) }

func allReduceSlice(c comm.Comm) error {
	x := []float32{1, 2, 3, 4, 5}
	b := device.Wrap(device.NewHost(1), x)
	if err := c.AllReduce(b.Slice(1, 3)); err != nil {
		return err
	}
	n := float32(c.Size())
	for i, want := range []float32{1, 2 * n, 3 * n, 4 * n, 5} {
		if x[i] != want {
			return fmt.Errorf("element %d is %g, want %g", i, x[i], want)
		}
	}
	return nil
}

// inexact are numbers whose sum depends on the order of the additions.
func inexact(rank, n int) []float32 {
	return fill(n, func(i int) float32 {
		return float32(math.Sin(float64(i*(rank+3))) * math.Pow(10, float64(rank%5)))
	})
}

// sameEverywhere compares the bits of x over all ranks.
func sameEverywhere(c comm.Comm, what string, x []float32) error {
	bits := make([]byte, 0, 4*len(x))
	for _, v := range x {
		b := math.Float32bits(v)
		bits = append(bits, byte(b), byte(b>>8), byte(b>>16), byte(b>>24))
	}
	first, err := comm.FromFirst(c, bits)
	if err != nil {
		return err
	}
	if string(first) != string(bits) {
		err = fmt.Errorf("%s: bits differ from rank 0's", what)
	}
	return all(c, err)
}

// sameBits sums numbers whose sum depends on the order.
func sameBits(c comm.Comm) error {
	x, y := inexact(c.Rank(), 4099), make([]float64, 61)
	for i := range y {
		y[i] = math.Sin(float64(i*(c.Rank()+5))) * math.Pow(10, float64(c.Rank()%7))
	}
	if err := c.AllReduce(device.Wrap(device.NewHost(1), x)); err != nil {
		return err
	}
	if err := c.Host().AllReduce(y, comm.Sum); err != nil {
		return err
	}
	// The halves of each float64, taken as the bits of two float32.
	for _, v := range y {
		b := math.Float64bits(v)
		x = append(x, math.Float32frombits(uint32(b)), math.Float32frombits(uint32(b>>32)))
	}
	return sameEverywhere(c, "sum", x)
}

// sameBitsUnderWay asks of non-blocking sums what sameBits asks of the others.
func sameBitsUnderWay(c comm.Comm) error {
	for _, n := range []int{3, 4099, 40009} {
		x := inexact(c.Rank(), n)
		if err := startAndWait(c)(device.Wrap(device.NewHost(1), x)); err != nil {
			return err
		}
		if err := sameEverywhere(c, fmt.Sprintf("non-blocking sum of %d", n), x); err != nil {
			return err
		}
	}
	return nil
}

func carriesNaN(c comm.Comm) error {
	x := []float32{1, 1, 1}
	y := []float64{1, 1}
	if c.Rank() == c.Size()-1 {
		x[1] = float32(math.NaN())
		x[2] = float32(math.Inf(1))
		y[0] = math.NaN()
	}
	if err := c.AllReduce(device.Wrap(device.NewHost(1), x)); err != nil {
		return err
	}
	if err := c.Host().AllReduce(y, comm.Sum); err != nil {
		return err
	}
	n := float64(c.Size())
	if float64(x[0]) != n || x[1] == x[1] || !math.IsInf(float64(x[2]), 1) || y[0] == y[0] || y[1] != n {
		return fmt.Errorf("sums are %v and %v, want [%g NaN +Inf] and [NaN %g]", x, y, n, n)
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
			r, err := c.StartAllReduce(x.Slice(k*piece, piece))
			if err != nil {
				return err
			}
			requests = append(requests, r)
			if err := agree(c); err != nil {
				return err
			}
		}
		y := buffer(device.F64, c.Rank(), 3, 100)
		if err := c.AllReduce(y); err != nil {
			return err
		}
		if err := holdsSum("blocking sum meanwhile", y, c.Size(), 3); err != nil {
			return err
		}
		slices.Reverse(requests)
		for _, r := range requests {
			if err := r.Wait(); err != nil {
				return err
			}
		}
		if err := holdsSum("sum in pieces", x, c.Size(), 0); err != nil {
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
		// A message from each of the others says that it has begun.
		for from := range c.Size() {
			if c.Rank() != late || from == late {
				continue
			}
			if err := c.SendRecv(nil, comm.None, buffer(device.F32, 0, 0, 1), from); err != nil {
				return err
			}
		}
		x, y := buffer(device.C64, c.Rank(), 0, 70001), buffer(device.I64, c.Rank(), 5, 300)
		rx, err := c.StartAllReduce(x)
		if err != nil {
			return err
		}
		ry, err := other.StartAllReduce(y)
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
		if err := holdsSum("late sum", x, c.Size(), 0); err != nil {
			return err
		}
		if err := holdsSum("late sum of whole numbers", y, c.Size(), 5); err != nil {
			return err
		}
	}
	return nil
}

// oneSided sums by writing into other ranks' memory, where a communicator can:
// vectors of one length in a row, of other lengths and types, and of a part of
// the ranks.
func oneSided(c comm.Comm) error {
	part, err := c.Split(c.Rank()%2, 0)
	if err != nil {
		return err
	}
	for _, c := range []comm.Comm{c, part} {
		o, ok := c.(comm.OneSided)
		if !ok {
			return nil
		}
		for _, t := range types {
			sizes := []int{1000}
			if t == device.F32 {
				sizes = []int{0, 1, 1000, 1000, 1<<15 + 1}
			}
			for _, n := range sizes {
				x := buffer(t, c.Rank(), 0, n)
				if err := o.Accumulate(x); err != nil {
					return err
				}
				if err := holdsSum("one-sided sum", x, c.Size(), 0); err != nil {
					return err
				}
			}
		}
		x := inexact(c.Rank(), 4099)
		x[7] = float32(math.NaN())
		if c.Rank() > 0 {
			x[7] = 1
		}
		if err := o.Accumulate(device.Wrap(device.NewHost(1), x)); err != nil {
			return err
		}
		if x[7] == x[7] {
			return fmt.Errorf("one-sided sum lost a NaN")
		}
		x[7] = 0
		if err := sameEverywhere(c, "one-sided sum", x); err != nil {
			return err
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

func allGather(c comm.Comm) error {
	for _, counts := range shares(c.Size()) {
		first := make([]int, c.Size()+1) // where each rank's share begins
		for r, n := range counts {
			first[r+1] = first[r] + n
		}
		for _, t := range types {
			src, dst := buffer(t, c.Rank(), first[c.Rank()], counts[c.Rank()]), buffer(t, 99, 0, first[c.Size()])
			if err := c.AllGather(dst, src, counts); err != nil {
				return err
			}
			for r, n := range counts {
				if err := holds(fmt.Sprintf("%v: part of rank %d", counts, r), dst.Slice(first[r], n), r, first[r]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func broadcast(c comm.Comm) error {
	for root := range c.Size() {
		for _, n := range lengths {
			for _, t := range []device.Type{device.F32, device.C128} {
				x := buffer(t, c.Rank(), 0, n)
				if err := c.Bcast(x, root); err != nil {
					return err
				}
				if err := holds(fmt.Sprintf("broadcast from rank %d", root), x, root, 0); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func nowhere(c comm.Comm) error {
	for _, root := range []int{-1, c.Size()} {
		if c.Bcast(device.Wrap(device.NewHost(1), []float32{1}), root) == nil {
			return fmt.Errorf("broadcast from rank %d of %d gave no error", root, c.Size())
		}
	}
	return nil
}
