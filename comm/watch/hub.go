package watch

import (
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"sync"
	"time"
)

// hub is rank 0's end of the side channel.
type hub struct {
	w         *Watch
	listeners []net.Listener
	strangers strangers
	card      card
	poke      chan struct{} // look at once
	joined    chan struct{} // closed when all ranks have connected
	over      chan struct{} // closed when all ranks have said goodbye
	overOnce  sync.Once
	readers   sync.WaitGroup

	mu    sync.Mutex
	judge *judge
	lines []*line // by rank
	count int     // of lines
	done  bool    // there is a verdict, or an end
	heir  int
	where string
}

// line is the connection of one rank.
type line struct {
	conn net.Conn
	out  chan toPeer // pings leave room for a verdict
}

// newHub listens where the ranks at the given places, by rank, reach this one.
func newHub(w *Watch, all []place) (*hub, error) {
	listeners, addresses, err := listen(all[0], all[1:])
	if err != nil {
		return nil, err
	}
	h := &hub{
		w: w, listeners: listeners, strangers: strangers{most: mostStrangers(w.size)},
		card: card{
			Addresses: addresses, Machine: all[0].Machine, Host: hostName(), PID: os.Getpid(),
			Token: secret(), Answer: secret(),
		},
		poke: make(chan struct{}, 1), joined: make(chan struct{}), over: make(chan struct{}),
		judge: newJudge(w.o, w.size, time.Now().Add(w.o.Join)),
		lines: make([]*line, w.size), heir: 1,
	}
	h.judge.ranks[0].host, h.judge.ranks[0].pid = h.card.Host, h.card.PID
	w.hub = h
	for _, l := range listeners {
		go h.accept(l)
	}
	go h.run()
	return h, nil
}

// welcome lets a connection in that shows the token, and reads from it. Until
// then it is a stranger's, who gets little time and memory.
func (h *hub) welcome(conn net.Conn) {
	limited := &io.LimitedReader{R: conn, N: 4096}
	in := json.NewDecoder(limited)
	conn.SetDeadline(time.Now().Add(min(helloTime, h.w.o.Join)))
	var m hello
	err := in.Decode(&m)
	h.strangers.remove(conn)
	if err != nil || subtle.ConstantTimeCompare([]byte(m.Token), []byte(h.card.Token)) != 1 {
		conn.Close()
		return
	}
	conn.SetDeadline(time.Time{})
	limited.N = math.MaxInt64
	l := &line{conn, make(chan toPeer, 4)}
	if !h.admit(l, m) {
		conn.Close()
		return
	}
	defer h.readers.Done()
	go h.write(l)
	for {
		var m2 fromPeer
		if in.Decode(&m2) != nil {
			break
		}
		h.read(m.Rank, m2)
	}
	h.closed(m.Rank)
}

// admit takes the first connection of a rank; it may have tried several
// addresses at once.
func (h *hub) admit(l *line, m hello) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done || m.Rank <= 0 || m.Rank >= len(h.lines) || h.lines[m.Rank] != nil {
		return false
	}
	h.lines[m.Rank] = l
	r := &h.judge.ranks[m.Rank]
	r.host, r.pid, r.heard = m.Host, m.PID, time.Now()
	h.readers.Add(1)
	l.out <- toPeer{Answer: h.card.Answer}
	if h.count++; h.count == len(h.lines)-1 {
		close(h.joined)
		h.shut()
	}
	return true
}

// read takes in one message.
func (h *hub) read(rank int, m fromPeer) {
	switch {
	case m.Fail != nil:
		h.fail(*m.Fail)
	case m.Left != nil:
		h.w.decide(*m.Left)
	default:
		h.mu.Lock()
		if m.Beat != nil {
			h.judge.note(rank, *m.Beat, time.Now())
		}
		if m.Bye {
			h.judge.ranks[rank].gone, h.judge.ranks[rank].why = true, m.Why
		}
		h.mu.Unlock()
		if m.Bye {
			h.lookNow()
		}
	}
}

// closed notes the end of a connection, and asks all others how they stand, so
// that the verdict can say who waits for whom.
func (h *hub) closed(rank int) {
	h.mu.Lock()
	h.judge.ranks[rank].closed = true
	lost := !h.judge.ranks[rank].gone && !h.done
	h.mu.Unlock()
	h.lines[rank].conn.Close()
	if lost {
		h.tellAll(toPeer{Ping: h.ping(true)})
		h.lookNow()
	}
}

func (h *hub) lookNow() {
	select {
	case h.poke <- struct{}{}:
	default: // it is about to look
	}
}

// ping is what to tell the others now.
func (h *hub) ping(now bool) *ping {
	h.mu.Lock()
	defer h.mu.Unlock()
	return &ping{Heir: h.heir, Where: h.where, Now: now}
}

// tellAll puts a message on all lines. One that does not take it is stuck.
func (h *hub) tellAll(m toPeer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.lines {
		if l != nil && (m.Verdict != nil || len(l.out) == 0) {
			select {
			case l.out <- m:
			default:
			}
		}
	}
}

// write sends what is told to a rank, and pings.
func (h *hub) write(l *line) {
	out := json.NewEncoder(l.conn)
	beat := time.NewTicker(h.w.o.Beat)
	defer beat.Stop()
	for {
		var m toPeer
		select {
		case m = <-l.out:
		case <-beat.C:
			m = toPeer{Ping: h.ping(false)}
		case <-h.w.quit:
			return
		}
		l.conn.SetWriteDeadline(time.Now().Add(h.w.o.Lost))
		if out.Encode(m) != nil || m.End {
			return // the reader sees why
		}
	}
}

// run looks at all ranks four times a beat.
func (h *hub) run() {
	tick := time.NewTicker(h.w.o.Beat / 4)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-h.w.quit:
			return
		case <-tick.C:
		case <-h.poke:
		}
		now := time.Now()
		slept := now.Sub(last) > h.w.o.Lost/2 // this process was stopped
		last = now
		if v := h.look(now, slept); v != nil {
			h.deliver(*v)
			return
		}
	}
}

func (h *hub) look(now time.Time, slept bool) *Verdict {
	b := h.w.book.beat(h.w.o.Settle / 2)
	h.mu.Lock()
	defer h.mu.Unlock()
	if slept {
		h.judge.forgive(now)
	}
	h.judge.note(0, b, now)
	h.heir, h.where = h.nextSpeaker(), h.judge.where(0)
	all := true
	for _, r := range h.judge.ranks {
		all = all && r.gone
	}
	if all {
		h.overOnce.Do(func() { close(h.over) })
		return nil
	}
	return h.judge.look(now)
}

// nextSpeaker is who prints if rank 0 is lost: the lowest connected rank, of
// another machine if there is one, since a machine is lost with all its ranks.
func (h *hub) nextSpeaker() int {
	near := 0
	for r := 1; r < len(h.lines); r++ {
		m := &h.judge.ranks[r]
		switch {
		case h.lines[r] == nil || m.closed:
		case m.host != h.card.Host:
			return r
		case near == 0:
			near = r
		}
	}
	return near
}

// deliver tells a verdict to all ranks and carries it out here, last, so that
// an abort finds nobody else.
func (h *hub) deliver(v Verdict) {
	h.mu.Lock()
	again := h.done
	h.done = true
	h.mu.Unlock()
	if again {
		return
	}
	told := v
	h.tellAll(toPeer{Verdict: &told})
	h.w.sayOnce(&v)
	left := make(chan struct{})
	go func() {
		h.readers.Wait()
		close(left)
	}()
	select {
	case <-left:
	case <-time.After(drain):
	}
	h.w.decide(v)
}

// fail ends all ranks because one failed, this one or another.
func (h *hub) fail(v Verdict) {
	if v.Speaker == h.w.me {
		h.deliver(v)
		return
	}
	go h.deliver(v) // not in the reader, which deliver waits for
}

// close says rank 0's goodbye and waits until all others have said theirs.
func (h *hub) close(why string) {
	h.mu.Lock()
	h.judge.ranks[0].gone, h.judge.ranks[0].why = true, why
	h.mu.Unlock()
	h.lookNow()
	select {
	case <-h.over:
	case <-h.w.decided:
		return
	}
	h.mu.Lock()
	h.done = true
	h.mu.Unlock()
	// Written here, since the lines are closed at once afterwards.
	for _, l := range h.lines {
		if l != nil {
			l.conn.SetWriteDeadline(time.Now().Add(drain))
			json.NewEncoder(l.conn).Encode(toPeer{End: true}) // it may be gone already
		}
	}
}

// shut closes the doors, and turns away who stands there.
func (h *hub) shut() {
	for _, l := range h.listeners {
		l.Close()
	}
	h.strangers.close()
}

// hangUp closes everything.
func (h *hub) hangUp() {
	h.shut()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.lines {
		if l != nil {
			l.conn.Close()
		}
	}
}

// await waits until all ranks have connected.
func (h *hub) await() error {
	select {
	case <-h.joined:
		return nil
	case <-time.After(h.w.o.Join):
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var absent []int
	for r, l := range h.lines {
		if r > 0 && l == nil {
			absent = append(absent, r)
		}
	}
	return fmt.Errorf("no connection from ranks %s within %v to any of %v", list(absent), h.w.o.Join, h.card.Addresses)
}
