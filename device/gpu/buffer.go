package gpu

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Buf is a run of elements on a card. It implements [device.Addressed].
type Buf struct {
	dev   *Device
	typ   device.Type
	n     int
	at    accel.Memory
	whole *allocation
}

// allocation is the memory that Alloc obtained. All slices of a buffer keep it alive.
type allocation struct {
	memory  accel.Memory
	bytes   int64
	freed   atomic.Bool
	cleanup runtime.Cleanup
}

func (b *Buf) Len() int              { return b.n }
func (b *Buf) Type() device.Type     { return b.typ }
func (b *Buf) Device() device.Device { return b.dev }

// Memory is the buffer's address for kernels.
func (b *Buf) Memory() accel.Memory { return b.at }

// Pointer is the buffer's address for libraries outside Go.
func (b *Buf) Pointer() uintptr { return uintptr(b.at) }

// Space says whose address that is.
func (b *Buf) Space() device.Space { return b.dev.Space() }

func (b *Buf) bytes() int64 { return int64(b.n) * int64(b.typ.Size()) }

// Slice is the window [off, off+n) on the same memory.
func (b *Buf) Slice(off, n int) device.Buf {
	if off < 0 || n < 0 || off > b.n-n {
		panic(fmt.Sprintf("device: slice [%d, %d+%d) of %d elements", off, off, n, b.n))
	}
	return &Buf{b.dev, b.typ, n, b.at + accel.Memory(off*b.typ.Size()), b.whole}
}

// Alloc returns n zeroed elements. If memory is short, its error states how much was
// needed and how much there was.
func (d *Device) Alloc(n int, t device.Type) (device.Buf, error) {
	if n < 0 {
		panic(fmt.Sprintf("device: alloc of %d elements", n))
	}
	if t < device.F32 || t > device.I64 {
		return nil, fmt.Errorf("device: unknown element type %d", t)
	}
	b := &Buf{dev: d, typ: t, n: n, whole: new(allocation)}
	bytes := max(b.bytes(), 1) // an empty buffer has an address of its own
	m, err := d.pool.take(bytes)
	if err != nil {
		return nil, d.explainShortage(fmt.Sprintf("%d elements of %v", n, t), bytes, err)
	}
	b.at, b.whole.memory, b.whole.bytes = m, m, bytes
	// Unreachable buffers count as freed: their memory goes back to the pool.
	b.whole.cleanup = runtime.AddCleanup(b.whole, func(m accel.Memory) { d.pool.give(m, bytes) }, m)
	d.context.Fill(d.context.Main(), m, 0, bytes)
	return b, nil
}

// Free frees the memory of a buffer returned by Alloc. The buffer and its slices must not
// be used afterwards; work that was given to the device before still completes.
func (d *Device) Free(x device.Buf) {
	b, ok := x.(*Buf)
	switch {
	case !ok || b.dev != d:
		panic(fmt.Sprintf("device: %s frees a buffer of %s", d.Name(), x.Device().Name()))
	case b.at != b.whole.memory || max(b.bytes(), 1) != b.whole.bytes:
		panic("device: free of a slice that is not a whole buffer")
	case b.whole.freed.Swap(true):
		panic("device: a buffer was freed twice")
	}
	b.whole.cleanup.Stop()
	d.pool.give(b.whole.memory, b.whole.bytes)
}

// explainShortage explains an allocation that failed.
func (d *Device) explainShortage(what string, bytes int64, err error) error {
	if !errors.Is(err, accel.ErrMemory) {
		return fmt.Errorf("%s: %w", d.Name(), err)
	}
	free, total, info := d.context.MemoryInfo()
	if info != nil {
		return fmt.Errorf("%s: %w", d.Name(), info)
	}
	return status.Resource(status.Hint(
		fmt.Errorf("%s: %s need %s, and %s of its %s are free (%w)", d.Name(), what,
			humanize.IBytes(uint64(bytes)), humanize.IBytes(uint64(free)), humanize.IBytes(uint64(total)), err),
		"split the problem over more cards, or choose a coarser form of the traveltime tables (kirchhoff.tables)"))
}

// freed keeps freed memory, by its size in bytes, for the next request of that size.
type freed[T any] struct {
	sync.Mutex
	kept map[int64][]T
}

func (f *freed[T]) again(bytes int64) (again T, ok bool) {
	f.Lock()
	defer f.Unlock()
	list := f.kept[bytes]
	if len(list) == 0 {
		return again, false
	}
	f.kept[bytes] = list[:len(list)-1]
	return list[len(list)-1], true
}

func (f *freed[T]) give(x T, bytes int64) {
	f.Lock()
	defer f.Unlock()
	if f.kept == nil {
		f.kept = map[int64][]T{}
	}
	f.kept[bytes] = append(f.kept[bytes], x)
}

// pool is the memory of a card from which buffers are allocated.
type pool struct {
	context *accel.Context
	freed[accel.Memory]
}

// take returns memory with anything in it.
func (p *pool) take(bytes int64) (accel.Memory, error) {
	if m, ok := p.again(bytes); ok {
		return m, nil
	}
	m, err := p.context.Alloc(bytes)
	if !errors.Is(err, accel.ErrMemory) {
		return m, err
	}
	// A collection finds the buffers that are no longer referenced. Their cleanups run on
	// another goroutine soon afterwards.
	runtime.GC()
	for pause := time.Millisecond; ; pause *= 2 {
		if err := p.releaseAll(); err != nil {
			return 0, err
		}
		if m, err = p.context.Alloc(bytes); !errors.Is(err, accel.ErrMemory) || pause > lastPause {
			return m, err
		}
		time.Sleep(pause)
	}
}

// lastPause is the longest pause of an allocation before it reports that memory is short.
// Each pause is twice the previous one.
const lastPause = 64 * time.Millisecond

// releaseAll gives everything back to the driver.
func (p *pool) releaseAll() error {
	p.Lock()
	kept := p.kept
	p.kept = nil
	p.Unlock()
	for _, list := range kept {
		for _, m := range list {
			if err := p.context.Free(m); err != nil {
				return err
			}
		}
	}
	return nil
}
