package bench

import (
	"sync/atomic"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// counted is a communicator that counts the bytes and messages that broadcasts bring to its rank.
// Communicators that are split from it count into the same totals.
type counted struct {
	comm.Comm
	of *traffic
}

// traffic counts what came to a rank.
type traffic struct{ bytes, messages atomic.Int64 }

func (c counted) Split(color, key int) (comm.Comm, error) {
	part, err := c.Comm.Split(color, key)
	return counted{part, c.of}, err
}

func (c counted) Bcast(x device.Buf, root int) error {
	if root != c.Rank() {
		c.of.bytes.Add(int64(x.Len()) * int64(x.Type().Size()))
		c.of.messages.Add(1)
	}
	return c.Comm.Bcast(x, root)
}
