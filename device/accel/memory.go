package accel

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Memory is an address on the card. Adding bytes to it is allowed.
type Memory uint64

// Alloc returns memory on the card, not initialised. If there is too little, the error
// is [ErrMemory].
func (c *Context) Alloc(bytes int64) (m Memory, err error) {
	err = c.Do(func() (err error) { m, err = c.calls.Alloc(bytes); return err })
	return m, err
}

// Free gives memory back to the driver. It waits for the card to finish its work.
func (c *Context) Free(m Memory) error {
	return c.Do(func() error { return c.calls.Free(m) })
}

// MemoryInfo returns the card's free and total memory in bytes.
func (c *Context) MemoryInfo() (free, total int64, err error) {
	err = c.Do(func() (err error) { free, total, err = c.calls.MemoryInfo(); return err })
	return free, total, status.Resource(err)
}

// Pinned is host memory that the card can read and write directly while it is in use.
type Pinned struct{ Bytes []byte }

// AllocPinned returns host memory for copies that need not wait.
func (c *Context) AllocPinned(bytes int) (*Pinned, error) {
	p := new(Pinned)
	err := c.Do(func() (err error) { p.Bytes, err = c.calls.AllocPinned(bytes); return err })
	if err != nil {
		return nil, status.Resource(fmt.Errorf("%d bytes of pinned host memory: %w", bytes, err))
	}
	return p, nil
}

// ToDevice starts a copy of the pinned bytes [off, off+n) to the card. They may change
// once the stream has reached the copy's end.
func (c *Context) ToDevice(s *Stream, dst Memory, p *Pinned, off, n int) {
	src := p.Bytes[off : off+n]
	c.Post(func() error { return c.calls.ToDevice(s.handle, dst, src) })
}

// ToHost starts a copy from the card to the pinned bytes [off, off+n). They are valid
// once the stream has reached the copy's end.
func (c *Context) ToHost(s *Stream, p *Pinned, off, n int, src Memory) {
	dst := p.Bytes[off : off+n]
	c.Post(func() error { return c.calls.ToHost(s.handle, dst, src) })
}

// Within starts a copy of bytes from one place on the card to another.
func (c *Context) Within(s *Stream, dst, src Memory, bytes int64) {
	c.Post(func() error { return c.calls.Within(s.handle, dst, src, bytes) })
}

// Fill starts setting bytes on the card to a value.
func (c *Context) Fill(s *Stream, dst Memory, value byte, bytes int64) {
	c.Post(func() error { return c.calls.Fill(s.handle, dst, value, bytes) })
}
