package nccl

/*
#include "calls.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
)

// backlog is how many started all-reduces may wait for agreement before callers block.
const backlog = 1024

// request is an all-reduce under way, or a place among them.
type request struct {
	group  *Group
	call   string
	buf    *gpu.Buf     // nil: this rank cannot take part
	filled *accel.Event // when the main stream has written buf
	ballot []float64    // summed over the ranks; the identifier follows
	agreed comm.Request
	done   chan struct{}

	// Set before done is closed.
	place *accel.Event // of its end
	err   error
}

// drain waits until everything that was started has been given to the library. All ranks
// have started the same when they call it, so it takes no longer than an agreement.
func (w *world) drain() {
	if w.started > 0 {
		r := &request{done: make(chan struct{})}
		w.jobs <- r
		select {
		case <-r.done:
		case <-w.fell: // some of it never will be
		}
	}
}

// StartAllReduce begins an AllReduce on the second stream.
func (g *Group) StartAllReduce(x device.Buf) (comm.Request, error) {
	w := g.world
	if failed := w.failure.Load(); failed != nil {
		return nil, *failed
	}
	b, err := g.ownBuffer("started all-reduce", x)
	r := &request{group: g, buf: b, agreed: comm.Done, done: make(chan struct{}),
		call: fmt.Sprintf("started all-reduce of %d %v", x.Len(), x.Type())}
	r.ballot = ballot(r.call, err)
	if g.started == 0 {
		id, idErr := g.identifier()
		if idErr != nil {
			return nil, idErr
		}
		r.ballot = append(r.ballot, id...)
	}
	g.started++
	w.started++
	if g.Size() > 1 {
		var lost error
		if r.agreed, lost = g.control.StartAllReduce(device.Wrap(w.host, r.ballot)); lost != nil {
			return nil, lost
		}
	}
	if err != nil {
		r.buf = nil
	} else {
		r.filled = w.card.Mark(w.card.Main())
	}
	w.jobs <- r
	if err != nil {
		return nil, err // the others' Wait says so
	}
	return r, nil
}

// idWords is the length of an identifier in numbers of 32 bits.
const idWords = unsafe.Sizeof(C.unique_id{}) / 4

// identifier returns the identifier of the group's second communicator, 32 bits in each
// number, and zeros on all ranks but the first. The group's first started all-reduce
// spreads it.
func (g *Group) identifier() ([]float64, error) {
	var id C.unique_id
	if g.Rank() == 0 {
		if err := g.world.lib.check(C.nccl_GetUniqueId(g.world.lib.calls, &id), "GetUniqueId"); err != nil {
			return nil, err
		}
	}
	words := unsafe.Slice((*uint32)(unsafe.Pointer(&id)), idWords)
	v := make([]float64, idWords)
	for i, u := range words {
		v[i] = float64(u)
	}
	return v, nil
}

// Wait makes the main stream wait for the all-reduce, and the host until all
// ranks have started it.
func (r *request) Wait() error {
	w := r.group.world
	select {
	case <-r.done:
	case <-w.fell:
		return *w.failure.Load()
	}
	if r.err != nil {
		return r.err
	}
	defer w.dev.Clock.Main(device.MarkWaitForSums)()
	w.card.After(w.card.Main(), r.place)
	return w.err()
}

// serve gives requests to the library, one after the other.
func (w *world) serve(jobs <-chan *request) {
	runtime.LockOSThread() // for good: the thread ends with this goroutine
	bound := w.card.Bind()
	for r := range jobs {
		if r.group != nil {
			if r.err = bound; bound == nil {
				r.err = r.run()
			}
			if r.err == nil {
				r.place = w.card.Mark(w.stream)
			}
		}
		close(r.done)
	}
}

// run waits for the agreement and makes the call.
func (r *request) run() error {
	g := r.group
	w := g.world
	if err := r.agreed.Wait(); err != nil {
		return err
	}
	if id := r.ballot[2:]; len(id) > 0 {
		g.id = id
	}
	if !haveAgreed(r.call, r.ballot, g.Size()) {
		return fmt.Errorf("comm: the ranks do not agree on a call: rank %d made a %s, another a different one or one with an error", g.Rank(), r.call)
	}
	if err := g.join2(); err != nil {
		return w.judgeCall(err)
	}
	// Not before: the stream would wait for the buffers of later all-reduces as well.
	w.card.After(w.stream, r.filled)
	v := numbersOf(r.buf)
	defer w.dev.Clock.Time(w.stream, device.MarkAllReduce)()
	defer w.watchCall(w.stream, "started ncclAllReduce", v.bytes)()
	// The card's thread must have issued all earlier work to the stream by now.
	if err := w.card.Do(func() error { return nil }); err != nil {
		return err
	}
	if err := w.err(); err != nil {
		return err
	}
	code := C.nccl_AllReduce(w.lib.calls, v.at, v.at, v.n, v.kind, sum, g.second, w.stream.Handle())
	return w.judgeCall(w.awaitCall(g.second, code, "AllReduce"))
}

// join2 makes the group's second communicator if it does not exist yet.
func (g *Group) join2() (err error) {
	if g.second != nil {
		return nil
	}
	var id C.unique_id
	words := unsafe.Slice((*uint32)(unsafe.Pointer(&id)), idWords)
	for i, v := range g.id {
		words[i] = uint32(v)
	}
	g.second, err = g.world.join(id, g.Size(), g.Rank()).awaitAlone()
	return err
}
