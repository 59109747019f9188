package commtest

import (
	"bytes"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
)

func hostAllReduce(c comm.Comm) {
	for _, n := range []int{0, 1, 3, 1000} {
		for _, op := range []comm.Op{comm.Sum, comm.Max} {
			x := fill(n, func(i int) float64 { return sample(c.Rank(), i) })
			try(c.Host().AllReduce(x, op))
			for i, v := range x {
				want := total(c.Size(), i)
				if op == comm.Max {
					want = slices.Max(fill(c.Size(), func(r int) float64 { return sample(r, i) }))
				}
				if v != want {
					failf("%v of %d values: value %d is %g, want %g", op, n, i, v, want)
				}
			}
		}
	}
}

// hostMaxCarriesNaN puts a NaN on each rank in turn. It also compares zeros of both
// signs: +0 counts as the larger.
func hostMaxCarriesNaN(c comm.Comm) {
	for odd := range c.Size() {
		x := []float64{1, math.Copysign(0, -1), 2}
		if c.Rank() == odd {
			x[0], x[1] = math.NaN(), 0
		}
		try(c.Host().AllReduce(x, comm.Max))
		if x[0] == x[0] || x[1] != 0 || math.Signbit(x[1]) || x[2] != 2 {
			failf("max with a NaN on rank %d is %v, want [NaN 0 2]", odd, x)
		}
	}
}

// fromFirst sends messages whose length only rank 0 knows.
func fromFirst(c comm.Comm) {
	for _, n := range []int{0, 1, 5, 70000} {
		want := bytes.Repeat([]byte{7}, n)
		mine := []byte{99, 98, 97}
		if c.Rank() == 0 {
			mine = want
		}
		got := must(comm.FromFirst(c, mine))
		if !bytes.Equal(got, want) {
			failf("from rank 0: %d bytes came, want %d", len(got), n)
		}
	}
}

// hostAllGather brings messages of all lengths together, none included.
func hostAllGather(c comm.Comm) {
	for _, scale := range []int{0, 1, 30000} {
		message := func(r int) []byte { return bytes.Repeat([]byte{byte(r + 1)}, scale*((r+1)%3)) }
		got := must(c.Host().AllGather(message(c.Rank())))
		if len(got) != c.Size() {
			failf("%d messages of %d ranks", len(got), c.Size())
		}
		for r, b := range got {
			if !bytes.Equal(b, message(r)) {
				failf("%d bytes of rank %d, want %d of %d", len(b), r, len(message(r)), r+1)
			}
		}
	}
}

func agree(c comm.Comm) {
	// The topmost bit too: flags are a set, not a number.
	got := must(c.Host().Agree(1<<(c.Rank()%63) | 1<<63))
	want := uint64(1 << 63)
	for r := range c.Size() {
		want |= 1 << (r % 63)
	}
	if got != want {
		failf("agreed on %#x, want %#x", got, want)
	}
	if got := must(c.Host().Agree(0)); got != 0 {
		failf("agreed on %#x with no flags set", got)
	}
}
