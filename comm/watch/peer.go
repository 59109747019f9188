package watch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// join connects this rank. Rank 0 opens its doors and tells the others their addresses.
func (w *Watch) join(c comm.Comm) error {
	all, err := comm.GatherJSON(c.Host().AllGather, here())
	if err != nil {
		return err
	}
	var h *hub
	var address card
	if w.me == 0 {
		if h, err = newHub(w, all); err == nil {
			address = h.card
		}
	}
	if err := comm.Together(c, err); err != nil {
		return err
	}
	addresses, err := comm.GatherJSON(c.Host().AllGather, address)
	if err != nil {
		return err
	}
	if h != nil {
		return h.await()
	}
	l, err := dial(addresses[0], all[0].Machine == all[w.me].Machine, w.me, w.o.Join)
	if err == nil {
		w.connect(l, all[0])
	}
	return err
}

// peer is a rank's end of the side channel.
type peer struct {
	*line
	w     *Watch
	first place         // of rank 0
	poke  chan struct{} // beat at once

	bye   atomic.Bool // this rank said goodbye
	ended atomic.Bool // rank 0 said that all is over

	mu    sync.Mutex
	heard time.Time
	ping  ping // the last one
}

func (w *Watch) connect(l *line, first place) {
	w.peer = &peer{line: l, w: w, first: first, poke: make(chan struct{}, 1), heard: time.Now(),
		ping: ping{Heir: 1, Where: "before its first collective"}}
	go w.peer.read()
	go w.peer.run()
}

// dial tries all addresses of rank 0 at once, the loopback only near rank 0, on its own
// machine, and keeps the connection that is answered first.
func dial(c card, near bool, me int, limit time.Duration) (*line, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	type result struct {
		l   *line
		err error
	}
	results := make(chan result, len(c.Addresses))
	tried := 0
	for _, address := range c.Addresses {
		if a, err := netip.ParseAddrPort(address); err == nil && a.Addr().IsLoopback() && !near {
			continue
		}
		tried++
		go func() {
			l, err := dialOne(ctx, c, address, me)
			results <- result{l, err}
		}()
	}
	fault := errors.New("no address is of use here")
	for n := range tried {
		r := <-results
		if r.err == nil {
			return r.l, nil // rank 0 lets no other of them in
		}
		if n == 0 {
			fault = nil
		}
		fault = errors.Join(fault, r.err)
	}
	return nil, fmt.Errorf("rank %d reaches rank 0 at none of its addresses %v: %w", me, c.Addresses, fault)
}

var errStranger = errors.New("a stranger answers")

// callAgain is how long a dismissed rank waits before it calls again. Ranks are dismissed
// when there are too many strangers.
const callAgain = 50 * time.Millisecond

// dialOne calls until it is answered, until the address has no listener, or until ctx
// ends.
func dialOne(ctx context.Context, c card, address string, me int) (*line, error) {
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		l, err := introduce(ctx, conn, c, me)
		if err == nil {
			return l, nil
		}
		conn.Close()
		err = fmt.Errorf("%s: %w", address, err)
		if errors.Is(err, errStranger) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(callAgain):
		}
	}
}

// introduce shows the token and waits for the answer.
func introduce(ctx context.Context, conn net.Conn, c card, me int) (*line, error) {
	l := newLine(conn, conn)
	limit, _ := ctx.Deadline()
	conn.SetDeadline(limit)
	err := l.out.Encode(hello{c.Token, me})
	var m toPeer
	if err == nil {
		err = l.in.Decode(&m)
	}
	if err == nil && m.Answer != c.Answer {
		err = errStranger
	}
	conn.SetDeadline(time.Time{})
	return l, err
}

func (p *peer) read() {
	for {
		var m toPeer
		if p.in.Decode(&m) != nil {
			p.closed()
			return
		}
		if m.Verdict != nil {
			p.w.decide(*m.Verdict)
			return
		}
		if m.End {
			p.ended.Store(true)
		}
		if m.Told != "" {
			p.w.runTold(m.Told)
		}
		p.mu.Lock()
		p.heard = time.Now()
		if m.Ping != nil {
			p.ping = *m.Ping
		}
		p.mu.Unlock()
		if m.Ping != nil && m.Ping.Now {
			poke(p.poke)
		}
	}
}

// run reports to rank 0 and notices when rank 0 is silent.
func (p *peer) run() {
	tick := time.NewTicker(p.w.o.Beat)
	defer tick.Stop()
	last := time.Now()
	for {
		if !p.bye.Load() {
			b := p.w.book.makeReport(p.w.o.Settle / 2)
			p.send(fromPeer{Beat: &b}, p.w.o.Lost)
		}
		select {
		case <-p.w.quit:
			return
		case <-tick.C:
		case <-p.poke:
		}
		now := time.Now()
		p.mu.Lock()
		if now.Sub(last) > p.w.o.Lost/2 {
			p.heard = now // this process was stopped: the silence was its own
		}
		silent := now.Sub(p.heard)
		p.mu.Unlock()
		last = now
		if silent > p.w.o.Lost {
			p.lost(fmt.Sprintf(" (not heard of for %s)", seconds(silent)))
			return
		}
	}
}

// close says goodbye. The connection stays open for a verdict that concerns all ranks.
func (p *peer) close(why string) {
	p.bye.Store(true)
	p.send(fromPeer{Bye: true, Why: why}, p.w.o.Lost)
}

// closed is called when the connection is.
func (p *peer) closed() {
	select {
	case <-p.w.quit: // by this rank
		return
	default:
	}
	if p.ended.Load() {
		p.w.end()
		return
	}
	p.lost("")
}

// lost is the verdict that rank 0 is lost, which each rank reaches by itself. Rank 0 is
// told too, in case it was only stopped and comes back.
func (p *peer) lost(how string) {
	p.mu.Lock()
	last := p.ping
	p.mu.Unlock()
	text := fmt.Sprintf("rank 0 (host %s, pid %d) was lost%s ", p.first.Host, p.first.PID, how)
	if w := p.w.book.waitsFor(0); w != "" {
		text += fmt.Sprintf("at %s; rank %d was waiting for it", w, p.w.me)
	} else {
		text += last.Where
	}
	v := Verdict{Text: text, Code: status.PeerLost, Ranks: []int{0}, Speaker: last.Heir}
	p.send(fromPeer{Left: &v}, drain) // it may be gone for good
	p.w.decide(v)
}

// fail asks rank 0 to tell all ranks that this one failed. If rank 0 does not answer,
// this rank leaves by itself.
func (p *peer) fail(v Verdict) {
	p.send(fromPeer{Fail: &v}, p.w.o.Lost)
	select {
	case <-p.w.decided:
	case <-time.After(2 * drain):
		p.w.decide(v)
	}
}
