//go:build mpi

package mpi

// #include "shim.h"
import "C"

import (
	"sync/atomic"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// request is an all-reduce under way.
type request struct {
	*reached
	group *group
	batch *C.lsm_batch
	done  chan fault
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
	defer r.release()
	if err := r.group.failed("non-blocking all-reduce", f); err != nil {
		return err
	}
	return r.Back()
}
