package accel

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Context is one card in use by this process. All methods may be called from
// any goroutine; commands run in the order of the calls.
type Context struct {
	Card     Card
	calls    Calls
	main     *Stream
	commands chan command
	ended    chan struct{}
	failure  atomic.Pointer[error] // of the first posted command that failed
	cut      atomic.Pointer[error] // see Cut
	awaited  atomic.Bool           // somebody waits for the card

	// Touched only by the thread.
	events   [2][]Event // those that are free: untimed and timed
	telling  []*Stream  // with spans that have ended and were not reported yet
	timing   int        // spans begun and not reported yet
	clock    *Stream    // of only the anchor; nil: no span has begun
	anchor   Event      // from which the beginnings of spans are measured
	anchored time.Time  // when the card passed it
	latest   time.Time  // end of a span that was reported
}

// command is one task for the context's thread.
type command struct {
	run  func() error
	done chan<- error // gets run's error, or the end of the stream's work; nil: no caller waits
	end  *Stream      // with done: wait for what this stream was asked so far
	stop bool
}

var errClosed = errors.New("the card was given back")

// backlog is how many commands may wait for the thread before callers block.
const backlog = 256

// Start starts the thread that owns a card's context and makes its calls.
func Start(c Card, calls Calls) (*Context, error) {
	x := &Context{Card: c, calls: calls, commands: make(chan command, backlog), ended: make(chan struct{})}
	started := make(chan error, 1)
	go x.serve(started)
	if err := <-started; err != nil {
		return nil, status.Resource(fmt.Errorf("card %d (%s): %w", c.Index, c.Name, err))
	}
	return x, nil
}

// Main is the stream for everything that needs no stream of its own.
func (c *Context) Main() *Stream { return c.main }

// Close waits for all work and then releases the card. It does so once.
func (c *Context) Close() error {
	select {
	case <-c.ended:
		return nil
	default:
	}
	err := c.Finish(c.main)
	c.send(command{stop: true})
	<-c.ended
	return err
}

// send hands a command to the thread. It returns false if the thread has ended.
func (c *Context) send(cmd command) bool {
	select {
	case c.commands <- cmd:
		return true
	case <-c.ended:
		return false
	}
}

// await waits for the result of a command that was sent.
func (c *Context) await(done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-c.ended:
	}
	select { // the answer may have come last of all
	case err := <-done:
		return err
	default:
		return errClosed
	}
}

// Do runs f on the context's thread, after all earlier commands, and waits for it. The
// card's context is current in f.
func (c *Context) Do(f func() error) error {
	done := make(chan error, 1)
	if !c.send(command{run: f, done: done}) {
		return errClosed
	}
	return c.await(done)
}

// Post runs f on the context's thread, after all earlier commands, without waiting. If f
// fails, all later work fails.
func (c *Context) Post(f func() error) { c.send(command{run: f}) }

// Err is the error of the first posted command that has failed so far, or nil.
func (c *Context) Err() error {
	if e := c.failure.Load(); e != nil {
		err := fmt.Errorf("card %d (%s): %w", c.Card.Index, c.Card.Name, *e)
		if status.Code(err) != status.Other {
			return err // of a library that knows better what it means
		}
		return status.Resource(err)
	}
	return nil
}

// Finish waits until the card has done all work that was given to a stream.
func (c *Context) Finish(s *Stream) error { return c.Begin(s)() }

// Begin marks this place in a stream and returns a function that waits until the card has
// reached it. That function must be called once.
func (c *Context) Begin(s *Stream) (wait func() error) {
	done := make(chan error, 1)
	if !c.send(command{done: done, end: s}) {
		return func() error { return errClosed }
	}
	return func() error { return c.await(done) }
}

// Awaited reports whether a caller waits for the card.
func (c *Context) Awaited() bool { return c.awaited.Load() }

// waiting is a caller that waits until an event has passed.
type waiting struct {
	event Event
	done  chan<- error
}

// While a caller waits, the thread polls the event this many times without a pause, then
// at this interval, and after many polls more rarely.
const (
	eagerPolls = 400
	pollPause  = 50 * time.Microsecond
	manyPolls  = 20_000
	rarePause  = time.Millisecond
)

// serve owns the card's context until it is told to stop.
func (c *Context) serve(started chan<- error) {
	runtime.LockOSThread() // for good: the thread ends with this goroutine
	defer close(c.ended)
	if err := c.open(); err != nil {
		started <- err
		return
	}
	defer c.close()
	started <- nil

	var waits []waiting
	pause := time.NewTimer(time.Hour)
	defer pause.Stop()
	for polls := 0; ; polls++ {
		cmd, ok := next(c.commands, len(waits) > 0, polls, pause)
		if ok {
			polls = 0
			if cmd.stop {
				return
			}
			if w, ok := c.runCommand(cmd); ok {
				waits = append(waits, w)
			}
		}
		before := len(waits)
		if waits = c.poll(waits); len(waits) < before {
			polls = 0
		}
		c.awaited.Store(len(waits) > 0)
	}
}

// next returns the next command, if there is one yet.
func next(commands <-chan command, somebodyWaits bool, polls int, pause *time.Timer) (cmd command, ok bool) {
	switch {
	case !somebodyWaits:
		return <-commands, true
	case polls < eagerPolls:
		select {
		case cmd = <-commands:
			return cmd, true
		default:
			return cmd, false
		}
	}
	if polls < manyPolls {
		pause.Reset(pollPause)
	} else {
		pause.Reset(rarePause)
	}
	select {
	case cmd = <-commands:
		return cmd, true
	case <-pause.C:
		return cmd, false
	}
}

// runCommand runs a command. If a caller waits for an event of the command, it returns that caller.
func (c *Context) runCommand(cmd command) (waiting, bool) {
	err := c.Err()
	var event Event
	if err == nil && cmd.end != nil {
		err = c.record(&event, cmd.end, untimed)
	} else if err == nil {
		err = cmd.run()
	}
	switch {
	case err == nil && cmd.end != nil:
		return waiting{event, cmd.done}, true
	case cmd.done != nil:
		cmd.done <- err
	case err != nil:
		c.Fail(err)
	}
	return waiting{}, false
}

// Fail makes all later work fail with the given error, which may come from outside the
// context. Callers that wait for the card get it once the card has finished its work.
// Only the first error counts.
func (c *Context) Fail(err error) { c.failure.CompareAndSwap(nil, &err) }

// Cut makes callers that wait for the card get the given error, because what it computes
// is worth nothing. The card goes on with its commands. Cut(nil) ends that.
func (c *Context) Cut(err error) {
	if err == nil {
		c.cut.Store(nil)
		return
	}
	c.cut.Store(&err)
}

// poll answers the callers whose event has passed and returns the others.
func (c *Context) poll(waits []waiting) []waiting {
	kept := waits[:0]
	for _, w := range waits {
		passed, err := c.calls.Passed(w.event.handle)
		if err == nil && !passed {
			kept = append(kept, w)
			continue
		}
		if err == nil {
			err = c.reportSpans(math.MaxInt)
		}
		if err != nil {
			c.Fail(err) // of a kernel perhaps, found out now
		}
		c.events[untimed] = append(c.events[untimed], w.event)
		err = c.Err()
		if cut := c.cut.Load(); err == nil && cut != nil {
			err = *cut
		}
		w.done <- err
	}
	clear(waits[len(kept):])
	return kept
}

// open makes the card's context current on this thread.
func (c *Context) open() error {
	err := c.calls.Bind()
	if err == nil {
		c.main, err = c.newStream(device.LaneGPU)
	}
	if err != nil {
		c.calls.Close() // otherwise a card that failed stays so in this process
	}
	return err
}

// Bind makes the card's context current on the calling thread of the system, to
// which the goroutine must be locked.
func (c *Context) Bind() error { return status.Resource(c.calls.Bind()) }

// close releases the context with everything that it holds. Errors are ignored, since
// nothing can be done about them here.
func (c *Context) close() {
	if c.clock != nil {
		_ = c.calls.CloseStream(c.clock.handle)
	}
	_ = c.calls.CloseStream(c.main.handle)
	c.calls.Close()
}
