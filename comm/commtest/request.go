package commtest

import (
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// request is an all-reduce under way among goroutines. It ends when all ranks
// have started it, and x gets the result in Wait: code that reads x before sees
// the old numbers, and what it writes there is lost.
type request struct {
	x    device.Buf
	op   comm.Op
	done <-chan []any
}

// StartAllReduce takes a copy of x, which a goroutine brings to where the
// requests of this number meet.
func (r *rank) StartAllReduce(x device.Buf, op comm.Op) (comm.Request, error) {
	if err := comm.CheckOp(x.Type(), op); err != nil {
		return nil, err
	}
	mine, err := keep(x)
	if err != nil {
		return nil, err
	}
	meet := r.hub.request(r.started)
	r.started++
	done := make(chan []any, 1)
	go func() { done <- meet.gather(r.me, mine) }()
	return &request{x, op, done}, nil
}

func (q *request) Wait() error { return combine(q.x, <-q.done, 0, q.op) }

// request returns where all ranks meet for their collective of that number.
func (h *hub) request(number int) *hub {
	h.mu.Lock()
	defer h.mu.Unlock()
	meet := h.requests[number]
	if meet == nil {
		meet = newHub(len(h.slots))
		h.requests[number] = meet
	}
	if meet.expected++; meet.expected == len(h.slots) {
		delete(h.requests, number) // all ranks have it
	}
	return meet
}

// Accumulate is AllReduce: ranks of one process have all memory in common.
func (r *rank) Accumulate(x device.Buf) error { return r.AllReduce(x, comm.Sum) }
