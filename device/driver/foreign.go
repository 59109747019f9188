package driver

/*
#include "calls.h"
*/
import "C"

import "unsafe"

// What libraries need that work on a card beside this package, such as NCCL.

// Handle is the driver's own handle of a stream.
func (s *Stream) Handle() unsafe.Pointer { return s.handle }

// Do runs f in its turn on the context's thread, where the card's context is
// current, and waits for it.
func (c *Context) Do(f func() error) error { return c.do(f) }

// Post runs f in its turn on the context's thread. Its error makes all later
// work fail.
func (c *Context) Post(f func() error) { c.post(f) }

// Bind makes the card's context current on the calling thread of the system, to
// which the goroutine must be locked.
func (c *Context) Bind() error {
	return resource(c.driver.check(C.driver_set_current(&c.driver.calls, c.handle), "set_current"))
}

// Fail makes all later work fail with an error that came from elsewhere, and
// those who wait for the card, once it has come to the end of its work.
func (c *Context) Fail(err error) { c.fail(err) }

// Place is a place in a stream that another one can be made to wait for.
type Place struct{ event *Event }

// Mark returns the place that a stream has come to by what it was asked so far.
func (c *Context) Mark(s *Stream) *Place {
	p := new(Place)
	c.post(func() (err error) { p.event, err = c.record(s, untimed); return err })
	return p
}

// After makes a stream wait, on the card, for a place. It must be called once
// for each.
func (c *Context) After(s *Stream, p *Place) {
	c.post(func() error {
		c.events[untimed] = append(c.events[untimed], p.event)
		return c.driver.check(C.driver_stream_wait(&c.driver.calls, s.handle, p.event.handle, 0), "stream_wait")
	})
}
