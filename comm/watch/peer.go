package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// join connects this rank: rank 0 opens its doors and tells the others where.
func (w *Watch) join(c comm.Comm) error {
	text, _ := json.Marshal(here()) // strings
	texts, err := c.Host().AllGather(text)
	if err != nil {
		return err
	}
	if w.me != 0 {
		text, err := c.Host().Bcast(nil, 0)
		if err != nil {
			return err
		}
		return w.connect(text)
	}
	all := make([]place, len(texts))
	for r, text := range texts {
		if err == nil {
			err = json.Unmarshal(text, &all[r])
		}
	}
	var h *hub
	if err == nil {
		h, err = newHub(w, all)
	}
	mine := card{}
	if err != nil {
		mine.Fault = err.Error()
	} else {
		mine = h.card
	}
	text, _ = json.Marshal(mine) // strings and a number
	if _, castErr := c.Host().Bcast(text, 0); castErr != nil {
		return castErr
	}
	if err != nil {
		return err
	}
	return h.await()
}

// peer is the end of the side channel of a rank but 0.
type peer struct {
	w    *Watch
	conn net.Conn
	in   *json.Decoder
	card card
	poke chan struct{} // beat at once

	sending sync.Mutex
	out     *json.Encoder

	mu    sync.Mutex
	heard time.Time
	ping  ping // the last one
	bye   bool // this rank said goodbye
	ended bool // rank 0 said that all is over
}

func (w *Watch) connect(text []byte) error {
	var c card
	if err := json.Unmarshal(text, &c); err != nil {
		return fmt.Errorf("address of rank 0: %w", err)
	}
	if c.Fault != "" {
		return errors.New(c.Fault)
	}
	p, err := dial(c, w.me, w.o.Join)
	if err != nil {
		return err
	}
	p.w, p.card, p.heard, p.ping = w, c, time.Now(), ping{Heir: 1, Where: "before its first collective"}
	p.poke = make(chan struct{}, 1)
	w.peer = p
	go p.read()
	go p.run()
	return nil
}

// dial tries the addresses of rank 0: on its own machine the loopback first.
func dial(c card, me int, limit time.Duration) (*peer, error) {
	var near, far []string
	for _, address := range c.Addresses {
		if a, err := netip.ParseAddrPort(address); err == nil && a.Addr().IsLoopback() {
			near = append(near, address)
		} else {
			far = append(far, address)
		}
	}
	tries := [][]string{far}
	if c.Machine == machine() {
		tries = [][]string{near, far}
	}
	err := fmt.Errorf("rank 0 listens for rank %d at none of %v", me, c.Addresses)
	for _, addresses := range tries {
		if len(addresses) == 0 {
			continue
		}
		var p *peer
		if p, err = dialAny(c, addresses, me, limit/2); err == nil {
			return p, nil
		}
	}
	return nil, err
}

// dialAny tries several addresses at once and keeps the one that answers first.
func dialAny(c card, addresses []string, me int, limit time.Duration) (*peer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	type result struct {
		p   *peer
		err error
	}
	results := make(chan result, len(addresses))
	for _, address := range addresses {
		go func() {
			p, err := dialOne(ctx, c, address, me)
			results <- result{p, err}
		}()
	}
	var fault error
	for range addresses {
		r := <-results
		if r.err == nil {
			return r.p, nil // rank 0 lets no other of them in
		}
		fault = errors.Join(fault, r.err)
	}
	return nil, fmt.Errorf("rank %d reaches rank 0 at none of its addresses %v: %w", me, addresses, fault)
}

var errStranger = errors.New("a stranger answers")

// callAgain is how long a rank waits that was turned away, as happens where many
// strangers crowd at the door.
const callAgain = 50 * time.Millisecond

// dialOne calls until it is answered, until nobody is there, or until ctx ends.
func dialOne(ctx context.Context, c card, address string, me int) (*peer, error) {
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		p, err := introduce(ctx, conn, c, me)
		if err == nil {
			return p, nil
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
func introduce(ctx context.Context, conn net.Conn, c card, me int) (*peer, error) {
	p := &peer{conn: conn, in: json.NewDecoder(conn), out: json.NewEncoder(conn)}
	limit, _ := ctx.Deadline()
	conn.SetDeadline(limit)
	err := p.out.Encode(hello{c.Token, me, hostName(), os.Getpid()})
	var m toPeer
	if err == nil {
		err = p.in.Decode(&m)
	}
	if err == nil && m.Answer != c.Answer {
		err = errStranger
	}
	conn.SetDeadline(time.Time{})
	return p, err
}

// send writes a message. An error is the reader's to find.
func (p *peer) send(m fromPeer) {
	p.sending.Lock()
	defer p.sending.Unlock()
	p.conn.SetWriteDeadline(time.Now().Add(p.w.o.Lost))
	p.out.Encode(m)
}

func (p *peer) read() {
	for {
		var m toPeer
		err := p.in.Decode(&m)
		switch {
		case err != nil:
			p.closed()
			return
		case m.Verdict != nil:
			p.w.decide(*m.Verdict)
			return
		}
		p.mu.Lock()
		p.heard = time.Now()
		p.ended = p.ended || m.End
		if m.Ping != nil {
			p.ping = *m.Ping
		}
		p.mu.Unlock()
		if m.Ping != nil && m.Ping.Now {
			select {
			case p.poke <- struct{}{}:
			default:
			}
		}
	}
}

// run tells rank 0 how this rank is, and notices when rank 0 is silent.
func (p *peer) run() {
	tick := time.NewTicker(p.w.o.Beat)
	defer tick.Stop()
	last := time.Now()
	for {
		if !p.saidBye() {
			b := p.w.book.beat(p.w.o.Settle / 2)
			p.send(fromPeer{Beat: &b})
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

func (p *peer) saidBye() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bye
}

// close says goodbye. The connection stays, for a verdict that concerns all.
func (p *peer) close(why string) {
	p.mu.Lock()
	p.bye = true
	p.mu.Unlock()
	p.send(fromPeer{Bye: true, Why: why})
}

// closed is called when the connection is.
func (p *peer) closed() {
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	select {
	case <-p.w.quit: // by this rank
	default:
		if ended {
			p.w.end()
			return
		}
		p.lost("")
	}
}

// lost is the verdict about rank 0, by each rank for itself. Rank 0 is told too,
// in case it was only stopped and comes back.
func (p *peer) lost(how string) {
	p.mu.Lock()
	last := p.ping
	p.mu.Unlock()
	v := Verdict{
		Text: fmt.Sprintf("rank 0 (host %s, pid %d) was lost%s %s", p.card.Host, p.card.PID, how, last.Where),
		Code: status.PeerLost, Ranks: []int{0}, Speaker: last.Heir,
	}
	if w := p.w.book.waitsFor(0); w != "" {
		v.Text = fmt.Sprintf("rank 0 (host %s, pid %d) was lost%s at %s; rank %d was waiting for it",
			p.card.Host, p.card.PID, how, w, p.w.me)
	}
	p.sending.Lock()
	p.conn.SetWriteDeadline(time.Now().Add(drain))
	p.out.Encode(fromPeer{Left: &v}) // it may be gone for good
	p.sending.Unlock()
	p.w.decide(v)
}

// fail has rank 0 tell all ranks that this one failed. If it does not answer,
// this rank leaves by itself.
func (p *peer) fail(v Verdict) {
	p.send(fromPeer{Fail: &v})
	select {
	case <-p.w.decided:
	case <-time.After(2 * drain):
		p.w.decide(v)
	}
}
