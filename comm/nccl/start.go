package nccl

/*
#include <stdlib.h>
#include "calls.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// unblocked is the version from which the library starts without blocking its caller.
const unblocked = 21400

// startsUnblocked reports whether the library can make communicators without blocking.
func (l *Library) startsUnblocked() bool {
	return l.Version >= unblocked && l.calls.CommInitRankConfig != nil
}

// starting is a communicator that the library is making. The library writes its address
// into C's memory, perhaps after the call has returned.
type starting struct {
	world    *world
	function string
	began    time.Time
	made     *unsafe.Pointer
	parent   unsafe.Pointer // that tells how a split goes on; nil: the communicator itself does
	returned chan error     // of the call, which runs on a thread of its own
	called   bool           // the call has returned
	code     C.int          // its status
}

// begin calls a function that makes a communicator. The call may hang: then it never
// returns.
func (w *world) begin(function string, parent unsafe.Pointer, f func(made *unsafe.Pointer) C.int) *starting {
	s := &starting{world: w, function: function, began: time.Now(), parent: parent, returned: make(chan error, 1),
		made: (*unsafe.Pointer)(C.calloc(1, C.size_t(unsafe.Sizeof(unsafe.Pointer(nil)))))}
	go func() {
		s.returned <- w.onThread(func() error {
			s.code = f(s.made)
			return nil
		})
	}()
	return s
}

// join begins to join the communicator of an identifier.
func (w *world) join(id C.unique_id, size, rank int) *starting {
	t := w.lib.calls
	if !w.lib.startsUnblocked() {
		return w.begin("CommInitRank", nil, func(made *unsafe.Pointer) C.int {
			return C.nccl_CommInitRank(t, made, C.int(size), id, C.int(rank))
		})
	}
	return w.begin("CommInitRankConfig", nil, func(made *unsafe.Pointer) C.int {
		return C.nccl_start(t, made, C.int(size), id, C.int(rank))
	})
}

// look reports whether the communicator is still being made, and why it cannot be. A library
// that does not block may return success before it has begun, as NCCL 2.28 does from a split.
func (s *starting) look() (pending bool, err error) {
	if !s.called {
		select {
		case err := <-s.returned:
			s.called = true
			if err != nil {
				return false, err
			}
		default:
			return true, nil
		}
	}
	lib := s.world.lib
	if s.code != inProgress {
		if err := lib.check(s.code, s.function); err != nil || !lib.startsUnblocked() {
			return false, err
		}
	}
	for _, of := range []unsafe.Pointer{s.parent, atomic.LoadPointer(s.made)} {
		if of == nil {
			continue
		}
		var now C.int
		if err := lib.check(C.nccl_CommGetAsyncError(lib.calls, of, &now), "CommGetAsyncError"); err != nil {
			return false, err
		}
		if now == inProgress {
			return true, nil
		}
		if now != success {
			return false, lib.check(now, s.function)
		}
	}
	return atomic.LoadPointer(s.made) == nil, nil
}

// It pauses between two looks at a start. Ranks tell each other after a round how far
// they are.
const (
	startPause = time.Millisecond
	startRound = 50 * time.Millisecond
)

// wait looks until the communicator is made or the time is up.
func (s *starting) wait(limit time.Duration) (pending bool, err error) {
	for until := time.Now().Add(limit); ; time.Sleep(startPause) {
		if pending, err = s.look(); !pending || time.Now().After(until) {
			return pending, err
		}
	}
}

// awaitAll waits until all ranks of a control have made their communicators. If one of
// them cannot, or not within the world's time limit, all ranks get the error, and all
// communicators of the world are aborted.
func (s *starting) awaitAll(control comm.Comm) (unsafe.Pointer, error) {
	for {
		pending, err := s.wait(startRound)
		v := []float64{0, 0, time.Since(s.began).Seconds()}
		if pending {
			v[0] = 1
		}
		if err != nil {
			v[1] = 1
		}
		if lost := control.Host().AllReduce(v, comm.Max); lost != nil {
			return nil, errors.Join(err, lost)
		}
		waits, failed := v[0] > 0, v[1] > 0
		if !waits && !failed {
			return s.end(false), nil
		}
		late := v[2] > s.world.timeout.Seconds()
		if !late && !failed {
			continue
		}
		s.end(pending)
		s.world.abort()
		if failed {
			return nil, together(control, err)
		}
		return nil, comm.Together(control, s.lateError(control, pending))
	}
}

// end makes the communicator one of the world's and returns it. It is nil where the call
// has not come so far.
func (s *starting) end(pending bool) unsafe.Pointer {
	if !s.called {
		return nil
	}
	w, link := s.world, *s.made
	if !pending { // otherwise the library may still write to it
		C.free(unsafe.Pointer(s.made))
	}
	if link != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.links = append(w.links, link)
	}
	return link
}

// lateError is the error, on all ranks, of a start that takes too long. It names the ranks that
// are not done.
func (s *starting) lateError(control comm.Comm, pending bool) error {
	all, err := comm.GatherJSON(control.Host().AllGather, pending)
	if err != nil {
		return err
	}
	var ranks []int
	for r, waits := range all {
		if waits {
			ranks = append(ranks, r)
		}
	}
	return s.timeout(" on ranks " + comm.ListRanks(ranks, 8))
}

func (s *starting) timeout(where string) error {
	return status.Hint(
		status.Peer(fmt.Errorf("%s: nccl%s was not done after %v%s", s.world.lib, s.function, s.world.timeout, where)),
		"comm.timeout is how long it may take; NCCL_DEBUG=INFO shows what the library waits for")
}

// awaitAlone waits for the communicator without the other ranks' main threads. It gives up when
// the world has failed, or after its time limit.
func (s *starting) awaitAlone() (unsafe.Pointer, error) {
	for {
		pending, err := s.wait(startRound)
		switch {
		case !pending && err == nil:
			return s.end(false), nil
		case err == nil && s.world.failure.Load() != nil:
			err = *s.world.failure.Load()
		case err == nil && time.Since(s.began) > s.world.timeout:
			err = s.timeout("")
		case err == nil:
			continue
		}
		if link := s.end(pending); link != nil && s.world.failure.Load() != nil {
			s.world.abort() // which may have passed it over
		}
		return nil, err
	}
}

// Most calls are done when they are looked at for the first times, without a pause. A pause of
// 20 µs, which lasts some 70 on Linux, lies between later looks.
const (
	eagerLooks = 100
	callPause  = 20 * time.Microsecond
)

// awaitCall waits until a call has been carried out that a communicator was given and that
// returned with a status. The library may go on with it after that, even after success: NCCL
// 2.28 did so with windows. It gives up when the world has failed.
func (w *world) awaitCall(link unsafe.Pointer, code C.int, function string) error {
	if code != inProgress {
		if err := w.lib.check(code, function); err != nil || !w.lib.startsUnblocked() {
			return err
		}
	}
	for looks := 0; ; looks++ {
		if e := w.failure.Load(); e != nil {
			return *e
		}
		pending, err := w.state(link)
		if err != nil {
			w.noteLost(err, false)
		}
		if !pending {
			return err
		}
		if looks < eagerLooks {
			runtime.Gosched()
		} else {
			time.Sleep(callPause)
		}
	}
}
