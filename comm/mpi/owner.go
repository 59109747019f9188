package mpi

// #cgo CFLAGS: -O3 -Wall
// #cgo LDFLAGS: -ldl -lm
// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// owner is the goroutine that makes every call of MPI, on one thread.
type owner struct {
	jobs    chan job
	pending []*request // in the order they were started; its own
	// flags lies in C memory, where lsm_poll reads it. wanted counts the jobs on their
	// way and ends a poll; waiting counts the callers that wait for a request.
	flags *flags
}

type flags struct{ wanted, waiting int32 }

// job is one or more MPI calls that return an error code, and a function that receives
// the resulting fault.
type job struct {
	run  func() C.int
	then func(fault)
}

// fault is an error code of MPI and its text, "" if there is none.
type fault struct {
	code int
	text string
}

func newOwner() *owner {
	o := &owner{
		jobs:  make(chan job, 64),
		flags: (*flags)(C.calloc(1, C.size_t(unsafe.Sizeof(flags{})))),
	}
	go o.work()
	return o
}

// do has the owner run f and returns its fault.
func (o *owner) do(f func() C.int) fault {
	done := make(chan fault, 1)
	o.post(f, func(f fault) { done <- f })
	return <-done
}

// post has the owner run f, after all jobs that were posted before, and returns at once.
func (o *owner) post(f func() C.int, then func(fault)) {
	atomic.AddInt32(&o.flags.wanted, 1)
	o.jobs <- job{f, then}
}

func (o *owner) work() {
	runtime.LockOSThread()
	for {
		// An announced job arrives at once, so waiting for it holds nothing up.
		if len(o.pending) == 0 || atomic.LoadInt32(&o.flags.wanted) > 0 {
			j := <-o.jobs
			atomic.AddInt32(&o.flags.wanted, -1)
			j.then(faultOf(j.run()))
			continue
		}
		o.poll()
	}
}

// poll keeps the requests going until the first of them is done or a job comes.
// Testing the first moves the data of all.
func (o *owner) poll() {
	first := o.pending[0]
	var done C.int
	f := faultOf(C.lsm_poll(first.batch, (*C.int32_t)(&o.flags.wanted), (*C.int32_t)(&o.flags.waiting), &done))
	if f.code == 0 && done == 0 {
		return
	}
	C.lsm_batch_free(first.batch)
	o.pending = o.pending[1:]
	first.ended = time.Now()
	first.done <- f
}

// faultOf looks up the text of an error code. Only the owner may call it.
func faultOf(code C.int) fault {
	if code == 0 {
		return fault{}
	}
	var text [512]C.char
	C.lsm_error_text(code, &text[0], C.int(len(text)))
	return fault{int(code), C.GoString(&text[0])}
}

// request is an all-reduce under way.
type request struct {
	*reached
	group *group
	batch *C.lsm_batch
	done  chan fault
	ended time.Time // set before done
}

func (g *group) StartAllReduce(x device.Buf) (comm.Request, error) {
	b, err := g.world.reach(x, false)
	if err != nil {
		return nil, err
	}
	r := &request{reached: b, group: g, done: make(chan fault, 1)}
	w := g.world
	// Starting a long collective also takes a while, so the owner does it.
	w.post(func() C.int {
		return C.lsm_start_allreduce(g.buffers, b.at, b.n, b.kind, C.int(limit), &r.batch)
	}, func(f fault) {
		if f.code != 0 {
			r.done <- f
			return
		}
		w.pending = append(w.pending, r)
	})
	return r, nil
}

func (r *request) Wait() error {
	waiting := &r.group.world.flags.waiting
	atomic.AddInt32(waiting, 1)
	f := <-r.done
	atomic.AddInt32(waiting, -1)
	return r.finish(r.group.nameFailure("non-blocking all-reduce", f))
}

// Ended is when the owner saw that the sum was done.
func (r *request) Ended() time.Time { return r.ended }
