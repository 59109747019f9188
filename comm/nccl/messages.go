package nccl

/*
#include "calls.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// refused is the length that a sender announces when it cannot send.
const refused = -1

// SendRecv sends one buffer and receives another. Sender and receiver first exchange type
// and length, the receiver's consent, and how many all-reduces each has started. This
// takes two small messages through the control for each message. If type or length do not
// match, nothing is sent and both ends get an error. If both have started equally many
// all-reduces, these all reach the library first.
func (g *Group) SendRecv(send device.Buf, to int, recv device.Buf, from int) error {
	if err := comm.CheckPeers(g, send, to, recv, from); err != nil {
		return err
	}
	if failed := g.world.failure.Load(); failed != nil && (g.world.back.Load() == nil || g.world.hasLeft()) {
		return *failed
	}
	out, offer, outErr := g.end(send, refused)
	in, want, inErr := g.end(recv, refused-1)
	wrong := errors.Join(outErr, inErr)
	started := g.world.started
	offered, err := g.exchange(append(offer[:], started), to, from)
	if err != nil {
		return errors.Join(wrong, err)
	}
	fits := int64(0)
	if recv != nil && [2]int64(offered[:2]) == want {
		fits = 1
	}
	accepted, err := g.exchange([]int64{fits, started}, from, to)
	if err != nil {
		return errors.Join(wrong, err)
	}
	receive, deliver := fits == 1, send != nil && accepted[0] == 1
	if recv != nil && !receive && want[1] >= 0 {
		wrong = errors.Join(wrong, g.misfit(recv, from, offered))
	}
	if send != nil && !deliver && offer[1] >= 0 {
		wrong = errors.Join(wrong, fmt.Errorf("comm: rank %d does not take the %d %v of rank %d", to, send.Len(), send.Type(), g.Rank()))
	}
	deliver, receive = deliver && out.n > 0, receive && in.n > 0
	if !deliver && !receive {
		return wrong
	}
	if (recv == nil || offered[2] == started) && (send == nil || accepted[1] == started) {
		g.world.drain() // the cards of these ranks have one order then
	}
	return errors.Join(wrong, g.post("Send", device.MarkSendRecv, max(out.bytes, in.bytes), func(t *C.nccl_calls, stream unsafe.Pointer) C.int {
		var calls []func() C.int
		if deliver {
			calls = append(calls, func() C.int { return C.nccl_Send(t, out.at, out.n, out.kind, C.int(to), g.link, stream) })
		}
		if receive {
			calls = append(calls, func() C.int { return C.nccl_Recv(t, in.at, in.n, in.kind, C.int(from), g.link, stream) })
		}
		return callGrouped(t, calls...)
	}))
}

// end describes one end of a message and returns its type and length for the other end.
// If this rank cannot take part, the length is that of a refusal.
func (g *Group) end(x device.Buf, refusal int64) (n numbers, says [2]int64, err error) {
	if x == nil {
		return n, says, nil
	}
	b, err := g.ownBuffer("message", x)
	if err != nil {
		return n, [2]int64{0, refusal}, err
	}
	return numbersOf(b), [2]int64{int64(b.Type()), int64(b.Len())}, nil
}

// exchange sends a few numbers to one rank and receives as many from another, through the
// control. None means no rank.
func (g *Group) exchange(x []int64, to, from int) ([]int64, error) {
	y := make([]int64, len(x))
	var send, recv device.Buf
	if to != comm.None {
		send = device.Wrap(g.world.host, x)
	}
	if from != comm.None {
		recv = device.Wrap(g.world.host, y)
	}
	return y, g.control.SendRecv(send, to, recv, from)
}

func (g *Group) misfit(recv device.Buf, from int, offered []int64) error {
	what := fmt.Sprintf("sends %d %v", offered[1], device.Type(offered[0]))
	if offered[1] == refused {
		what = "cannot send"
	}
	return fmt.Errorf("comm: rank %d waits for %d %v from rank %d, which %s", g.Rank(), recv.Len(), recv.Type(), from, what)
}
