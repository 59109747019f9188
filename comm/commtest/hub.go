package commtest

import (
	"sync"

	"github.com/kirchhoff-lsm/lsm/device"
)

// hub is where the ranks of one communicator meet.
type hub struct {
	mu    sync.Mutex
	met   *sync.Cond
	slots []any
	here  int
	round int
	out   []any
	// mail holds the messages that were sent and not yet received, by sender and receiver.
	mail map[[2]int][]device.Buf
	// requests holds the meeting places of the collectives under way, by their number.
	requests map[int]*hub
	expected int // ranks that know of this hub, where it is a request
}

func newHub(n int) *hub {
	h := &hub{slots: make([]any, n), mail: map[[2]int][]device.Buf{}, requests: map[int]*hub{}}
	h.met = sync.NewCond(&h.mu)
	return h
}

// gather returns what every rank brought, in rank order, once all have come.
func (h *hub) gather(rank int, v any) []any {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.slots[rank] = v
	h.here++
	if h.here == len(h.slots) {
		h.out = append([]any(nil), h.slots...)
		h.here = 0
		h.round++
		h.met.Broadcast()
		return h.out
	}
	// No later round can end before this rank has left, so h.out stays this one's.
	for round := h.round; h.round == round; {
		h.met.Wait()
	}
	return h.out
}

// post leaves a message for a rank.
func (h *hub) post(from, to int, x device.Buf) {
	h.mu.Lock()
	defer h.mu.Unlock()
	way := [2]int{from, to}
	h.mail[way] = append(h.mail[way], x)
	h.met.Broadcast()
}

// collect waits for the next message of a rank.
func (h *hub) collect(from, to int) device.Buf {
	h.mu.Lock()
	defer h.mu.Unlock()
	way := [2]int{from, to}
	for len(h.mail[way]) == 0 {
		h.met.Wait()
	}
	x := h.mail[way][0]
	h.mail[way] = h.mail[way][1:]
	return x
}

// request returns the meeting place of the collective of that number.
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
