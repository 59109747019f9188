package driver

/*
#include "calls.h"
*/
import "C"

import (
	"time"
	"unsafe"
)

// Stream is a queue of work for the card. Two streams may overlap.
type Stream struct{ handle unsafe.Pointer }

// Event is a place in a stream.
type Event struct {
	handle unsafe.Pointer
	kind   int
}

const (
	untimed = iota
	timed
)

const (
	streamNonBlocking  = 1 // does not wait for the driver's default stream
	eventDisableTiming = 2
)

// NewStream adds a stream.
func (c *Context) NewStream() (s *Stream, err error) {
	err = c.do(func() (err error) { s, err = c.newStream(); return err })
	return s, resource(err)
}

// newStream runs on the context's thread.
func (c *Context) newStream() (*Stream, error) {
	s := new(Stream)
	return s, c.driver.check(C.driver_stream_create(&c.driver.calls, &s.handle, streamNonBlocking), "stream_create")
}

// CloseStream gives a stream back once its work is done.
func (c *Context) CloseStream(s *Stream) {
	c.post(func() error {
		return c.driver.check(C.driver_stream_destroy(&c.driver.calls, s.handle), "stream_destroy")
	})
}

// Follow makes a stream wait, on the card, for all that another one was asked.
func (c *Context) Follow(s, other *Stream) {
	c.post(func() error {
		e, err := c.record(other, untimed)
		if err != nil {
			return err
		}
		// The wait is for the state of the event now, so it can be used again.
		c.events[untimed] = append(c.events[untimed], e)
		return c.driver.check(C.driver_stream_wait(&c.driver.calls, s.handle, e.handle, 0), "stream_wait")
	})
}

// record runs on the context's thread and puts an event at the end of a stream.
func (c *Context) record(s *Stream, kind int) (*Event, error) {
	d := c.driver
	e := &Event{kind: kind}
	if n := len(c.events[kind]); n > 0 {
		e, c.events[kind] = c.events[kind][n-1], c.events[kind][:n-1]
	} else {
		flags := C.uint(eventDisableTiming)
		if kind == timed {
			flags = 0
		}
		if err := d.check(C.driver_event_create(&d.calls, &e.handle, flags), "event_create"); err != nil {
			return nil, err
		}
	}
	return e, d.check(C.driver_event_record(&d.calls, e.handle, s.handle), "event_record")
}

// Span is a stretch of a stream's work, timed by the card.
type Span struct {
	context    *Context
	stream     *Stream
	start, end *Event
}

// Time begins a span here.
func (c *Context) Time(s *Stream) *Span {
	p := &Span{context: c, stream: s}
	c.post(func() (err error) { p.start, err = c.record(s, timed); return err })
	return p
}

// End ends the span here.
func (p *Span) End() {
	c := p.context
	c.post(func() (err error) { p.end, err = c.record(p.stream, timed); return err })
}

// Elapsed is how long the card took for an ended span; ok is false where it is
// not there yet. A span can be asked until it has answered.
func (p *Span) Elapsed() (t time.Duration, ok bool, err error) {
	c := p.context
	err = c.do(func() error {
		var ms C.float
		code := C.driver_event_query(&c.driver.calls, p.end.handle)
		if code == notReady {
			return nil
		}
		if code == 0 {
			code = C.driver_event_elapsed(&c.driver.calls, &ms, p.start.handle, p.end.handle)
		}
		c.events[timed] = append(c.events[timed], p.start, p.end)
		t, ok = time.Duration(float64(ms)*float64(time.Millisecond)), code == 0
		return c.driver.check(code, "event_elapsed")
	})
	return t, ok, resource(err)
}
