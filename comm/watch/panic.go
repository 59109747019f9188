package watch

import (
	"fmt"
	"runtime/debug"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Recover is deferred at the top of every goroutine, the main one included. A panic there
// ends all ranks of the run. Without a watch the panic goes on.
func (w *Watch) Recover() {
	if w == nil || w.book == nil {
		return
	}
	if fault := recover(); fault != nil {
		w.fail(Verdict{
			Text: fmt.Sprintf("rank %d failed %s: panic: %v", w.me, w.book.where(), fault), Code: status.PeerLost,
			Detail: string(debug.Stack()),
		})
	}
}

// fail ends all ranks because of a failure on this one, which is the speaker.
func (w *Watch) fail(v Verdict) {
	w.detail.CompareAndSwap(nil, &v.Detail)
	v.Ranks, v.Speaker = []int{w.me}, w.me
	w.peer.fail(v)
}
