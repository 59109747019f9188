package accel

import (
	"cmp"
	"time"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Stream is a queue of work for the card. Two streams may overlap.
type Stream struct {
	// Lane names the work of this stream in the closing table and the trace.
	Lane   string
	handle unsafe.Pointer
	spans  []*Span // ended, not reported yet, the oldest first; only the context's thread touches it
}

// Handle is the driver's own handle of a stream.
func (s *Stream) Handle() unsafe.Pointer { return s.handle }

// Event is a place in a stream that other streams can wait for.
type Event struct{ handle unsafe.Pointer }

// Kinds of events.
const (
	untimed = iota
	timed
)

// NewStream adds a stream with the given [Stream.Lane].
func (c *Context) NewStream(lane string) (s *Stream, err error) {
	err = c.Do(func() (err error) { s, err = c.newStream(lane); return err })
	return s, status.Resource(err)
}

// newStream runs on the context's thread.
func (c *Context) newStream(lane string) (*Stream, error) {
	handle, err := c.calls.NewStream()
	return &Stream{Lane: lane, handle: handle}, err
}

// CloseStream gives a stream back once its work is done.
func (c *Context) CloseStream(s *Stream) {
	c.Post(func() error { return c.calls.CloseStream(s.handle) })
}

// Mark returns the place in a stream that follows all work given to it so far.
func (c *Context) Mark(s *Stream) *Event {
	e := new(Event)
	c.Post(func() error { return c.record(e, s, untimed) })
	return e
}

// After makes a stream wait, on the card, for a place. It must be called once for each place.
func (c *Context) After(s *Stream, e *Event) {
	c.Post(func() error {
		// The wait refers to the present state of the event, so the event can be reused.
		c.events[untimed] = append(c.events[untimed], *e)
		return c.calls.Wait(s.handle, e.handle)
	})
}

// Follow makes a stream wait, on the card, for all work that another stream was given so far.
func (c *Context) Follow(s, other *Stream) { c.After(s, c.Mark(other)) }

// record puts an event at the end of a stream. It runs on the context's thread.
func (c *Context) record(e *Event, s *Stream, kind int) error {
	if n := len(c.events[kind]); n > 0 {
		*e, c.events[kind] = c.events[kind][n-1], c.events[kind][:n-1]
	} else {
		var err error
		if e.handle, err = c.calls.NewEvent(kind == timed); err != nil {
			return err
		}
	}
	return c.calls.Record(e.handle, s.handle)
}

// Span is a stretch of a stream's work, timed by the card.
type Span struct {
	context    *Context
	stream     *Stream
	start, end Event
	tell       func(begin time.Time, took time.Duration)
}

// Time begins a span here. Once the card has passed its end, the context's thread calls
// tell, which must not wait for that thread. Spans of one stream are reported in the
// order of their ends. begin is on this machine's clock, as far as the card's clock keeps
// step with it, and took is how long the card needed. For a caller that has waited for
// the stream after End, tell has been called.
func (c *Context) Time(s *Stream, tell func(begin time.Time, took time.Duration)) *Span {
	p := &Span{context: c, stream: s, tell: tell}
	c.Post(func() error {
		if err := cmp.Or(c.reportSpans(mostTold), c.compareClocks()); err != nil {
			return err
		}
		c.timing++
		return c.record(&p.start, s, timed)
	})
	return p
}

// End ends the span here.
func (p *Span) End() {
	c, s := p.context, p.stream
	c.Post(func() error {
		if err := c.record(&p.end, s, timed); err != nil {
			return err
		}
		if len(s.spans) == 0 {
			c.telling = append(c.telling, s)
		}
		s.spans = append(s.spans, p)
		return nil
	})
}

// compareEvery is how long one comparison of the clocks serves. The driver gives the time
// since then as float32 in ms, which for so long has steps of at most 0.06 µs.
var compareEvery = time.Second

// compareClocks finds out what time it is here when the card passes the anchor, if no span
// refers to the one before.
func (c *Context) compareClocks() error {
	if c.timing > 0 || c.clock != nil && time.Since(c.anchored) < compareEvery {
		return nil
	}
	if c.clock == nil {
		var err error
		if c.clock, err = c.newStream(""); err != nil {
			return err
		}
	} else {
		c.events[timed] = append(c.events[timed], c.anchor)
	}
	if err := c.record(&c.anchor, c.clock, timed); err != nil {
		return err
	}
	for { // nothing else is on that stream, so the card passes the anchor at once
		if passed, err := c.calls.Passed(c.anchor.handle); err != nil {
			return err
		} else if passed {
			break
		}
	}
	if c.anchored = time.Now(); c.anchored.Before(c.latest) {
		c.anchored = c.latest // spans of a stream never overlap
	}
	return nil
}

// mostTold is how many ended spans of a stream are processed before the next one begins.
const mostTold = 4

// reportSpans reports ended spans that the card has passed, at most the given number of each
// stream. Their events can then be reused.
func (c *Context) reportSpans(most int) error {
	left := c.telling[:0]
	for _, s := range c.telling {
		for n := 0; n < most && len(s.spans) > 0; n++ {
			if passed, err := c.tell(s.spans[0]); err != nil {
				return err
			} else if !passed {
				break
			}
			s.spans = s.spans[1:]
		}
		if len(s.spans) > 0 {
			left = append(left, s)
		}
	}
	c.telling = left
	return nil
}

// tell reports a span if the card has passed it.
func (c *Context) tell(p *Span) (passed bool, err error) {
	if passed, err := c.calls.Passed(p.end.handle); err != nil || !passed {
		return false, err
	}
	// Both ends are measured from the anchor, so that rounding keeps their order.
	var at [2]time.Duration
	for i, e := range []Event{p.start, p.end} {
		if at[i], err = c.calls.Elapsed(c.anchor.handle, e.handle); err != nil {
			return false, err
		}
	}
	c.events[timed] = append(c.events[timed], p.start, p.end)
	c.timing--
	if end := c.anchored.Add(at[1]); end.After(c.latest) {
		c.latest = end
	}
	p.tell(c.anchored.Add(at[0]), at[1]-at[0])
	return true, nil
}
