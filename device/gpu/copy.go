package gpu

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
)

// stageBytes is the size of each of the two pinned stages through which copies
// go: while the card works on one, the processor works on the other.
const stageBytes = 4 << 20

type stages struct {
	sync.Mutex
	of [2]*driver.Pinned
}

func (s *stages) open(c *driver.Context) error {
	for i := range s.of {
		var err error
		if s.of[i], err = c.AllocPinned(stageBytes); err != nil {
			return err
		}
	}
	return nil
}

// Copy sets dst to src. One of them may be on the host: such a copy is counted
// by Traffic and done when Copy returns.
func (d *Device) Copy(dst, src device.Buf) error {
	to, from := d.mine(dst), d.mine(src)
	switch {
	case to != nil && from != nil:
		match("copy", dst, src)
		if to.n > 0 {
			d.context.Within(d.context.Main(), to.at, from.at, to.bytes())
		}
		return d.context.Err()
	case to != nil && onHost(src):
		match("copy", dst, src)
		return d.upload(to.at, hostBytes(src))
	case from != nil && onHost(dst):
		match("copy", dst, src)
		return d.download(hostBytes(dst), from.at)
	}
	return d.foreign("copy", dst, src)
}

func (d *Device) upload(dst driver.Memory, src []byte) error {
	c := d.context
	if p, at := d.pinned.holding(src); p != nil {
		c.ToDevice(c.Main(), dst, p, at, len(src))
		d.toDevice.Add(int64(len(src)))
		return c.Begin(c.Main())()
	}
	d.stages.Lock()
	defer d.stages.Unlock()
	return d.staged(len(src), &d.toDevice, func(stage *driver.Pinned, lo, n int) (func() error, func()) {
		copy(stage.Bytes, src[lo:lo+n])
		c.ToDevice(c.Main(), dst+driver.Memory(lo), stage, 0, n)
		return c.Begin(c.Main()), nil
	})
}

func (d *Device) download(dst []byte, src driver.Memory) error {
	c := d.context
	if p, at := d.pinned.holding(dst); p != nil {
		c.ToHost(c.Main(), p, at, len(dst), src)
		d.toHost.Add(int64(len(dst)))
		return c.Begin(c.Main())()
	}
	d.stages.Lock()
	defer d.stages.Unlock()
	return d.staged(len(dst), &d.toHost, func(stage *driver.Pinned, lo, n int) (func() error, func()) {
		c.ToHost(c.Main(), stage, 0, n, src+driver.Memory(lo))
		return c.Begin(c.Main()), func() { copy(dst[lo:lo+n], stage.Bytes) }
	})
}

// staged passes total bytes in pieces through the two stages in turn. begin
// starts a piece; it returns how to wait for it and what is left to do then.
func (d *Device) staged(total int, count *atomic.Int64, begin func(stage *driver.Pinned, lo, n int) (wait func() error, then func())) error {
	var wait [2]func() error
	var then [2]func()
	end := func(i int) error {
		if wait[i] == nil {
			return nil
		}
		err := wait[i]()
		if err == nil && then[i] != nil {
			then[i]()
		}
		wait[i] = nil
		return err
	}
	i := 0
	for lo := 0; lo < total; lo += stageBytes {
		if err := end(i); err != nil {
			return err
		}
		n := min(stageBytes, total-lo)
		wait[i], then[i] = begin(d.stages.of[i], lo, n)
		count.Add(int64(n))
		i = 1 - i
	}
	if err := end(i); err != nil {
		return err
	}
	return end(1 - i)
}

func onHost(b device.Buf) bool { _, ok := b.Device().(*device.Host); return ok }

// hostBytes is the memory of a host buffer.
func hostBytes(b device.Buf) []byte {
	switch b.Type() {
	case device.F32:
		return asBytes(device.Slice[float32](b))
	case device.F64:
		return asBytes(device.Slice[float64](b))
	case device.C64:
		return asBytes(device.Slice[complex64](b))
	case device.C128:
		return asBytes(device.Slice[complex128](b))
	}
	return asBytes(device.Slice[int64](b))
}

func asBytes[T device.Number](s []T) []byte {
	var z T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(z)))
}
