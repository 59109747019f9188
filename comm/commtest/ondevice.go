package commtest

import (
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// OnDevice is c for buffers of the host: each is copied to a device, goes through
// c there, and comes back. So the suite, whose buffers are on the host, tests what
// a communicator does with those of a device. On the device a buffer is a stretch
// of a longer one, whose other elements must stay as they are.
func OnDevice(c comm.Comm, d device.Device) comm.Comm { return onDevice{c, d} }

type onDevice struct {
	comm.Comm
	dev device.Device
}

// margin is how many elements lie before and behind a buffer on the device: the
// samples of no rank that a test has.
const (
	margin = 3
	beside = 1007
)

// there is a host buffer's copy on the device.
type there struct {
	host  device.Buf
	whole device.Buf
	device.Buf
}

// up copies a buffer to the device; nil stays nil.
func (c onDevice) up(x device.Buf) (*there, error) {
	if x == nil {
		return nil, nil
	}
	whole, err := c.dev.Alloc(x.Len()+2*margin, x.Type())
	if err != nil {
		return nil, err
	}
	h := buffer(x.Type(), beside, 0, whole.Len())
	if err := h.Device().Copy(h.Slice(margin, x.Len()), x); err != nil {
		return nil, err
	}
	return &there{x, whole, whole.Slice(margin, x.Len())}, c.dev.Copy(whole, h)
}

// back copies it back, and looks at what lies beside it.
func (c onDevice) back(t *there) error {
	if t == nil {
		return nil
	}
	h, err := device.NewHost(1).Alloc(t.whole.Len(), t.Type())
	if err != nil {
		return err
	}
	if err := c.dev.Copy(h, t.whole); err != nil {
		return err
	}
	c.dev.Free(t.whole)
	for _, first := range []int{0, margin + t.Len()} {
		if err := holds("what lies beside a buffer", h.Slice(first, margin), beside, first); err != nil {
			return err
		}
	}
	return t.host.Device().Copy(t.host, h.Slice(margin, t.Len()))
}

// with has f work on the copies of two buffers, of which the second may be nil,
// and brings them back.
func (c onDevice) with(x, y device.Buf, f func(x, y device.Buf) error) error {
	a, err := c.up(x)
	if err != nil {
		return err
	}
	b, err := c.up(y)
	if err != nil {
		return err
	}
	// Not an interface that holds a nil pointer.
	var on [2]device.Buf
	for i, t := range []*there{a, b} {
		if t != nil {
			on[i] = t.Buf
		}
	}
	if err := f(on[0], on[1]); err != nil {
		return err
	}
	if err := c.back(a); err != nil {
		return err
	}
	return c.back(b)
}

func (c onDevice) Split(color, key int) (comm.Comm, error) {
	part, err := c.Comm.Split(color, key)
	if err != nil {
		return nil, err
	}
	return onDevice{part, c.dev}, nil
}

func (c onDevice) AllReduce(x device.Buf, op comm.Op) error {
	return c.with(x, nil, func(x, _ device.Buf) error { return c.Comm.AllReduce(x, op) })
}

func (c onDevice) Reduce(x device.Buf, op comm.Op, root int) error {
	return c.with(x, nil, func(x, _ device.Buf) error { return c.Comm.Reduce(x, op, root) })
}

func (c onDevice) Bcast(x device.Buf, root int) error {
	return c.with(x, nil, func(x, _ device.Buf) error { return c.Comm.Bcast(x, root) })
}

func (c onDevice) AllGather(dst, src device.Buf, counts []int) error {
	return c.with(dst, src, func(dst, src device.Buf) error { return c.Comm.AllGather(dst, src, counts) })
}

func (c onDevice) ReduceScatter(dst, src device.Buf, counts []int, op comm.Op) error {
	return c.with(dst, src, func(dst, src device.Buf) error { return c.Comm.ReduceScatter(dst, src, counts, op) })
}

func (c onDevice) SendRecv(send device.Buf, to int, recv device.Buf, from int) error {
	return c.with(send, recv, func(send, recv device.Buf) error { return c.Comm.SendRecv(send, to, recv, from) })
}

// StartAllReduce brings the result back in Wait.
func (c onDevice) StartAllReduce(x device.Buf, op comm.Op) (comm.Request, error) {
	t, err := c.up(x)
	if err != nil {
		return nil, err
	}
	r, err := c.Comm.StartAllReduce(t.Buf, op)
	if err != nil {
		return nil, err
	}
	return broughtBack{r, c, t}, nil
}

type broughtBack struct {
	comm.Request
	c onDevice
	t *there
}

func (b broughtBack) Wait() error {
	if err := b.Request.Wait(); err != nil {
		return err
	}
	return b.c.back(b.t)
}
