package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
)

// left finds a rank that said goodbye though others wait for it.
func (j *judge) left(waiters []waiter) *finding {
	for _, w := range waiters {
		for _, m := range j.missing(w) {
			if !j.ranks[m].gone {
				continue
			}
			why := ""
			if j.ranks[m].why != "" {
				why = " (" + j.ranks[m].why + ")"
			}
			return &finding{
				key: fmt.Sprint("left ", m, w.id, w.Seq), hold: j.o.Settle / 2, blame: []int{m}, confirm: []int{w.rank},
				text: fmt.Sprintf("%s has left%s; %s waiting for it in %s",
					j.name(m), why, were(j.waitersIn(w.id, w.Seq, m)), j.brief(w)),
			}
		}
	}
	return nil
}

// mismatch finds ranks that wait in one stream and whose calls with the same
// number are not the same. Messages have no common number: see circle.
func (j *judge) mismatch(waiters []waiter) *finding {
	ranks := map[string][]int{} // that wait, by stream
	for _, w := range waiters {
		if !slices.Contains(ranks[w.id], w.rank) {
			ranks[w.id] = append(ranks[w.id], w.rank)
		}
	}
	for _, w := range waiters {
		if w.Call.Kind == sendRecv {
			continue
		}
		if f := j.compare(w.id, ranks[w.id]); f != nil {
			return f
		}
	}
	return nil
}

// compare looks for the first number whose call differs between the ranks.
func (j *judge) compare(id string, ranks []int) *finding {
	first, last := uint64(1), ^uint64(0)
	for _, r := range ranks {
		g := j.stream(r, id)
		first = max(first, g.Started-uint64(len(g.Past))+1)
		last = min(last, g.Started)
	}
	for q := first; q <= last; q++ {
		var sides []side
		for _, r := range ranks {
			c := j.past(r, id, q)
			k := slices.IndexFunc(sides, func(s side) bool { return s.call == c })
			if k < 0 {
				k = len(sides)
				sides = append(sides, side{call: c, id: id, seq: q})
			}
			sides[k].ranks = append(sides[k].ranks, r)
		}
		if len(sides) > 1 {
			return j.disagreement(fmt.Sprint("mismatch ", id, q), sides)
		}
	}
	return nil
}

// past is a call as a rank remembers it.
func (j *judge) past(rank int, id string, q uint64) call {
	g := j.stream(rank, id)
	return g.Past[len(g.Past)-1-int(g.Started-q)]
}

// circle finds ranks that wait for each other in different calls: each has not
// begun the call that the one before it is in, or is in another message. Collectives that goroutines of
// one rank call side by side can look like that for a while, hence the patience.
func (j *judge) circle(waiters []waiter) *finding {
	at := map[int]waiter{} // each rank's longest wait
	for _, w := range waiters {
		if _, ok := at[w.rank]; !ok && w.For >= 3*j.o.Settle {
			at[w.rank] = w
		}
	}
	done := map[int]bool{}
	for _, w := range waiters {
		path := j.follow(w.rank, at, done, nil)
		if len(path) == 0 {
			continue
		}
		// Whoever else is in one of these calls is on that side.
		var sides []side
		for _, r := range path {
			v := at[r]
			s := side{call: v.Call, id: v.id, seq: v.Seq}
			for other := range j.ranks {
				o, ok := at[other]
				if ok && o.id == v.id && o.Seq == v.Seq && (v.Call.Kind != sendRecv || other == r) {
					s.ranks = append(s.ranks, other)
				}
			}
			sides = append(sides, s)
		}
		slices.SortFunc(sides, func(a, b side) int { return a.ranks[0] - b.ranks[0] })
		return j.disagreement("circle", sides)
	}
	return nil
}

// follow walks from a rank to those it waits for and returns the first circle.
func (j *judge) follow(rank int, at map[int]waiter, done map[int]bool, path []int) []int {
	if i := slices.Index(path, rank); i >= 0 {
		return path[i:]
	}
	w, ok := at[rank]
	if !ok || done[rank] {
		return nil
	}
	path = append(path, rank)
	for _, m := range j.missing(w) {
		if c := j.follow(m, at, done, path); c != nil {
			return c
		}
	}
	done[rank] = true
	return nil
}

// side is the ranks that made the same call, lowest first.
type side struct {
	call  call
	id    string
	seq   uint64
	ranks []int
}

// disagreement names the lowest rank of each side.
func (j *judge) disagreement(key string, sides []side) *finding {
	f := &finding{hold: j.o.Settle / 2}
	var calls []string
	for _, s := range sides {
		f.blame = append(f.blame, s.ranks[0])
		who := fmt.Sprintf("rank %d", s.ranks[0])
		if n := len(s.ranks) - 1; n > 0 {
			who += fmt.Sprintf(" and %d more", n)
		}
		calls = append(calls, who+" called "+s.call.exact(s.seq, j.groups[s.id].name))
	}
	f.confirm = f.blame
	f.key = fmt.Sprint(key, f.blame)
	f.text = fmt.Sprintf("ranks %s disagree: %s", list(f.blame), strings.Join(calls, ", "))
	return f
}

// unmoved finds a rank outside of all collectives that shows no sign of work
// while others wait for it. One that has begun the others' call may still be
// needed to move it on.
func (j *judge) unmoved(waiters []waiter) *finding {
	for _, w := range waiters {
		for _, m := range j.partners(w) {
			v := &j.ranks[m]
			if v.still < j.o.Timeout || j.waits(m) || j.stream(m, w.id).Started >= w.Seq && w.For < j.o.Timeout {
				continue
			}
			return &finding{
				key: fmt.Sprint("unmoved ", m), hold: j.o.Settle / 2, blame: []int{m}, confirm: []int{m, w.rank},
				text: fmt.Sprintf("%s has not moved for %s, %s; %s waiting for it in %s", j.name(m), seconds(v.still), j.where(m),
					were(j.waitersIn(w.id, w.Seq, m)), j.brief(w)),
			}
		}
	}
	return nil
}

// slowest is the least speed of a collective, in bytes a second.
const slowest = 10e6

// endless finds a collective that all its ranks are in and that does not end.
func (j *judge) endless(waiters []waiter) *finding {
	for _, w := range waiters {
		members := j.groups[w.id].members
		if slices.ContainsFunc(members, func(m int) bool { return !j.inside(m, w.id, w.Seq) }) {
			continue
		}
		// From here on the key stays the same for as long as the call lasts.
		limit := j.o.Timeout + time.Duration(float64(w.Call.bytes())/slowest*float64(time.Second))
		return &finding{
			key: fmt.Sprint("endless ", w.id, w.Seq), hold: limit, blame: members, confirm: members,
			text: fmt.Sprintf("ranks %s are all in %s, which did not end for %s", list(members), j.brief(w), seconds(limit)),
		}
	}
	return nil
}

// list is ranks for a message.
func list(ranks []int) string { return comm.ListRanks(ranks, 8) }
