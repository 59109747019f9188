package nccl_test

import (
	"errors"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// onDevice is a communicator for buffers of the host: each is copied to a device, goes
// through the communicator there, and comes back. So the suite, whose buffers are on
// the host, tests what a communicator does with those of a device. On the device a
// buffer is a stretch of a longer one, whose other elements must stay as they are.
type onDevice struct {
	comm.Comm
	dev device.Device
}

// margin is how many elements lie before and behind a buffer on the device.
const margin = 3

// there is a host buffer's copy on the device.
type there struct {
	host   device.Buf
	whole  device.Buf
	before string // what the margins held at first
	device.Buf
}

// margins is what lies beside the buffer in a host copy of the whole.
func margins(h device.Buf) string {
	n := h.Len()
	return printed(h.Slice(0, margin)) + printed(h.Slice(n-margin, margin))
}

func printed(b device.Buf) string {
	switch b.Type() {
	case device.F32:
		return fmt.Sprint(device.Slice[float32](b))
	case device.F64:
		return fmt.Sprint(device.Slice[float64](b))
	}
	return fmt.Sprint(device.Slice[int64](b))
}

// mark gives elements values that no rank of a test has.
func mark(b device.Buf) {
	switch b.Type() {
	case device.F32:
		markAs(device.Slice[float32](b))
	case device.F64:
		markAs(device.Slice[float64](b))
	default:
		markAs(device.Slice[int64](b))
	}
}

func markAs[T device.Number](s []T) {
	for i := range s {
		s[i] = 1007
	}
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
	h, err := device.NewHost(1).Alloc(whole.Len(), x.Type())
	if err != nil {
		return nil, err
	}
	mark(h)
	if err := h.Device().Copy(h.Slice(margin, x.Len()), x); err != nil {
		return nil, err
	}
	return &there{x, whole, margins(h), whole.Slice(margin, x.Len())}, c.dev.Copy(whole, h)
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
	if after := margins(h); after != t.before {
		return fmt.Errorf("beside a buffer of %d %v lies %s, was %s", t.Len(), t.Type(), after, t.before)
	}
	return t.host.Device().Copy(t.host, h.Slice(margin, t.Len()))
}

// with has f work on the copies of two buffers, of which either may be nil, and
// brings them back.
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
	return errors.Join(c.back(a), c.back(b))
}

func (c onDevice) Split(color, key int) (comm.Comm, error) {
	part, err := c.Comm.Split(color, key)
	if err != nil {
		return nil, err
	}
	return onDevice{part, c.dev}, nil
}

func (c onDevice) AllReduce(x device.Buf) error {
	return c.with(x, nil, func(x, _ device.Buf) error { return c.Comm.AllReduce(x) })
}

func (c onDevice) Bcast(x device.Buf, root int) error {
	return c.with(x, nil, func(x, _ device.Buf) error { return c.Comm.Bcast(x, root) })
}

func (c onDevice) AllGather(dst, src device.Buf, counts []int) error {
	return c.with(dst, src, func(dst, src device.Buf) error { return c.Comm.AllGather(dst, src, counts) })
}

func (c onDevice) SendRecv(send device.Buf, to int, recv device.Buf, from int) error {
	return c.with(send, recv, func(send, recv device.Buf) error { return c.Comm.SendRecv(send, to, recv, from) })
}

// StartAllReduce brings the result back in Wait.
func (c onDevice) StartAllReduce(x device.Buf) (comm.Request, error) {
	t, err := c.up(x)
	if err != nil {
		return nil, err
	}
	r, err := c.Comm.StartAllReduce(t.Buf)
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
