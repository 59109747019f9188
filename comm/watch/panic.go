package watch

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// current is the watch of this process, for goroutines that know of none.
var current atomic.Pointer[Watch]

// Go runs f in a goroutine whose panic ends all ranks of the run rather than
// this one alone. Without a watch it is a panic like any other.
func Go(f func()) {
	go func() {
		defer Recover()
		f()
	}()
}

// Recover is deferred at the top of a goroutine, the main one included: a panic
// there ends all ranks of the run. Without a watch the panic goes on.
func Recover() {
	w := current.Load()
	if w == nil {
		return
	}
	if fault := recover(); fault != nil {
		w.panicked(fault)
	}
}

// Go is the function Go for a rank of this watch.
func (w *Watch) Go(f func()) {
	go func() {
		if w.book != nil {
			defer func() {
				if fault := recover(); fault != nil {
					w.panicked(fault)
				}
			}()
		}
		f()
	}()
}

func (w *Watch) panicked(fault any) {
	w.fail(Verdict{
		Text: fmt.Sprintf("rank %d failed %s: panic: %v", w.me, w.book.where(), fault), Code: status.PeerLost,
		Detail: string(debug.Stack()),
	})
}

// fail ends all ranks for what happened on this one, which is the speaker.
func (w *Watch) fail(v Verdict) {
	w.detail.CompareAndSwap(nil, &v.Detail)
	v.Ranks, v.Speaker = []int{w.me}, w.me
	if w.hub != nil {
		w.hub.fail(v)
		return
	}
	w.peer.fail(v)
}
