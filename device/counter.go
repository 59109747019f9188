package device

import "fmt"

// Counter is a device that counts the memory of buffers without allocating any. Code
// written for another device runs on it at once, to find out how much memory it holds.
// Buffers have only a length, operations do nothing, and every inner product is 1, so
// that no quotient of two is a special case. It is not safe for concurrent use.
type Counter struct {
	idle
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
	n   int
	typ Type
	on  *Counter
}

func (b *counted) Len() int       { return b.n }
func (b *counted) Type() Type     { return b.typ }
func (b *counted) Device() Device { return b.on }

func (b *counted) Slice(off, n int) Buf {
	if off < 0 || n < 0 || off+n > b.n {
		panic(fmt.Sprintf("device: elements %d to %d of %d", off, off+n, b.n))
	}
	return &counted{n, b.typ, b.on}
}

func (b *counted) bytes() int64 { return int64(b.n) * int64(b.typ.Size()) }

// Name implements Device.
func (c *Counter) Name() string { return c.of.Name() }

// Alloc implements Device: it counts.
func (c *Counter) Alloc(n int, t Type) (Buf, error) {
	b := &counted{n, t, c}
	c.now += b.bytes()
	c.peak = max(c.peak, c.now)
	return b, nil
}

// Free implements Device.
func (c *Counter) Free(b Buf) { c.now -= b.(*counted).bytes() }

// Dots implements Device: ones.
func (c *Counter) Dots(pairs ...[2]Buf) ([]complex128, error) {
	ones := make([]complex128, len(pairs))
	for i := range ones {
		ones[i] = 1
	}
	return ones, nil
}

// idle has the operations that need no memory. They do nothing.
type idle struct{}

func (idle) Copy(dst, src Buf) error                              { return nil }
func (idle) Zero(x Buf) error                                     { return nil }
func (idle) Axpby(a complex128, x Buf, b complex128, y Buf) error { return nil }
func (idle) Multiply(dst, x Buf) error                            { return nil }
func (idle) SoftThreshold(x Buf, t float64) error                 { return nil }
func (idle) Stencil(s Stencil, dst, src, before, after Buf) error { return nil }
func (idle) Run(k Kernel, dst, src Buf) error                     { return nil }
func (idle) Sync() error                                          { return nil }
func (idle) Mark(name string) (end func())                        { return func() {} }
func (idle) Traffic() (toDevice, toHost int64)                    { return 0, 0 }
