package gpu

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
)

// pinned is the pinned memory of a device, for copies, results and Stage. The lengths of
// its pieces are powers of two.
type pinned struct {
	freed[*accel.Pinned]
	all []*accel.Pinned
}

var _ device.Stager = (*Device)(nil)

// Stage returns n elements of pinned memory with anything in them, as a buffer of the
// host, which Copy moves to and from the card in one piece.
func (d *Device) Stage(n int, t device.Type) (device.Buf, func(), error) {
	p, err := d.pinned.take(d.context, n*t.Size())
	if err != nil {
		return nil, nil, d.explainShortage(fmt.Sprintf("%d elements of %v in pinned memory", n, t), int64(n*t.Size()), err)
	}
	b, err := device.WrapMemory(device.NewHost(0), unsafe.Pointer(unsafe.SliceData(p.Bytes)), n, t)
	if err != nil {
		return nil, nil, err
	}
	return b, func() { d.pinned.give(p) }, nil
}

// page is the least length of pinned memory.
const page = 4096

// StageBytes is the memory that the given number of bytes of Stage takes.
func StageBytes(bytes int64) int64 { return 1 << bits.Len64(uint64(max(bytes, page)-1)) }

// take returns at least the given number of bytes, with anything in them.
func (s *pinned) take(c *accel.Context, bytes int) (*accel.Pinned, error) {
	size := int(StageBytes(int64(bytes)))
	if p, ok := s.again(int64(size)); ok {
		return p, nil
	}
	p, err := c.AllocPinned(size)
	if err == nil {
		s.Lock()
		defer s.Unlock()
		s.all = append(s.all, p)
	}
	return p, err
}

func (s *pinned) give(p *accel.Pinned) { s.freed.give(p, int64(len(p.Bytes))) }

// holding is the pinned memory that b lies in, and where; nil for none.
func (s *pinned) holding(b []byte) (p *accel.Pinned, at int) {
	s.Lock()
	defer s.Unlock()
	first := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	for _, p := range s.all {
		if at := first - uintptr(unsafe.Pointer(unsafe.SliceData(p.Bytes))); at < uintptr(len(p.Bytes)) {
			return p, int(at)
		}
	}
	return nil, 0
}
