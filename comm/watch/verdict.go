package watch

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/kirchhoff-lsm/lsm/internal/printable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Verdict is why the run is over. All ranks get the same one.
type Verdict struct {
	Text  string `json:"text"`  // names the ranks to blame and the collective
	Ranks []int  `json:"ranks"` // to blame
	Code  int    `json:"code"`  // exit status
	// Speaker is the rank that prints the text, so that it is printed once.
	Speaker int `json:"speaker"`

	Speak  bool   `json:"-"` // this rank is the speaker
	Detail string `json:"-"` // the stack, on a rank that panicked
}

func (v *Verdict) Error() string { return v.Text }

// say prints a verdict. It is the default of Options.Say.
func say(v *Verdict) {
	text := fmt.Sprintf("lsm: %v\n", v)
	if v.Detail != "" {
		text += "\n" + v.Detail
	}
	os.Stderr.WriteString(printable.Text(text)) // in one piece: other ranks write there too
}

const (
	// headStart is how much earlier the speaker learns the verdict than the others leave.
	// Launchers kill all ranks as soon as one leaves with an error.
	headStart = 300 * time.Millisecond
	// drain is how long the other ranks may take to leave before rank 0 does.
	drain = time.Second
	// abortLimit is how long the library gets to end the run: an MPI_Abort may
	// hang when ranks are lost.
	abortLimit = 2 * time.Second
)

// leave exits with a verdict. It is the default of Options.Fail.
func (o Options) leave(v *Verdict) {
	if !v.Speak {
		time.Sleep(headStart)
	} else if o.Abort != nil {
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			o.Abort(v.Code)
		}()
		select {
		case <-gone:
		case <-time.After(abortLimit):
		}
	}
	os.Exit(v.Code)
}

// Recover is deferred at the top of every goroutine, the main one included. A panic there
// ends all ranks of the run. Without a watch the panic goes on.
func (w *Watch) Recover() {
	if w == nil || w.book == nil {
		return
	}
	if fault := recover(); fault != nil {
		w.fail(Verdict{
			Text: fmt.Sprintf("rank %d failed %s: panic: %v", w.me, w.book.describePlace(), fault), Code: status.PeerLost,
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
