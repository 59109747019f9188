package pipeline

import (
	"sync/atomic"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// tally counts this rank's collectives on groups of several ranks: what it gives to
// those of buffers, and what those of host values leave with it.
type tally struct{ buffers, host traffic }

type traffic struct{ calls, bytes atomic.Int64 }

func (t *traffic) add(c comm.Comm, bytes int) {
	if c.Size() > 1 {
		t.calls.Add(1)
		t.bytes.Add(int64(bytes))
	}
}

// tallied is a communicator whose collectives are counted.
type tallied struct {
	comm.Comm
	t *tally
}

func bytesOf(x device.Buf) int {
	if x == nil {
		return 0
	}
	return x.Len() * x.Type().Size()
}

func (c tallied) Split(color, key int) (comm.Comm, error) {
	part, err := c.Comm.Split(color, key)
	return tallied{part, c.t}, err
}

func (c tallied) AllReduce(x device.Buf) error {
	c.t.buffers.add(c.Comm, bytesOf(x))
	return c.Comm.AllReduce(x)
}

func (c tallied) StartAllReduce(x device.Buf) (comm.Request, error) {
	c.t.buffers.add(c.Comm, bytesOf(x))
	return c.Comm.StartAllReduce(x)
}

func (c tallied) Bcast(x device.Buf, root int) error {
	c.t.buffers.add(c.Comm, bytesOf(x))
	return c.Comm.Bcast(x, root)
}

func (c tallied) AllGather(dst, src device.Buf, counts []int) error {
	c.t.buffers.add(c.Comm, bytesOf(dst))
	return c.Comm.AllGather(dst, src, counts)
}

func (c tallied) SendRecv(send device.Buf, to int, recv device.Buf, from int) error {
	if send != nil {
		c.t.buffers.add(c.Comm, bytesOf(send))
	}
	return c.Comm.SendRecv(send, to, recv, from)
}

func (c tallied) Host() comm.Host { return talliedHost{c.Comm.Host(), c} }

type talliedHost struct {
	comm.Host
	c tallied
}

func (h talliedHost) add(bytes int) { h.c.t.host.add(h.c.Comm, bytes) }

func (h talliedHost) AllReduce(x []float64, op comm.Op) error {
	h.add(8 * len(x))
	return h.Host.AllReduce(x, op)
}

func (h talliedHost) AllGather(x []byte) ([][]byte, error) {
	all, err := h.Host.AllGather(x)
	sum := 0
	for _, b := range all {
		sum += len(b)
	}
	h.add(sum)
	return all, err
}

func (h talliedHost) Agree(flags uint64) (uint64, error) {
	h.add(8)
	return h.Host.Agree(flags)
}
