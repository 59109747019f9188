package gpu

import (
	"sync/atomic"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
)

// stageBytes is the size of each of the two pinned stages through which copies go. While
// the card works on one, the processor works on the other.
const stageBytes = 4 << 20

// Copy sets dst to src. One of them may be on the host; such a copy is counted by Traffic
// and has ended when Copy returns.
func (d *Device) Copy(dst, src device.Buf) error {
	to, from := d.ownBuffer(dst), d.ownBuffer(src)
	if to == nil && !onHost(dst) || from == nil && !onHost(src) || to == nil && from == nil {
		return device.Foreign(d, "copy", dst, src)
	}
	device.Match("copy", dst, src)
	switch {
	case from == nil:
		return d.upload(d.context.Main(), to.at, device.Memory(src))
	case to == nil:
		return d.download(d.context.Main(), device.Memory(dst), from.at)
	}
	if to.n > 0 {
		defer d.Clock.outside(d.context.Main(), device.MarkVectors)()
		d.context.Within(d.context.Main(), to.at, from.at, to.bytes())
	}
	return d.context.Err()
}

// Send is Copy from the host to the card on a stream of the caller, beside the card's other
// work. Who uses dst follows that stream.
func (d *Device) Send(s *accel.Stream, dst, src device.Buf) error {
	to := d.ownBuffer(dst)
	if to == nil || !onHost(src) {
		return device.Foreign(d, "send", dst, src)
	}
	device.Match("send", dst, src)
	return d.upload(s, to.at, device.Memory(src))
}

// Receive is Copy from the card to the host, after the work that a stream of the caller was
// given.
func (d *Device) Receive(s *accel.Stream, dst, src device.Buf) error {
	from := d.ownBuffer(src)
	if from == nil || !onHost(dst) {
		return device.Foreign(d, "receive", dst, src)
	}
	device.Match("receive", dst, src)
	return d.download(s, device.Memory(dst), from.at)
}

func (d *Device) upload(s *accel.Stream, dst accel.Memory, src []byte) error {
	c := d.context
	defer d.Clock.outside(s, device.MarkCopies)()
	return d.copyThroughHost(src, &d.toDevice, func(p *accel.Pinned, at, lo, n int, staged bool) func() error {
		if staged {
			copy(p.Bytes, src[lo:lo+n])
		}
		c.ToDevice(s, dst+accel.Memory(lo), p, at, n)
		return c.Begin(s)
	})
}

func (d *Device) download(s *accel.Stream, dst []byte, src accel.Memory) error {
	c := d.context
	defer d.Clock.outside(s, device.MarkCopies)()
	return d.copyThroughHost(dst, &d.toHost, func(p *accel.Pinned, at, lo, n int, staged bool) func() error {
		c.ToHost(s, p, at, n, src+accel.Memory(lo))
		wait := c.Begin(s)
		if !staged {
			return wait
		}
		return func() error {
			err := wait()
			if err == nil {
				copy(dst[lo:lo+n], p.Bytes)
			}
			return err
		}
	})
}

// copyThroughHost copies to or from host memory: in one piece if it is pinned, otherwise in
// pieces that use the two stages in turn. begin starts the copy of bytes [lo, lo+n) from or
// to a place in pinned memory and returns a function that ends it.
func (d *Device) copyThroughHost(host []byte, count *atomic.Int64, begin func(p *accel.Pinned, at, lo, n int, staged bool) (end func() error)) error {
	if p, at := d.pinned.holding(host); p != nil {
		count.Add(int64(len(host)))
		return begin(p, at, 0, len(host), false)()
	}
	var stages [2]*accel.Pinned
	var ends [2]func() error
	for i := range stages {
		p, err := d.pinned.take(d.context, stageBytes)
		if err != nil {
			return err
		}
		defer d.pinned.give(p)
		stages[i], ends[i] = p, func() error { return nil }
	}
	i := 0
	for lo := 0; lo < len(host); lo += stageBytes {
		if err := ends[i](); err != nil {
			return err
		}
		n := min(stageBytes, len(host)-lo)
		ends[i] = begin(stages[i], 0, lo, n, true)
		count.Add(int64(n))
		i = 1 - i
	}
	if err := ends[i](); err != nil {
		return err
	}
	return ends[1-i]()
}

func onHost(b device.Buf) bool { _, ok := b.Device().(*device.Host); return ok }

// Words takes elements of whole 32-bit words, such as structs of a kernel, as a buffer of the
// host with the same memory.
func Words[T any](list []T) device.Buf {
	var t T
	n := len(list) * int(unsafe.Sizeof(t)) / 4
	return device.Wrap(device.NewHost(0), unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(list))), n))
}
