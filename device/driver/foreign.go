package driver

/*
#include "calls.h"
*/
import "C"

import "unsafe"

// This file has what other libraries that use a card, such as NCCL, need from this package.

// Handle is the driver's own handle of a stream.
func (s *Stream) Handle() unsafe.Pointer { return s.handle }

// Bind makes the card's context current on the calling thread of the system, to
// which the goroutine must be locked.
func (c *Context) Bind() error {
	return resource(c.driver.check(C.gpu_set_current(c.driver.calls, c.handle), "set_current"))
}

// Place is a place in a stream that other streams can wait for.
type Place struct{ event *Event }

// Mark returns the place in a stream that follows all work given to it so far.
func (c *Context) Mark(s *Stream) *Place {
	p := new(Place)
	c.Post(func() (err error) { p.event, err = c.record(s, untimed); return err })
	return p
}

// After makes a stream wait, on the card, for a place. It must be called once for each place.
func (c *Context) After(s *Stream, p *Place) {
	c.Post(func() error {
		// The wait refers to the present state of the event, so the event can be reused.
		c.events[untimed] = append(c.events[untimed], p.event)
		return c.driver.check(C.gpu_stream_wait(c.driver.calls, s.handle, p.event.handle, 0), "stream_wait")
	})
}
