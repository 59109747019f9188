package nccl

/*
#include "calls.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
)

// world holds what all groups of a rank share: the library, the card, and the thread and
// stream of started all-reduces.
type world struct {
	lib  *Library
	dev  *gpu.Device
	card *accel.Context
	host *device.Host

	// Started all-reduces run on a stream of their own. A thread gives them to the library
	// in the order of the calls, each once all ranks have agreed on it.
	stream  *accel.Stream
	started int64 // by all groups
	jobs    chan *request

	groups []*Group // in the order in which they were made, the same on all ranks

	timeout time.Duration            // of the making of a communicator
	back    atomic.Pointer[recovery] // nil: a failure of the library ends the run
	noting  sync.Mutex               // a failure
	fell    chan struct{}            // closed when the library has failed
	aborted chan struct{}            // closed when its communicators are aborted then
	stuck   atomic.Int32             // calls that take longer than they may

	mu      sync.Mutex
	links   []unsafe.Pointer // communicators in use
	failure atomic.Pointer[error]
	ended   chan struct{}
}

func newWorld(lib *Library, dev *gpu.Device, timeout time.Duration) (*world, error) {
	w := &world{lib: lib, dev: dev, card: dev.Context(), host: device.NewHost(1), timeout: timeout,
		fell: make(chan struct{}), aborted: make(chan struct{}), ended: make(chan struct{})}
	var err error
	if w.stream, err = w.card.NewStream(device.LaneGPUSums); err != nil {
		return nil, err
	}
	w.jobs = make(chan *request, backlog)
	go w.serve(w.jobs)
	return w, nil
}

// onThread runs f on a separate thread with the card's context. f may wait for other
// ranks, which the card's own thread must not do.
func (w *world) onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this goroutine
		err := w.card.Bind()
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// close gives all communicators back.
func (w *world) close() error {
	close(w.jobs)
	w.card.CloseStream(w.stream)
	close(w.ended)
	w.mu.Lock()
	aborted := len(w.links) == 0
	w.mu.Unlock()
	if aborted {
		return nil
	}
	return w.onThread(func() error {
		var err error
		for _, l := range slices.Backward(w.take()) {
			if code := C.nccl_CommDestroy(w.lib.calls, l); code != inProgress {
				err = errors.Join(err, w.lib.check(code, "CommDestroy"))
			}
		}
		return err
	})
}

func (w *world) take() []unsafe.Pointer {
	w.mu.Lock()
	defer w.mu.Unlock()
	links := w.links
	w.links = nil
	return links
}

// lookEvery is the interval between checks for asynchronous errors. A check reads a
// little memory for each communicator.
const lookEvery = 200 * time.Millisecond

// look watches for asynchronous errors until the world is closed.
func (w *world) look() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.ended:
			return
		case <-tick.C:
			if err := w.async(); err != nil {
				w.noteLost(err, false)
				return
			}
		}
	}
}

func (w *world) async() error {
	w.mu.Lock()
	links := slices.Clone(w.links)
	w.mu.Unlock()
	for _, l := range links {
		if _, err := w.state(l); err != nil {
			return err
		}
	}
	return nil
}

// state reports whether a communicator still works on a call, and its asynchronous error.
// One that was aborted has neither.
func (w *world) state(link unsafe.Pointer) (pending bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.links, link) {
		return false, nil
	}
	var code C.int
	err = w.lib.check(C.nccl_CommGetAsyncError(w.lib.calls, link, &code), "CommGetAsyncError")
	if err == nil && code != inProgress {
		err = w.lib.check(code, "CommGetAsyncError")
	}
	if err != nil {
		err = fmt.Errorf("%s: a collective failed: %w", w.lib, err)
	}
	return code == inProgress, err
}

// fail makes all later calls fail and ends the work that is under way.
func (w *world) fail(err error) {
	w.failure.CompareAndSwap(nil, &err)
	w.card.Fail(err)
	w.abort()
}

// err returns an error that arose outside the calls, or nil.
func (w *world) err() error {
	if e := w.failure.Load(); e != nil {
		return *e
	}
	return w.card.Err()
}

var errAborted = errors.New("the communicators were aborted")

// abortTime is how long an abort may take before the rank goes on without waiting for it.
const abortTime = 2 * time.Second

// abort ends all communicators. Kernels that wait in them come to their end.
func (w *world) abort() {
	w.failure.CompareAndSwap(nil, &errAborted)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.onThread(func() error {
			for _, l := range w.take() {
				C.nccl_CommAbort(w.lib.calls, l) // nothing can be done about an error
			}
			return nil
		})
	}()
	select {
	case <-done:
	case <-time.After(abortTime):
	}
}
