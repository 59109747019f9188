package device

import "fmt"

// Counter is a device that counts the memory of buffers without allocating any. Code
// written for another device runs on it at once, to find out how much memory it holds.
// Buffers have only a length, and operations do nothing. The inner product of a buffer with
// itself is 1, that of two others is so small that vectors count as orthogonal, but not 0, so
// that no quotient of two is a special case. It is not safe for concurrent use.
type Counter struct {
	of        Device
	now, peak int64
}

// NewCounter returns a counter without buffers, which has the name of device of.
func NewCounter(of Device) *Counter { return &Counter{of: of} }

// Now is the number of bytes of all buffers that have not been freed.
func (c *Counter) Now() int64 { return c.now }

// Peak is the largest Now so far, in bytes.
func (c *Counter) Peak() int64 { return c.peak }

// counted is a buffer of a Counter.
type counted struct {
	off, n int
	typ    Type
	on     *Counter
	of     *counted // what it is a slice of; nil: it was allocated
}

func (b *counted) Len() int       { return b.n }
func (b *counted) Type() Type     { return b.typ }
func (b *counted) Device() Device { return b.on }

func (b *counted) Slice(off, n int) Buf {
	if off < 0 || n < 0 || off+n > b.n {
		panic(fmt.Sprintf("device: elements %d to %d of %d", off, off+n, b.n))
	}
	return &counted{b.off + off, n, b.typ, b.on, b.allocation()}
}

// allocation is the buffer that was allocated.
func (b *counted) allocation() *counted {
	if b.of != nil {
		return b.of
	}
	return b
}

// sameElements reports whether two buffers are the same elements.
func (b *counted) sameElements(o *counted) bool {
	return b.allocation() == o.allocation() && b.off == o.off && b.n == o.n
}

func (b *counted) bytes() int64 { return int64(b.n) * int64(b.typ.Size()) }

// Name implements Device.
func (c *Counter) Name() string { return c.of.Name() }

// Alloc implements Device: it counts.
func (c *Counter) Alloc(n int, t Type) (Buf, error) {
	b := &counted{n: n, typ: t, on: c}
	c.now += b.bytes()
	c.peak = max(c.peak, c.now)
	return b, nil
}

// Free implements Device.
func (c *Counter) Free(b Buf) { c.now -= b.(*counted).bytes() }

// apart is the inner product of two buffers.
const apart = 1e-9

// Dots implements Device.
func (c *Counter) Dots(pairs ...[2]Buf) ([]float64, error) {
	out := make([]float64, len(pairs))
	for i, p := range pairs {
		out[i] = apart
		if p[0].(*counted).sameElements(p[1].(*counted)) {
			out[i] = 1
		}
	}
	return out, nil
}

// Copy implements Device.
func (c *Counter) Copy(dst, src Buf) error { return nil }

// Zero implements Device.
func (c *Counter) Zero(x Buf) error { return nil }

// Axpby implements Device.
func (c *Counter) Axpby(a float64, x Buf, b float64, y Buf) error { return nil }

// Multiply implements Device.
func (c *Counter) Multiply(dst, x Buf) error { return nil }

// Stencil implements Device.
func (c *Counter) Stencil(s Stencil, dst, src, before, after Buf) error { return nil }

// Run implements Device.
func (c *Counter) Run(k Kernel, dst, src Buf) error { return nil }

// Sync implements Device.
func (c *Counter) Sync() error { return nil }

// Mark implements Device.
func (c *Counter) Mark(name string) (end func()) { return func() {} }

// Traffic implements Device.
func (c *Counter) Traffic() (toDevice, toHost int64) { return 0, 0 }
