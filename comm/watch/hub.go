package watch

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"sync"
	"time"
)

// hub is rank 0's end of the side channel. Rank 0 connects to it like all other ranks.
type hub struct {
	w         *Watch
	listeners []net.Listener
	strangers strangers
	card      card
	poke      chan struct{}  // look at once
	joined    chan struct{}  // closed when all ranks have connected
	over      chan struct{}  // closed when all ranks have said goodbye
	readers   sync.WaitGroup // of the other ranks' lines

	mu    sync.Mutex
	judge *judge
	lines []*line // by rank
	done  bool    // there is a verdict, or an end
}

// newHub listens at addresses that the ranks at the given places, indexed by rank, can
// reach, and connects this rank.
func newHub(w *Watch, all []place) (*hub, error) {
	listeners, addresses, err := listen(all[0], all[1:])
	if err != nil {
		return nil, err
	}
	h := &hub{
		w: w, listeners: listeners, strangers: strangers{most: mostStrangers(w.size)},
		card: card{addresses, rand.Text(), rand.Text()},
		poke: make(chan struct{}, 1), joined: make(chan struct{}), over: make(chan struct{}),
		judge: newJudge(w.o, all, time.Now().Add(w.o.Join)),
		lines: make([]*line, w.size),
	}
	w.hub = h
	mine, own := net.Pipe()
	h.lines[0] = newLine(own, own)
	go h.serve(0, h.lines[0])
	w.connect(newLine(mine, mine), all[0])
	for _, l := range listeners {
		go h.accept(l)
	}
	go h.run()
	return h, nil
}

// admitConnection admits a connection that shows the token, and reads from it. Until then the
// connection is a stranger and gets little time and memory.
func (h *hub) admitConnection(conn net.Conn) {
	limited := &io.LimitedReader{R: conn, N: 4096}
	l := newLine(conn, limited)
	conn.SetDeadline(time.Now().Add(min(helloTime, h.w.o.Join)))
	var m hello
	err := l.in.Decode(&m)
	h.strangers.remove(conn)
	if err != nil || subtle.ConstantTimeCompare([]byte(m.Token), []byte(h.card.Token)) != 1 {
		conn.Close()
		return
	}
	conn.SetDeadline(time.Time{})
	limited.N = math.MaxInt64
	if !h.admit(l, m) {
		conn.Close()
		return
	}
	defer h.readers.Done()
	h.serve(m.Rank, l)
}

// admit takes the first connection of a rank; it may have tried several
// addresses at once.
func (h *hub) admit(l *line, m hello) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done || m.Rank < 0 || m.Rank >= len(h.lines) || h.lines[m.Rank] != nil {
		return false
	}
	h.lines[m.Rank] = l
	h.judge.ranks[m.Rank].heard = time.Now()
	h.readers.Add(1)
	l.send(toPeer{Answer: h.card.Answer}, h.w.o.Lost)
	if !slices.Contains(h.lines, nil) {
		h.shut()
		close(h.joined)
	}
	return true
}

// serve reads from a rank. When its connection ends, it asks all other ranks for a
// report, so that the verdict can say who waits for whom.
func (h *hub) serve(rank int, l *line) {
	for {
		var m fromPeer
		if l.in.Decode(&m) != nil {
			break
		}
		h.read(rank, m)
	}
	h.mu.Lock()
	h.judge.ranks[rank].closed = true
	lost := !h.judge.ranks[rank].gone && !h.done
	h.mu.Unlock()
	l.conn.Close()
	if lost {
		h.ping(true)
		poke(h.poke)
	}
}

// read takes in one message.
func (h *hub) read(rank int, m fromPeer) {
	switch {
	case m.Fail != nil:
		go h.deliver(*m.Fail) // not in the reader, which deliver waits for
	case m.Left != nil:
		h.w.decide(*m.Left)
	case m.Tell != "":
		h.tell(0, toPeer{Told: m.Tell}, h.w.o.Lost)
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
			poke(h.poke)
		}
	}
}

// ping tells all ranks of this one.
func (h *hub) ping(now bool) {
	h.mu.Lock()
	p := ping{Heir: h.nextSpeaker(), Where: h.judge.describePlace(0), Now: now}
	h.mu.Unlock()
	h.tell(0, toPeer{Ping: &p}, h.w.o.Lost)
}

// tell sends a message to all ranks from first on. The system buffers what a rank does
// not read, which is little until the rank is given up, so this does not block.
func (h *hub) tell(first int, m toPeer, limit time.Duration) {
	h.mu.Lock()
	lines := append([]*line(nil), h.lines[first:]...)
	h.mu.Unlock()
	for _, l := range lines {
		if l != nil {
			l.send(m, limit)
		}
	}
}

// run looks at all ranks four times a beat.
func (h *hub) run() {
	tick := time.NewTicker(h.w.o.Beat / 4)
	defer tick.Stop()
	last, told := time.Now(), time.Time{}
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
		v, over := h.look(now, slept)
		switch {
		case v != nil:
			h.deliver(*v)
			return
		case over:
			h.tell(0, toPeer{End: true}, drain)
			close(h.over)
			return
		case now.Sub(told) >= h.w.o.Beat:
			told = now
			h.ping(false)
		}
	}
}

// look returns the verdict, if there is one, and whether all ranks have said goodbye.
func (h *hub) look(now time.Time, slept bool) (v *Verdict, over bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slept {
		h.judge.restartTimeouts(now)
	}
	if !slices.ContainsFunc(h.judge.ranks, func(m member) bool { return !m.gone }) {
		h.done = true
		return nil, true
	}
	return h.judge.look(now), false
}

// nextSpeaker returns the rank that prints if rank 0 is lost: the lowest rank that is not
// lost, preferably of another machine, since a machine is lost with all its ranks.
func (h *hub) nextSpeaker() int {
	near := 0
	for r := 1; r < len(h.lines); r++ {
		m := &h.judge.ranks[r]
		switch {
		case m.closed:
		case m.Host != h.judge.ranks[0].Host:
			return r
		case near == 0:
			near = r
		}
	}
	return near
}

// deliver sends a verdict to all ranks and then carries it out here, so that every rank
// hears it before an abort.
func (h *hub) deliver(v Verdict) {
	h.mu.Lock()
	again := h.done
	h.done = true
	h.mu.Unlock()
	if again {
		return
	}
	told := v
	h.tell(1, toPeer{Verdict: &told}, drain)
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

// shut closes the doors and dismisses the strangers.
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
