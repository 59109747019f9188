package watch

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// judge holds what rank 0 knows of all ranks and derives verdicts from it. It knows
// nothing of connections and is not safe for concurrent use.
type judge struct {
	o      Options
	ranks  []member
	groups map[string]glance // by stream, the last that told the name and the members

	suspect string // key of the last finding
	since   time.Time
}

// member is one rank as last heard of.
type member struct {
	place
	heard time.Time
	// still is how long it had shown no sign of work at its last report.
	still   time.Duration
	latest  string // the stream of its last call
	streams map[string]glance
	closed  bool // its connection did, without a goodbye
	gone    bool // it said goodbye
	why     string
}

// newJudge expects reports from the ranks at the given places from the given time on.
func newJudge(o Options, all []place, from time.Time) *judge {
	j := &judge{o: o, groups: map[string]glance{}}
	for _, p := range all {
		j.ranks = append(j.ranks, member{place: p, heard: from, streams: map[string]glance{}})
	}
	return j
}

// note takes in a rank's report about itself.
func (j *judge) note(rank int, b beat, now time.Time) {
	m := &j.ranks[rank]
	m.heard, m.still, m.latest = now, b.Still, b.Latest
	for _, g := range b.Streams {
		if g.Members != nil {
			j.groups[g.ID] = g
		}
		if old := m.streams[g.ID]; g.Past == nil && old.Started == g.Started {
			g.Past = old.Past
		}
		m.streams[g.ID] = g
	}
}

// restartTimeouts restarts all timeouts after this process itself was stopped.
func (j *judge) restartTimeouts(now time.Time) {
	for r := range j.ranks {
		j.ranks[r].heard = now
	}
	j.suspect = ""
}

// finding is a candidate for a verdict. It must hold for a while, according to newer
// reports of its ranks, since reports are not made at the same moment.
type finding struct {
	key     string
	hold    time.Duration
	blame   []int
	confirm []int // ranks to be heard of meanwhile
	text    string
}

// look returns the verdict once there is one.
func (j *judge) look(now time.Time) *Verdict {
	f := j.find(now)
	switch {
	case f == nil:
		j.suspect = ""
		return nil
	case f.key != j.suspect:
		j.suspect, j.since = f.key, now
		return nil
	case now.Sub(j.since) < f.hold:
		return nil
	}
	for _, r := range f.confirm {
		if !j.ranks[r].heard.After(j.since) {
			return nil
		}
	}
	return &Verdict{Text: f.text, Ranks: f.blame, Code: status.PeerLost}
}

func (j *judge) find(now time.Time) *finding {
	if f := j.findLost(now); f != nil {
		return f
	}
	waiters := j.listWaiters(j.o.Settle)
	for _, look := range []func([]waiter) *finding{j.findGoodbye, j.findCircle, j.findUnmoved, j.findEndless} {
		if f := look(waiters); f != nil {
			return f
		}
	}
	return j.findIdle()
}

// waiter is a rank inside a call.
type waiter struct {
	rank int
	id   string // of the stream
	stay
}

// listWaiters lists the ranks that have been inside a call for at least the given time.
func (j *judge) listWaiters(least time.Duration) []waiter {
	var out []waiter
	for r := range j.ranks {
		for _, g := range j.ranks[r].streams {
			for _, s := range g.Waits {
				if s.For >= least {
					out = append(out, waiter{r, g.ID, s})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b waiter) int { return cmp.Or(a.rank-b.rank, cmp.Compare(b.For, a.For)) })
	return out
}

// stream returns what is known of a rank's calls in a stream.
func (j *judge) stream(rank int, id string) glance { return j.ranks[rank].streams[id] }

func (j *judge) waits(rank int) bool {
	for _, g := range j.ranks[rank].streams {
		if len(g.Waits) > 0 {
			return true
		}
	}
	return false
}

// listPartners returns the ranks without which a waiter's call cannot end.
func (j *judge) listPartners(w waiter) []int {
	var out []int
	for _, m := range j.groups[w.id].Members {
		if m != w.rank && (w.Call.Kind != sendRecv || m == w.Call.To || m == w.Call.From) {
			out = append(out, m)
		}
	}
	return out
}

// findPastCall returns call q of a rank, if the rank remembers it.
func (j *judge) findPastCall(rank int, id string, q uint64) (c call, known bool) {
	g := j.stream(rank, id)
	if q > g.Started || g.Started-q >= uint64(len(g.Past)) {
		return c, false
	}
	return g.Past[len(g.Past)-1-int(g.Started-q)], true
}

// listMissing returns the partners that have not begun the waiter's call or made another call
// of its number. For a send-receive these are the partners that are not in the other end
// of it.
func (j *judge) listMissing(w waiter) []int {
	var out []int
	for _, m := range j.listPartners(w) {
		g := j.stream(m, w.id)
		there := g.Started >= w.Seq
		if c, known := j.findPastCall(m, w.id, w.Seq); known {
			there = c == w.Call
		}
		if w.Call.Kind == sendRecv {
			there = slices.ContainsFunc(g.Waits, func(s stay) bool { return w.Call.meets(w.rank, s.Call, m) })
		}
		if !there {
			out = append(out, m)
		}
	}
	return out
}

// findLost finds a rank that has stopped reporting.
func (j *judge) findLost(now time.Time) *finding {
	for r := range j.ranks {
		m := &j.ranks[r]
		silent := now.Sub(m.heard)
		if r == 0 || m.gone || !m.closed && silent < j.o.Lost {
			continue
		}
		how := ""
		if !m.closed {
			how = fmt.Sprintf(" (not heard of for %s)", seconds(silent))
		}
		return &finding{
			key: fmt.Sprint("lost ", r), hold: j.o.Settle / 4, blame: []int{r},
			text: fmt.Sprintf("%s was lost%s %s", j.name(r), how, j.whereLost(r)),
		}
	}
	return nil
}

// whereLost names the call in which others wait for a lost rank, otherwise its last known
// call.
func (j *judge) whereLost(rank int) string {
	var best waiter
	most := 0
	for _, w := range j.listWaiters(0) {
		if w.rank == rank || !slices.Contains(j.listPartners(w), rank) {
			continue
		}
		needed := j.inside(rank, w.id, w.Seq) || slices.Contains(j.listMissing(w), rank)
		if n := j.waitersIn(w.id, w.Seq, rank); needed && n > most {
			best, most = w, n
		}
	}
	if most == 0 {
		return j.describePlace(rank)
	}
	at := "at"
	if j.inside(rank, best.id, best.Seq) {
		at = "in"
	}
	return fmt.Sprintf("%s %s; %s waiting for it", at, j.brief(best), were(most))
}

func (j *judge) inside(rank int, id string, seq uint64) bool {
	return slices.ContainsFunc(j.stream(rank, id).Waits, func(s stay) bool { return s.Seq == seq })
}

// waitersIn counts the ranks, except one, that are inside a call.
func (j *judge) waitersIn(id string, seq uint64, but int) int {
	n := 0
	for r := range j.ranks {
		if r != but && j.inside(r, id, seq) {
			n++
		}
	}
	return n
}

// describePlace says what a rank was doing at its last report.
func (j *judge) describePlace(rank int) string {
	for _, w := range j.listWaiters(0) {
		if w.rank == rank {
			return "in " + j.brief(w)
		}
	}
	g, known := j.ranks[rank].streams[j.ranks[rank].latest]
	if !known {
		return "before its first collective"
	}
	return "after " + g.Last.brief(g.Started, j.groups[g.ID].Name)
}

func (j *judge) brief(w waiter) string { return w.Call.brief(w.Seq, j.groups[w.id].Name) }

func (j *judge) name(rank int) string {
	return fmt.Sprintf("rank %d (host %s, pid %d)", rank, j.ranks[rank].Host, j.ranks[rank].PID)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3g s", d.Seconds()) }

func were(n int) string {
	if n == 1 {
		return "1 rank was"
	}
	return fmt.Sprintf("%d ranks were", n)
}
