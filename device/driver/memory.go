package driver

/*
#include "calls.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Memory is an address on the card. Adding bytes to it is allowed.
type Memory uint64

// Alloc returns memory on the card, not initialised. If there is too little, the error's
// [Error.OutOfMemory] is true.
func (c *Context) Alloc(bytes int64) (m Memory, err error) {
	err = c.Do(func() error {
		var a C.address
		code := C.gpu_alloc(c.driver.calls, &a, C.size_t(bytes))
		m = Memory(a)
		return c.driver.check(code, "alloc")
	})
	return m, err
}

// Free gives memory back to the driver. It waits for the card to finish its work.
func (c *Context) Free(m Memory) error {
	return c.Do(func() error { return c.driver.check(C.gpu_free(c.driver.calls, C.address(m)), "free") })
}

// MemoryInfo returns the card's free and total memory in bytes.
func (c *Context) MemoryInfo() (free, total int64, err error) {
	err = c.Do(func() error {
		var f, t C.size_t
		code := C.gpu_memory_info(c.driver.calls, &f, &t)
		free, total = int64(f), int64(t)
		return c.driver.check(code, "memory_info")
	})
	return free, total, status.Resource(err)
}

// Pinned is host memory that the card can read and write directly.
type Pinned struct {
	Bytes   []byte
	context *Context
}

const hostPortable = 1 // pinned for every card

// AllocPinned returns host memory for copies that need not wait.
func (c *Context) AllocPinned(bytes int) (*Pinned, error) {
	p := &Pinned{context: c}
	err := c.Do(func() error {
		var m unsafe.Pointer
		err := c.driver.check(C.gpu_host_alloc(c.driver.calls, &m, C.size_t(bytes), hostPortable), "host_alloc")
		if err == nil {
			p.Bytes = unsafe.Slice((*byte)(m), bytes)
		}
		return err
	})
	if err != nil {
		return nil, status.Resource(fmt.Errorf("%d bytes of pinned host memory: %w", bytes, err))
	}
	return p, nil
}

// Free gives pinned memory back. No copy may still be using it.
func (p *Pinned) Free() error {
	c := p.context
	return c.Do(func() error {
		code := C.gpu_host_free(c.driver.calls, unsafe.Pointer(unsafe.SliceData(p.Bytes)))
		p.Bytes = nil
		return c.driver.check(code, "host_free")
	})
}

// ToDevice starts a copy of the pinned bytes [off, off+n) to the card. They may change
// once the stream has reached the copy's end.
func (c *Context) ToDevice(s *Stream, dst Memory, p *Pinned, off, n int) {
	src := p.Bytes[off : off+n]
	c.Post(func() error {
		return c.driver.check(C.gpu_to_device(c.driver.calls, C.address(dst),
			unsafe.Pointer(unsafe.SliceData(src)), C.size_t(n), s.handle), "to_device")
	})
}

// ToHost starts a copy from the card to the pinned bytes [off, off+n). They are valid
// once the stream has reached the copy's end.
func (c *Context) ToHost(s *Stream, p *Pinned, off, n int, src Memory) {
	dst := p.Bytes[off : off+n]
	c.Post(func() error {
		return c.driver.check(C.gpu_to_host(c.driver.calls, unsafe.Pointer(unsafe.SliceData(dst)),
			C.address(src), C.size_t(n), s.handle), "to_host")
	})
}

// Within starts a copy of bytes from one place on the card to another.
func (c *Context) Within(s *Stream, dst, src Memory, bytes int64) {
	c.Post(func() error {
		return c.driver.check(C.gpu_within(c.driver.calls, C.address(dst), C.address(src),
			C.size_t(bytes), s.handle), "within")
	})
}

// Fill starts setting bytes on the card to a value.
func (c *Context) Fill(s *Stream, dst Memory, value byte, bytes int64) {
	c.Post(func() error {
		return c.driver.check(C.gpu_fill(c.driver.calls, C.address(dst), C.uchar(value),
			C.size_t(bytes), s.handle), "fill")
	})
}
