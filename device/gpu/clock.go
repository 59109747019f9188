package gpu

import (
	"sync"
	"time"

	"github.com/kirchhoff-lsm/lsm/device/accel"
)

// Span is a stretch of the card's work by its own clock.
type Span struct {
	Lane  string // of the stream that worked
	Name  string
	Begin time.Time     // on this machine's clock, see [accel.Context.Time]
	Took  time.Duration // in which the card may also have waited for work
	Own   time.Duration // Took without the spans inside it
}

// Clock times what the card does, on the card's own clock and without waiting.
type Clock struct {
	// OnSpan receives what was timed, at the latest before the next Sync returns. If it is
	// nil, nothing is timed, and the card gets no calls for it. It is set before the device
	// is used, must not use the device, and may be called from any goroutine.
	OnSpan func(Span)

	context *accel.Context
	lock    sync.Mutex
	open    map[*accel.Stream]*stretch // the innermost of each stream
}

// stretch is a Span under way.
type stretch struct {
	around *stretch      // nil: none
	inner  time.Duration // of the spans inside it that ended; the context's thread alone touches it
}

// Time times the work that a stream is given until end is called.
func (c *Clock) Time(s *accel.Stream, name string) (end func()) { return c.time(s, name, false) }

// Main is Time for the main stream.
func (c *Clock) Main(name string) (end func()) { return c.time(c.context.Main(), name, false) }

// outside is Time for work that counts to the span around it, if there is one.
func (c *Clock) outside(s *accel.Stream, name string) (end func()) { return c.time(s, name, true) }

func nothing() {}

func (c *Clock) time(s *accel.Stream, name string, outside bool) (end func()) {
	if c.OnSpan == nil {
		return nothing
	}
	p := &stretch{}
	c.lock.Lock()
	p.around = c.open[s]
	if outside && p.around != nil {
		c.lock.Unlock()
		return nothing
	}
	c.open[s] = p
	c.lock.Unlock()
	timed := c.context.Time(s, func(begin time.Time, took time.Duration) {
		if p.around != nil {
			p.around.inner += took
		}
		c.OnSpan(Span{s.Lane, name, begin, took, took - p.inner})
	})
	return func() {
		c.lock.Lock()
		c.open[s] = p.around
		c.lock.Unlock()
		timed.End()
	}
}
