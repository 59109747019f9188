package nccl

import (
	"fmt"
	"time"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// slowest is the lowest credible speed of a call, in bytes a second.
const slowest = 10e6

// watchCall begins to watch over a call that is about to be given to a stream. The function
// that it returns is called when the stream has it.
//
// A call that does not end is a failure of the library if the run can go on without it.
// The call may take the world's time limit and what its bytes take, from when this card has
// come to it. It may also take as long as this card itself took to come to it, since the
// other cards may be slower. If the run cannot go on, this card does not count as working
// any more, which leaves it to a watch to judge.
func (w *world) watchCall(s *accel.Stream, what string, bytes int) (given func()) {
	limit := w.timeout + time.Duration(float64(bytes)/slowest*float64(time.Second))
	asked, reached := time.Now(), w.card.Begin(s)
	return func() {
		ended := w.card.Begin(s)
		go func() {
			if reached() != nil {
				_ = ended() // who needs the result waits for the card, and gets its error
				return
			}
			limit += time.Since(asked)
			late := time.AfterFunc(limit, func() {
				w.stuck.Add(1)
				if w.back.Load() != nil {
					w.noteLost(status.Peer(fmt.Errorf("%s: %s of %d bytes did not end for %.3g s", w.lib, what, bytes, limit.Seconds())), false)
				}
			})
			_ = ended()
			if !late.Stop() {
				w.stuck.Add(-1)
			}
		}()
	}
}

// Stuck reports whether a call of the library takes longer on this card than it may.
func (g *Group) Stuck() bool { return g.world.stuck.Load() > 0 }
