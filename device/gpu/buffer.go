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
	kept    atomic.Bool // see Keep
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

// Whole returns the address and the length in bytes of the allocation that this buffer
// is, or was cut from.
func (b *Buf) Whole() (m accel.Memory, bytes int64) { return b.whole.memory, b.whole.bytes }

// Keep prevents the memory of the whole buffer from being reused after the buffer is
// freed, because something outside remembers its address.
func (b *Buf) Keep() {
	b.whole.cleanup.Stop()
	b.whole.kept.Store(true)
}

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
	if !b.whole.kept.Load() {
		d.pool.give(b.whole.memory, b.whole.bytes)
	}
}

// Allocator allocates card memory in a way of its own, as communication libraries do.
type Allocator interface {
	Alloc(bytes int64) (accel.Memory, error)
	Free(m accel.Memory) error
}

// AllocateLarge makes allocations of at least the given number of bytes use an allocator
// from now on. If the allocator fails, they come from the driver.
func (d *Device) AllocateLarge(least int64, a Allocator) {
	d.pool.Lock()
	defer d.pool.Unlock()
	d.pool.least, d.pool.large = least, a
}

// AllocatedBy returns the allocator that memory came from, or nil for the driver.
func (d *Device) AllocatedBy(m accel.Memory) Allocator {
	d.pool.Lock()
	defer d.pool.Unlock()
	return d.pool.from[m]
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

	large Allocator // of memory from least bytes on, nil for none
	least int64
	from  map[accel.Memory]Allocator // what came from one
}

// alloc asks for new memory.
func (p *pool) alloc(bytes int64) (accel.Memory, error) {
	p.Lock()
	large, least := p.large, p.least
	p.Unlock()
	if large != nil && bytes >= least {
		if m, err := large.Alloc(bytes); err == nil {
			p.Lock()
			defer p.Unlock()
			p.from[m] = large
			return m, nil
		}
	}
	return p.context.Alloc(bytes)
}

// free gives memory back to where it came from.
func (p *pool) free(m accel.Memory) error {
	p.Lock()
	large := p.from[m]
	delete(p.from, m)
	p.Unlock()
	if large != nil {
		return large.Free(m)
	}
	return p.context.Free(m)
}

// take returns memory with anything in it.
func (p *pool) take(bytes int64) (accel.Memory, error) {
	if m, ok := p.again(bytes); ok {
		return m, nil
	}
	m, err := p.alloc(bytes)
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
		if m, err = p.alloc(bytes); !errors.Is(err, accel.ErrMemory) || pause > lastPause {
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
			if err := p.free(m); err != nil {
				return err
			}
		}
	}
	return nil
}
