package watch

import (
	"slices"
	"sync"
	"time"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// kept is how many calls of a group a rank remembers. They are compared with those of
// other ranks when both hang. A rank may run ahead by this many broadcasts, since the
// root of a broadcast leaves it at once.
const kept = 32

// book records which collectives one rank enters and leaves.
type book struct {
	w       *Watch
	mu      sync.Mutex
	streams []*stream
	latest  *stream   // last entered
	moved   time.Time // a collective was entered or left
	effort  effort    // of the one goroutine that calls beat
}

// stream is one sequence of calls of one group: those of the device, those of the
// host, or its send-receives. All members make the same calls in the same order, except
// the send-receives.
type stream struct {
	book    *book
	id      string // the same on all members
	name    string
	members []int // ranks of the whole run, by rank in the group
	fresh   bool  // name and members were not yet told
	started uint64
	past    [kept]call // call q is at q % kept
	toldFor uint64     // past was told when this many had started
	waits   []stay
}

func (b *book) open(id, name string, members []int) *stream {
	s := &stream{book: b, id: id, name: name, members: members, fresh: true}
	b.mu.Lock()
	b.streams = append(b.streams, s)
	b.mu.Unlock()
	return s
}

func (s *stream) rename(name string) {
	s.book.mu.Lock()
	s.name, s.fresh = name, true
	s.book.mu.Unlock()
}

func (s *stream) called() string {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	return s.name
}

// enter records that this rank is inside its next call and returns the call's number.
func (s *stream) enter(c call) uint64 {
	b := s.book
	b.mu.Lock()
	defer b.mu.Unlock()
	s.started++
	s.past[s.started%kept] = c
	b.latest = s
	s.wait(s.started)
	return s.started
}

// reenter records that this rank waits for a call that it began earlier.
func (s *stream) reenter(seq uint64) {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	s.wait(seq)
}

// wait does the work of enter and reenter. The caller holds the lock.
func (s *stream) wait(seq uint64) {
	w := stay{Seq: seq, since: time.Now()}
	if s.started-seq < kept {
		w.Call = s.past[seq%kept]
	}
	s.waits = append(s.waits, w)
	s.book.moved = w.since
}

// leave records that this rank is past call seq, and returns the call's error. It holds
// back a library's error about its peers until the verdict, which knows better who is to
// blame, has had time to arrive.
func (s *stream) leave(seq uint64, err error) error {
	b := s.book
	if err != nil && status.Code(err) == status.PeerLost {
		err = b.w.explain(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s.waits = slices.DeleteFunc(s.waits, func(w stay) bool { return w.Seq == seq })
	b.moved = time.Now()
	return err
}

// call does f between enter and leave.
func (s *stream) call(c call, f func() error) error {
	seq := s.enter(c)
	return s.leave(seq, f())
}

// beat is a rank's report about itself. Times are durations by its own clock, so that
// clocks need not agree.
type beat struct {
	Still   time.Duration `json:"still"` // since the last sign of work
	Latest  string        `json:"latest,omitempty"`
	Streams []glance      `json:"streams"`
}

// glance is a stream as told.
type glance struct {
	ID      string `json:"id"`
	Name    string `json:"name,omitempty"`    // at first, and when it changed
	Members []int  `json:"members,omitempty"` // with the name
	Started uint64 `json:"started"`
	Last    call   `json:"last"`
	Waits   []stay `json:"waits,omitempty"`
	Past    []call `json:"past,omitempty"` // the calls up to Started, once in a long wait
}

// stay is a call that a goroutine is inside of.
type stay struct {
	Seq   uint64        `json:"seq"`
	Call  call          `json:"call"`
	For   time.Duration `json:"for"` // filled in when it is told
	since time.Time
}

// makeReport makes a report from the book. It includes the past calls of a stream whose current
// wait is longer than settle.
func (b *book) makeReport(settle time.Duration) beat {
	b.effort.look(b.w.isBusy) // outside the lock, since it reads files
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	out := beat{Still: min(now.Sub(b.effort.last), now.Sub(b.moved))} // collectives are work too
	if b.latest != nil {
		out.Latest = b.latest.id
	}
	for _, s := range b.streams {
		out.Streams = append(out.Streams, s.glance(now, settle))
	}
	return out
}

func (s *stream) glance(now time.Time, settle time.Duration) glance {
	g := glance{ID: s.id, Started: s.started, Last: s.past[s.started%kept]}
	if s.fresh {
		g.Name, g.Members, s.fresh = s.name, s.members, false
	}
	long := false
	for _, w := range s.waits {
		w.For = now.Sub(w.since)
		g.Waits = append(g.Waits, w)
		long = long || w.For >= settle
	}
	if long && s.toldFor != s.started {
		s.toldFor = s.started
		for q := s.started - min(s.started, kept) + 1; q <= s.started; q++ {
			g.Past = append(g.Past, s.past[q%kept])
		}
	}
	return g
}

// waitsFor names the call that this rank is inside of and in which the given rank takes
// part. It returns "" if there is none.
func (b *book) waitsFor(rank int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.streams {
		if len(s.waits) > 0 && slices.Contains(s.members, rank) {
			return s.waits[0].Call.brief(s.waits[0].Seq, s.name)
		}
	}
	return ""
}

// describePlace says what this rank is doing.
func (b *book) describePlace() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.latest
	if s == nil {
		return "before its first collective"
	}
	at := "after "
	if len(s.waits) > 0 {
		at = "in "
	}
	return at + s.past[s.started%kept].brief(s.started, s.name)
}
