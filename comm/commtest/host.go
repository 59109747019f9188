package commtest

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
)

func hostAllReduce(c comm.Comm) error {
	for _, n := range []int{0, 1, 3, 1000} {
		for _, op := range []comm.Op{comm.Sum, comm.Max} {
			x := fill(n, func(i int) float64 { return sample(c.Rank(), i) })
			if err := c.Host().AllReduce(x, op); err != nil {
				return err
			}
			for i, v := range x {
				want := total(c.Size(), i)
				if op == comm.Max {
					want = slices.Max(fill(c.Size(), func(r int) float64 { return sample(r, i) }))
				}
				if v != want {
					return fmt.Errorf("%v of %d values: value %d is %g, want %g", op, n, i, v, want)
				}
			}
		}
	}
	return nil
}

// hostMaxCarriesNaN puts a NaN on each rank in turn, and the zeros of both signs,
// of which +0 counts as the larger.
func hostMaxCarriesNaN(c comm.Comm) error {
	for odd := range c.Size() {
		x := []float64{1, math.Copysign(0, -1), 2}
		if c.Rank() == odd {
			x[0], x[1] = math.NaN(), 0
		}
		if err := c.Host().AllReduce(x, comm.Max); err != nil {
			return err
		}
		if x[0] == x[0] || x[1] != 0 || math.Signbit(x[1]) || x[2] != 2 {
			return fmt.Errorf("max with a NaN on rank %d is %v, want [NaN 0 2]", odd, x)
		}
	}
	return nil
}

// fromFirst sends messages whose length only rank 0 knows.
func fromFirst(c comm.Comm) error {
	for _, n := range []int{0, 1, 5, 70000} {
		want := bytes.Repeat([]byte{7}, n)
		mine := []byte{99, 98, 97}
		if c.Rank() == 0 {
			mine = want
		}
		got, err := comm.FromFirst(c, mine)
		if err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("from rank 0: %d bytes came, want %d", len(got), n)
		}
	}
	return nil
}

// hostAllGather brings messages of all lengths together, none included.
func hostAllGather(c comm.Comm) error {
	for _, scale := range []int{0, 1, 30000} {
		message := func(r int) []byte { return bytes.Repeat([]byte{byte(r + 1)}, scale*((r+1)%3)) }
		got, err := c.Host().AllGather(message(c.Rank()))
		if err != nil {
			return err
		}
		if len(got) != c.Size() {
			return fmt.Errorf("%d messages of %d ranks", len(got), c.Size())
		}
		for r, b := range got {
			if !bytes.Equal(b, message(r)) {
				return fmt.Errorf("%d bytes of rank %d, want %d of %d", len(b), r, len(message(r)), r+1)
			}
		}
	}
	return nil
}

func agree(c comm.Comm) error {
	// The topmost bit too: flags are a set, not a number.
	got, err := c.Host().Agree(1<<(c.Rank()%63) | 1<<63)
	if err != nil {
		return err
	}
	want := uint64(1 << 63)
	for r := range c.Size() {
		want |= 1 << (r % 63)
	}
	if got != want {
		return fmt.Errorf("agreed on %#x, want %#x", got, want)
	}
	if got, err = c.Host().Agree(0); err != nil || got != 0 {
		return fmt.Errorf("agreed on %#x, %v with no flags set", got, err)
	}
	return nil
}
