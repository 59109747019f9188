package sim

import (
	"fmt"
	"sync"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// box holds the messages of one rank to another, in order.
type box struct {
	mu      sync.Mutex
	came    sync.Cond
	letters []letter
	waits   bool // the receiver waits for one
}

// letter is a message.
type letter struct {
	x       device.Buf
	written float64 // s, when it was sent
	values  any
}

func (g *group) box(from, to int) *box {
	g.mu.Lock()
	defer g.mu.Unlock()
	way := [2]int{from, to}
	b := g.mail[way]
	if b == nil {
		b = &box{}
		b.came.L = &b.mu
		g.mail[way] = b
	}
	return b
}

// SendRecv moves a message from when both ends are there. The sender goes on when the message
// would have arrived had the receiver been there, so messages are buffered.
func (r *rank) SendRecv(send device.Buf, to int, recv device.Buf, from int) error {
	if err := comm.CheckPeers(r, send, to, recv, from); err != nil {
		return err
	}
	entered := r.clock.now
	if send != nil {
		values, err := keep(send)
		if err != nil {
			return err
		}
		b := r.box(r.me, to)
		b.mu.Lock()
		b.letters = append(b.letters, letter{send, entered, values})
		if b.waits {
			b.waits = false
			r.clock.turns.resume(1)
		}
		b.mu.Unlock()
		b.came.Signal()
		r.clock.until(entered + r.model.message(r.ranks[r.me], r.ranks[to], bytesOf(send)))
	}
	if recv == nil {
		return nil
	}
	b := r.box(from, r.me)
	b.mu.Lock()
	if b.waits = len(b.letters) == 0; b.waits {
		r.clock.turns.rest()
	}
	for len(b.letters) == 0 {
		b.came.Wait()
	}
	got := b.letters[0]
	b.letters = b.letters[1:]
	b.mu.Unlock()
	r.clock.until(max(entered, got.written) + r.model.message(r.ranks[from], r.ranks[r.me], bytesOf(got.x)))
	if got.x.Len() != recv.Len() || got.x.Type() != recv.Type() {
		return fmt.Errorf("comm: rank %d waits for %d %v from rank %d, which sends %d %v",
			r.me, recv.Len(), recv.Type(), from, got.x.Len(), got.x.Type())
	}
	return take(recv, got.values)
}
