package commtest

import (
	"bytes"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/comm"
)

func hostAllReduce(c comm.Comm) error {
	for _, n := range []int{0, 1, 3, 1000} {
		for _, op := range []comm.Op{comm.Sum, comm.Max, comm.Min} {
			x := make([]float64, n)
			for i := range x {
				x[i] = sample(c.Rank(), i)
			}
			if err := c.Host().AllReduce(x, op); err != nil {
				return err
			}
			for i, v := range x {
				if want := expected(c.Size(), i, op); v != want {
					return fmt.Errorf("%v of %d values: value %d is %g, want %g", op, n, i, v, want)
				}
			}
		}
	}
	return nil
}

// hostBroadcast sends messages whose length only the root knows.
func hostBroadcast(c comm.Comm) error {
	for root := range c.Size() {
		for _, n := range []int{0, 1, 5, 70000} {
			want := bytes.Repeat([]byte{byte(root + 1)}, n)
			mine := []byte{99, 98, 97}
			if c.Rank() == root {
				mine = want
			}
			got, err := c.Host().Bcast(mine, root)
			if err != nil {
				return err
			}
			if !bytes.Equal(got, want) {
				return fmt.Errorf("from rank %d: %d bytes came, want %d of %d", root, len(got), n, root+1)
			}
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

// barrier can only see that the call comes back, and that what follows is in
// step: whether it waits shows where ranks share memory.
func barrier(c comm.Comm) error {
	for range 3 {
		if err := c.Host().Barrier(); err != nil {
			return err
		}
	}
	return hostAllReduce(c)
}
