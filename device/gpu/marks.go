package gpu

import (
	"time"

	"github.com/kirchhoff-lsm/lsm/device/driver"
)

// Span is a stretch of the card's work by its own clock.
type Span struct {
	Lane  string // of the stream that worked
	Name  string
	Begin time.Time     // on this machine's clock, see [driver.Context.Time]
	Took  time.Duration // in which the card may also have waited for work
	Own   time.Duration // Took without the spans inside it
}

// stretch is a Span under way.
type stretch struct {
	around *stretch      // nil: none
	inner  time.Duration // of the spans inside it that ended; the context's thread alone touches it
}

// Mark lets OnMark time, by the host's clock, what the caller does until end is called.
func (d *Device) Mark(name string) (end func()) {
	if d.OnMark == nil {
		return nothing
	}
	return d.OnMark(name)
}

func nothing() {}

// Span times the work that a stream is given until end is called, on the card's own clock
// and without waiting, and reports it to OnSpan.
func (d *Device) Span(s *driver.Stream, name string) (end func()) { return d.span(s, name, false) }

// spanAlone is Span for work that counts to the span around it, if there is one.
func (d *Device) spanAlone(s *driver.Stream, name string) (end func()) { return d.span(s, name, true) }

func (d *Device) span(s *driver.Stream, name string, alone bool) (end func()) {
	if d.OnSpan == nil {
		return nothing
	}
	p := &stretch{}
	d.spans.Lock()
	p.around = d.spans.open[s]
	if alone && p.around != nil {
		d.spans.Unlock()
		return nothing
	}
	d.spans.open[s] = p
	d.spans.Unlock()
	timed := d.context.Time(s, func(begin time.Time, took time.Duration) {
		if p.around != nil {
			p.around.inner += took
		}
		d.OnSpan(Span{s.Lane, name, begin, took, took - p.inner})
	})
	return func() {
		d.spans.Lock()
		d.spans.open[s] = p.around
		d.spans.Unlock()
		timed.End()
	}
}
