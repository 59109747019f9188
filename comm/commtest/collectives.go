package commtest

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

func identity(c comm.Comm) {
	switch {
	case c.Name() == "":
		failf("no name")
	case c.Rank() < 0 || c.Rank() >= c.Size():
		failf("rank is %d of %d", c.Rank(), c.Size())
	case c != comm.Comm(c): // panics where it is not comparable
		failf("not equal to itself")
	}
	// Every rank is there once.
	x := make([]float64, c.Size())
	x[c.Rank()] = 1
	try(c.Host().AllReduce(x, comm.Sum))
	for r, n := range x {
		if n != 1 {
			failf("rank %d is there %g times", r, n)
		}
	}
}

// A reduction sums a buffer over all ranks in one of a communicator's ways.
type reduction func(x device.Buf) error

func startAndWait(c comm.Comm) reduction {
	return func(x device.Buf) error {
		return must(c.StartAllReduce(x)).Wait()
	}
}

// everySum sums buffers of all types and lengths.
func everySum(c comm.Comm, sum reduction) {
	for _, t := range types {
		for _, n := range lengths {
			x := buffer(t, c.Rank(), 0, n)
			try(sum(x))
			holdsSum("sum", x, c.Size(), 0)
		}
	}
}

func allReduce(c comm.Comm) { everySum(c, c.AllReduce) }

func started(c comm.Comm) { everySum(c, startAndWait(c)) }

func allReduceSlice(c comm.Comm) {
	x := []float32{1, 2, 3, 4, 5}
	b := device.Wrap(device.NewHost(1), x)
	try(c.AllReduce(b.Slice(1, 3)))
	n := float32(c.Size())
	for i, want := range []float32{1, 2 * n, 3 * n, 4 * n, 5} {
		if x[i] != want {
			failf("element %d is %g, want %g", i, x[i], want)
		}
	}
}

// inexact are numbers whose sum depends on the order of the additions.
func inexact(rank, n int) []float32 {
	return fill(n, func(i int) float32 {
		return float32(math.Sin(float64(i*(rank+3))) * math.Pow(10, float64(rank%5)))
	})
}

// sameEverywhere compares the bits of x over all ranks.
func sameEverywhere[T device.Number](c comm.Comm, what string, x []T) {
	bits := device.Memory(device.Wrap(device.NewHost(1), x))
	first := must(comm.FromFirst(c, bits))
	all(c, func() {
		if string(first) != string(bits) {
			failf("%s: bits differ from rank 0's", what)
		}
	})
}

// sameBits sums numbers whose sum depends on the order.
func sameBits(c comm.Comm) {
	x, y := inexact(c.Rank(), 4099), make([]float64, 61)
	for i := range y {
		y[i] = math.Sin(float64(i*(c.Rank()+5))) * math.Pow(10, float64(c.Rank()%7))
	}
	try(c.AllReduce(device.Wrap(device.NewHost(1), x)))
	try(c.Host().AllReduce(y, comm.Sum))
	sameEverywhere(c, "sum", x)
	sameEverywhere(c, "sum of host values", y)
}

// sameBitsUnderWay is sameBits for non-blocking sums.
func sameBitsUnderWay(c comm.Comm) {
	for _, n := range []int{3, 4099, 40009} {
		x := inexact(c.Rank(), n)
		try(startAndWait(c)(device.Wrap(device.NewHost(1), x)))
		sameEverywhere(c, fmt.Sprintf("non-blocking sum of %d", n), x)
	}
}

func carriesNaN(c comm.Comm) {
	x := []float32{1, 1, 1}
	y := []float64{1, 1}
	if c.Rank() == c.Size()-1 {
		x[1] = float32(math.NaN())
		x[2] = float32(math.Inf(1))
		y[0] = math.NaN()
	}
	try(c.AllReduce(device.Wrap(device.NewHost(1), x)))
	try(c.Host().AllReduce(y, comm.Sum))
	n := float64(c.Size())
	if float64(x[0]) != n || x[1] == x[1] || !math.IsInf(float64(x[2]), 1) || y[0] == y[0] || y[1] != n {
		failf("sums are %v and %v, want [%g NaN +Inf] and [NaN %g]", x, y, n, n)
	}
}

// underWay has several all-reduces under way, of pieces of one buffer, while
// other collectives run, and waits for them last first.
func underWay(c comm.Comm) {
	const piece, pieces = 5000, 6
	for range 3 {
		x := buffer(device.F32, c.Rank(), 0, piece*pieces)
		var requests []comm.Request
		for k := range pieces {
			r := must(c.StartAllReduce(x.Slice(k*piece, piece)))
			requests = append(requests, r)
			agree(c)
		}
		y := buffer(device.F64, c.Rank(), 3, 100)
		try(c.AllReduce(y))
		holdsSum("blocking sum meanwhile", y, c.Size(), 3)
		slices.Reverse(requests)
		for _, r := range requests {
			try(r.Wait())
		}
		holdsSum("sum in pieces", x, c.Size(), 0)
	}
}

// outOfStep has one rank start two all-reduces, on two communicators, while the other
// ranks already wait for them.
func outOfStep(c comm.Comm) {
	other := must(c.Split(0, -c.Rank()))
	for late := range c.Size() {
		// A message from each of the others says that it has begun.
		for from := range c.Size() {
			if c.Rank() != late || from == late {
				continue
			}
			try(c.SendRecv(nil, comm.None, buffer(device.F32, 0, 0, 1), from))
		}
		x, y := buffer(device.F64, c.Rank(), 0, 70001), buffer(device.I64, c.Rank(), 5, 300)
		rx := must(c.StartAllReduce(x))
		ry := must(other.StartAllReduce(y))
		if c.Rank() != late {
			try(c.SendRecv(buffer(device.F32, 0, 0, 1), late, nil, comm.None))
		}
		try(rx.Wait())
		try(ry.Wait())
		holdsSum("late sum", x, c.Size(), 0)
		holdsSum("late sum of whole numbers", y, c.Size(), 5)
	}
}

// oneSided sums by writing into the memory of other ranks, on communicators that can. It
// sums several vectors of one length in a row, then vectors of other lengths and types,
// and vectors over a part of the ranks.
func oneSided(c comm.Comm) {
	part := must(c.Split(c.Rank()%2, 0))
	for _, c := range []comm.Comm{c, part} {
		o, ok := c.(comm.OneSided)
		if !ok {
			return
		}
		for _, t := range types {
			sizes := []int{1000}
			if t == device.F32 {
				sizes = []int{0, 1, 1000, 1000, 1<<15 + 1}
			}
			for _, n := range sizes {
				x := buffer(t, c.Rank(), 0, n)
				try(o.Accumulate(x))
				holdsSum("one-sided sum", x, c.Size(), 0)
			}
		}
		x := inexact(c.Rank(), 4099)
		x[7] = float32(math.NaN())
		if c.Rank() > 0 {
			x[7] = 1
		}
		try(o.Accumulate(device.Wrap(device.NewHost(1), x)))
		if x[7] == x[7] {
			failf("one-sided sum lost a NaN")
		}
		x[7] = 0
		sameEverywhere(c, "one-sided sum", x)
	}
}

// shares lists ways to divide elements among ranks, with and without ranks that get none.
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

func allGather(c comm.Comm) {
	for _, counts := range shares(c.Size()) {
		first := make([]int, c.Size()+1) // where each rank's share begins
		for r, n := range counts {
			first[r+1] = first[r] + n
		}
		for _, t := range types {
			src, dst := buffer(t, c.Rank(), first[c.Rank()], counts[c.Rank()]), buffer(t, 99, 0, first[c.Size()])
			try(c.AllGather(dst, src, counts))
			for r, n := range counts {
				holds(fmt.Sprintf("%v: part of rank %d", counts, r), dst.Slice(first[r], n), r, first[r])
			}
		}
	}
}

func broadcast(c comm.Comm) {
	for root := range c.Size() {
		for _, n := range lengths {
			for _, t := range []device.Type{device.F32, device.F64} {
				x := buffer(t, c.Rank(), 0, n)
				try(c.Bcast(x, root))
				holds(fmt.Sprintf("broadcast from rank %d", root), x, root, 0)
			}
		}
	}
}

func nowhere(c comm.Comm) {
	for _, root := range []int{-1, c.Size()} {
		if c.Bcast(device.Wrap(device.NewHost(1), []float32{1}), root) == nil {
			failf("broadcast from rank %d of %d gave no error", root, c.Size())
		}
	}
}
