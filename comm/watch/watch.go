// Package watch ends a run whose ranks cannot go on together.
//
// A communication library waits for ever for a rank that was killed, hangs, or
// called another collective than the rest, so it cannot be asked. The ranks of a
// guarded communicator therefore keep a side channel: every rank has a TCP
// connection to rank 0 and tells it once a second which collectives it is in or
// past. Rank 0 compares, and gives a verdict when
//
//   - a rank was lost: its connection closed without a goodbye, or nothing was
//     heard of it for Options.Lost;
//   - ranks disagree: they wait in collectives that are not one and the same, or
//     in collectives that wait for each other;
//   - a rank that others wait for shows no sign of work for Options.Timeout: it
//     enters no collective, uses no processor, reads and writes nothing;
//   - all ranks are in a collective that does not end;
//   - a rank has left, by Close, while others wait for it;
//   - a rank panicked or called Abort.
//
// If rank 0 itself is lost, each rank sees that for itself. A verdict is told to
// all ranks. One of them prints it, all exit at once with its status, which is
// status.PeerLost, and no file is touched.
//
// A guarded collective costs a mutex and two looks at the clock. With one rank there is
// nothing to guard and no cost.
package watch

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// DefaultTimeout is the default timeout of [Options].
const DefaultTimeout = 45 * time.Second

// Options say how patient the watch is. Zero values stand for the defaults.
type Options struct {
	// Timeout is how long a rank that others wait for may show no sign of work
	// (45 s). A collective that all ranks are in gets as long, and a second
	// more for every 10 MB.
	Timeout time.Duration
	// Lost is how long a rank may not be heard of (20 s).
	Lost time.Duration
	// Beat is how often ranks tell of themselves (1 s).
	Beat time.Duration
	// Settle is how long ranks must have waited before their collectives are
	// compared (2 s).
	Settle time.Duration
	// Join is how long connecting to rank 0 may take (30 s).
	Join time.Duration

	// Say is called once, on the rank that is to print the verdict. By default
	// that goes to the standard error output.
	Say func(v *Verdict)
	// Fail is called once, on every rank, after Say. By default the rank exits
	// with the verdict's status.
	Fail func(v *Verdict)
	// Abort is the library's own abort. The default Fail tries it on the speaker before it
	// exits, for at most two seconds, so that the launcher cleans up.
	Abort func(code int)
}

func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Lost = cmp.Or(o.Lost, 20*time.Second)
	o.Beat = cmp.Or(o.Beat, time.Second)
	o.Settle = cmp.Or(o.Settle, 2*time.Second)
	o.Join = cmp.Or(o.Join, 30*time.Second)
	if o.Say == nil {
		o.Say = say
	}
	if o.Fail == nil {
		o.Fail = o.leave
	}
	return o
}

// Watch is one rank's part of the guard. In a run with one rank it does nothing.
type Watch struct {
	o        Options
	me, size int
	book     *book
	hub      *hub // on rank 0
	peer     *peer

	mu      sync.Mutex
	last    map[*func()]bool // to be called on a verdict
	told    map[*func(string)]bool
	works   map[*func() bool]bool // say whether there is work that the process does not show
	once    sync.Once
	said    sync.Once
	decided chan struct{}          // closed after Fail has returned
	verdict *Verdict               // once decided
	detail  atomic.Pointer[string] // of this rank's own panic
	quit    chan struct{}          // closed when this rank's watch ends
	stop    func()                 // closes quit, which ends the judging
}

// Guard puts a watch on all ranks of c, which all call it, and returns c with
// its collectives written down for the watch; communicators split from that one
// are guarded too. The one returned can be compared with == and is a
// comm.OneSided if c is. An error, the same on all ranks, means that ranks could
// not connect to rank 0; c is returned then and can be used without a watch.
func Guard(c comm.Comm, o Options) (comm.Comm, *Watch, error) {
	if c.Size() == 1 {
		return c, &Watch{size: 1}, nil
	}
	w := &Watch{
		o: o.withDefaults(), me: c.Rank(), size: c.Size(),
		last: map[*func()]bool{}, told: map[*func(string)]bool{}, works: map[*func() bool]bool{}, decided: make(chan struct{}), quit: make(chan struct{}),
	}
	w.stop = sync.OnceFunc(func() { close(w.quit) })
	w.book = &book{w: w}
	everyone := make([]int, c.Size())
	for r := range everyone {
		everyone[r] = r
	}
	guarded := guard(c, w, "run", "all ranks", everyone)
	err := w.join(c)
	// Together is guarded already, so a rank that dies meanwhile is noticed.
	if err = comm.Together(guarded, err); err != nil {
		w.stop()
		_, late := c.Host().Agree(0) // no rank takes the hanging up for a loss
		err = errors.Join(err, late)
		w.end()
		return c, &Watch{size: 1}, fmt.Errorf("watch: %w", err)
	}
	return guarded, w, nil
}

// Close ends this rank's part: the rank may disappear afterwards without being reported
// as lost. why says why it leaves, in case others still wait for it. Rank 0 waits until
// all others have called Close or are lost.
func (w *Watch) Close(why error) {
	if w.book == nil {
		return
	}
	text := ""
	if why != nil {
		text = why.Error()
	}
	w.peer.close(text)
	if w.hub == nil {
		return
	}
	select {
	case <-w.hub.over:
		w.end()
	case <-w.decided:
	}
}

// OnVerdict calls f on this rank when there is a verdict, before the rank leaves. f ends
// work that waits outside of the guarded communicator, such as a card, and must return by
// itself. cancel undoes it. It has an effect only for a guarded communicator.
func OnVerdict(c comm.Comm, f func()) (cancel func()) {
	if g := guardOf(c); g != nil {
		return hold(g.w, g.w.last, &f)
	}
	return func() {}
}

// OnTold calls f on this rank, from another goroutine, with what a rank tells by tell: all
// ranks, also where they wait for each other. f must return soon. cancel undoes it. For a
// communicator that is not guarded tell is nil.
func OnTold(c comm.Comm, f func(text string)) (tell func(text string), cancel func()) {
	g := guardOf(c)
	if g == nil {
		return nil, func() {}
	}
	w := g.w
	return func(text string) { w.peer.send(fromPeer{Tell: text}, w.o.Lost) }, hold(w, w.told, &f)
}

// hold keeps f in one of the watch's sets until cancel is called.
func hold[F any](w *Watch, set map[*F]bool, f *F) (cancel func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	set[f] = true
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(set, f)
	}
}

// OnLook lets f, called from another goroutine, say whether this rank works although its
// process uses no processor, as one does that waits for a card. f must return soon. cancel
// undoes it. It has an effect only for a guarded communicator.
func OnLook(c comm.Comm, f func() bool) (cancel func()) {
	if g := guardOf(c); g != nil {
		return hold(g.w, g.w.works, &f)
	}
	return func() {}
}

// isBusy asks what OnLook was given.
func (w *Watch) isBusy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for f := range w.works {
		if (*f)() {
			return true
		}
	}
	return false
}

// runTold calls what OnTold was given.
func (w *Watch) runTold(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for f := range w.told {
		(*f)(text)
	}
}

// runLast calls what OnVerdict was given.
func (w *Watch) runLast() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for f := range w.last {
		(*f)()
	}
}

// end stops all goroutines of the watch and closes its connections.
func (w *Watch) end() {
	w.stop()
	if w.hub != nil {
		w.hub.hangUp()
	}
	if w.peer != nil {
		w.peer.conn.Close()
	}
}

// decide carries out a verdict on this rank. Only the first verdict counts.
func (w *Watch) decide(v Verdict) {
	w.once.Do(func() {
		w.sayOnce(&v)
		w.verdict = &v
		w.runLast()
		w.o.Fail(&v)
		close(w.decided)
		w.end()
	})
}

// sayOnce completes a verdict with what only this rank knows, and prints it if this rank
// is the speaker.
func (w *Watch) sayOnce(v *Verdict) {
	v.Speak = v.Speaker == w.me
	if !v.Speak {
		return
	}
	if d := w.detail.Load(); d != nil && *d != "" {
		v.Detail, v.Code = *d, status.Other
	}
	w.said.Do(func() { w.o.Say(v) })
}

// explain holds back a library's error about its peers until there is a verdict, or until
// none can come any more.
func (w *Watch) explain(err error) error {
	select {
	case <-w.decided:
	case <-w.quit:
	case <-time.After(3 * w.o.Settle):
	}
	select {
	case <-w.decided:
		return status.Peer(errors.Join(w.verdict, err))
	default:
		return err
	}
}

// Name sets the name of a guarded communicator for messages, such as "shots". It does
// nothing for other communicators.
func Name(c comm.Comm, name string) {
	if g := guardOf(c); g != nil {
		for _, s := range []*stream{g.device, g.host, g.messages} {
			s.rename(name)
		}
	}
}
