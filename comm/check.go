package comm

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Checks that implementations share.

// Done is a Request with nothing left to wait for.
var Done Request = done{}

type done struct{}

func (done) Wait() error { return nil }

// CheckRoot refuses the root of a broadcast that is not a rank of c.
func CheckRoot(c Comm, root int) error {
	if root < 0 || root >= c.Size() {
		return fmt.Errorf("comm: broadcast at rank %d of %d", root, c.Size())
	}
	return nil
}

// CheckOp refuses unknown operations.
func CheckOp(op Op) error {
	if op > Max {
		return fmt.Errorf("comm: unknown %v", op)
	}
	return nil
}

// CheckCounts makes sure that counts has one number for every rank of c, that
// they add up to the length of whole, that this rank's is the length of part, and
// that both buffers are of one type.
func CheckCounts(c Comm, whole, part device.Buf, counts []int) error {
	if len(counts) != c.Size() {
		return fmt.Errorf("comm: %d counts for %d ranks", len(counts), c.Size())
	}
	sum := 0
	for r, n := range counts {
		if n < 0 {
			return fmt.Errorf("comm: rank %d has %d elements", r, n)
		}
		sum += n
	}
	if sum != whole.Len() || counts[c.Rank()] != part.Len() {
		return fmt.Errorf("comm: buffers of %d elements in all and %d of rank %d, counts say %d and %d",
			whole.Len(), part.Len(), c.Rank(), sum, counts[c.Rank()])
	}
	if whole.Type() != part.Type() {
		return fmt.Errorf("comm: buffers of %v in all and of %v for rank %d", whole.Type(), part.Type(), c.Rank())
	}
	return nil
}

// CheckPeers makes sure that ranks and buffers of a SendRecv belong together.
func CheckPeers(c Comm, send device.Buf, to int, recv device.Buf, from int) error {
	for _, p := range []struct {
		what string
		rank int
		buf  device.Buf
	}{{"send to", to, send}, {"receive from", from, recv}} {
		if p.rank != None && (p.rank < 0 || p.rank >= c.Size()) {
			return fmt.Errorf("comm: %s rank %d of %d", p.what, p.rank, c.Size())
		}
		if (p.rank == None) != (p.buf == nil) {
			return fmt.Errorf("comm: %s rank %d: no rank and no buffer go together", p.what, p.rank)
		}
	}
	return nil
}
