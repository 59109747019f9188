package comm

import (
	"time"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Copied is a copy of a device buffer in host memory, or a host buffer that needed no copy.
type Copied struct {
	device.Buf
	of   device.Buf // nil where nothing was copied
	done func()     // nil: nothing to free
}

// ToHost copies a buffer to the host, into pinned memory if the device has such memory. A
// host buffer is returned as it is.
func ToHost(b device.Buf) (Copied, error) {
	if _, host := b.Device().(*device.Host); host {
		return Copied{Buf: b}, nil
	}
	c := Copied{of: b}
	var err error
	if s, ok := b.Device().(device.Stager); ok {
		c.Buf, c.done, err = s.Stage(b.Len(), b.Type())
	} else {
		c.Buf, err = device.NewHost(0).Alloc(b.Len(), b.Type())
	}
	if err == nil {
		if err = b.Device().Copy(c.Buf, b); err != nil {
			c.Release()
		}
	}
	return c, err
}

// Finish ends work on the copy whose error is err. It copies the host memory back to the
// original buffer, unless the work failed, and frees it.
func (c Copied) Finish(err error) error {
	defer c.Release()
	if err != nil || c.of == nil {
		return err
	}
	return c.of.Device().Copy(c.of, c.Buf)
}

// Release gives the host memory back. It must not be used afterwards.
func (c Copied) Release() {
	if c.done != nil {
		c.done()
	}
}

// Staged wraps c so that each buffer of a device goes through host memory, for devices
// whose memory c cannot or should not access. Its name is c's name followed by "-staged".
func Staged(c Comm) Comm {
	s := staged{c}
	if _, ok := c.(OneSided); ok {
		return stagedOneSided{s}
	}
	return s
}

type staged struct{ Comm }

func (s staged) Name() string { return s.Comm.Name() + "-staged" }

func (s staged) Split(color, key int) (Comm, error) {
	part, err := s.Comm.Split(color, key)
	if err != nil {
		return nil, err
	}
	return s.onto(part), nil
}

func (s staged) of() Comm         { return s.Comm }
func (s staged) onto(c Comm) Comm { return Staged(c) }

// with calls f with a host copy of x and copies the result back.
func (s staged) with(x device.Buf, f func(x device.Buf) error) error {
	c, err := ToHost(x)
	if err != nil {
		return err
	}
	return c.Finish(f(c.Buf))
}

// both calls f with host copies of two buffers, and copies the first back. Either buffer
// may be nil.
func (s staged) both(dst, src device.Buf, f func(dst, src device.Buf) error) error {
	var from Copied
	if src != nil {
		var err error
		if from, err = ToHost(src); err != nil {
			return err
		}
		defer from.Release()
	}
	if dst == nil {
		return f(nil, from.Buf)
	}
	return s.with(dst, func(dst device.Buf) error { return f(dst, from.Buf) })
}

func (s staged) AllReduce(x device.Buf) error { return s.with(x, s.Comm.AllReduce) }

func (s staged) Bcast(x device.Buf, root int) error {
	return s.with(x, func(x device.Buf) error { return s.Comm.Bcast(x, root) })
}

func (s staged) AllGather(dst, src device.Buf, counts []int) error {
	return s.both(dst, src, func(dst, src device.Buf) error { return s.Comm.AllGather(dst, src, counts) })
}

func (s staged) SendRecv(send device.Buf, to int, recv device.Buf, from int) error {
	return s.both(recv, send, func(recv, send device.Buf) error { return s.Comm.SendRecv(send, to, recv, from) })
}

// StartAllReduce is as in Comm. Wait copies the result back to x.
func (s staged) StartAllReduce(x device.Buf) (Request, error) {
	c, err := ToHost(x)
	if err != nil {
		return nil, err
	}
	r, err := s.Comm.StartAllReduce(c.Buf)
	if err != nil {
		return nil, c.Finish(err)
	}
	return stagedRequest{r, c}, nil
}

type stagedRequest struct {
	Request
	copied Copied
}

func (r stagedRequest) Wait() error { return r.copied.Finish(r.Request.Wait()) }

func (r stagedRequest) Ended() time.Time { return Ended(r.Request) }

type stagedOneSided struct{ staged }

func (s stagedOneSided) Accumulate(x device.Buf) error {
	return s.with(x, s.Comm.(OneSided).Accumulate)
}

func (s stagedOneSided) NewWindow(n int, t device.Type) (Window, error) {
	return s.Comm.(OneSided).NewWindow(n, t)
}
