package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
)

// findGoodbye finds a rank that said goodbye though others wait for it.
func (j *judge) findGoodbye(waiters []waiter) *finding {
	for _, w := range waiters {
		for _, m := range j.listMissing(w) {
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

// findCircle finds ranks that wait for each other: each has not begun the call that the one
// before it is in, or made another call of that number. Collectives that goroutines of
// one rank call side by side can look like that for a while, so calls of several numbers
// get more patience than several calls of one.
func (j *judge) findCircle(waiters []waiter) *finding {
	at := map[int]waiter{} // each rank's longest wait
	for _, w := range waiters {
		if _, ok := at[w.rank]; !ok {
			at[w.rank] = w
		}
	}
	done := map[int]bool{}
	for _, w := range waiters {
		var sides []side
		patient := true
		for _, r := range j.follow(w.rank, at, done, nil) {
			made := j.listVersions(at[r])
			if len(made) > 1 {
				return j.describeDisagreement(made)
			}
			sides = append(sides, made...)
			patient = patient && at[r].For >= 3*j.o.Settle
		}
		if len(sides) > 0 && patient {
			slices.SortFunc(sides, func(a, b side) int { return a.ranks[0] - b.ranks[0] })
			return j.describeDisagreement(sides)
		}
	}
	return nil
}

// listVersions returns the different calls that ranks made under the number of a waiter's
// call. Messages have no common numbers.
func (j *judge) listVersions(w waiter) (sides []side) {
	for r := range j.ranks {
		c, known := j.findPastCall(r, w.id, w.Seq)
		if !known || w.Call.Kind == sendRecv && r != w.rank {
			continue
		}
		k := slices.IndexFunc(sides, func(s side) bool { return s.call == c })
		if k < 0 {
			k = len(sides)
			sides = append(sides, side{call: c, id: w.id, seq: w.Seq})
		}
		sides[k].ranks = append(sides[k].ranks, r)
	}
	return sides
}

// follow walks from a rank to the ranks it waits for and returns the first circle.
func (j *judge) follow(rank int, at map[int]waiter, done map[int]bool, path []int) []int {
	if i := slices.Index(path, rank); i >= 0 {
		return path[i:]
	}
	w, ok := at[rank]
	if !ok || done[rank] {
		return nil
	}
	path = append(path, rank)
	for _, m := range j.listMissing(w) {
		if c := j.follow(m, at, done, path); c != nil {
			return c
		}
	}
	done[rank] = true
	return nil
}

// side is the set of ranks that made the same call, lowest first.
type side struct {
	call  call
	id    string
	seq   uint64
	ranks []int
}

// describeDisagreement names the lowest rank of each side.
func (j *judge) describeDisagreement(sides []side) *finding {
	f := &finding{hold: j.o.Settle / 2}
	var calls []string
	for _, s := range sides {
		f.blame = append(f.blame, s.ranks[0])
		who := fmt.Sprintf("rank %d", s.ranks[0])
		if n := len(s.ranks) - 1; n > 0 {
			who += fmt.Sprintf(" and %d more", n)
		}
		calls = append(calls, who+" called "+s.call.exact(s.seq, j.groups[s.id].Name))
	}
	f.confirm = f.blame
	f.key = fmt.Sprint("disagreement ", calls)
	f.text = fmt.Sprintf("ranks %s disagree: %s", list(f.blame), strings.Join(calls, ", "))
	return f
}

// findUnmoved finds a rank outside of all collectives that shows no sign of work
// while others wait for it. One that has begun the others' call may still be
// needed to move it on.
func (j *judge) findUnmoved(waiters []waiter) *finding {
	for _, w := range waiters {
		for _, m := range j.listPartners(w) {
			v := &j.ranks[m]
			if v.still < j.o.Timeout || j.waits(m) || j.stream(m, w.id).Started >= w.Seq && w.For < j.o.Timeout {
				continue
			}
			return &finding{
				key: fmt.Sprint("unmoved ", m), hold: j.o.Settle / 2, blame: []int{m}, confirm: []int{m, w.rank},
				text: fmt.Sprintf("%s has not moved for %s, %s; %s waiting for it in %s", j.name(m), seconds(v.still), j.describePlace(m),
					were(j.waitersIn(w.id, w.Seq, m)), j.brief(w)),
			}
		}
	}
	return nil
}

// slowest is the lowest credible speed of a collective, in bytes a second.
const slowest = 10e6

// findEndless finds a collective that all its ranks have entered and that does not end.
func (j *judge) findEndless(waiters []waiter) *finding {
	for _, w := range waiters {
		members := j.groups[w.id].Members
		if slices.ContainsFunc(members, func(m int) bool { return !j.inside(m, w.id, w.Seq) }) {
			continue
		}
		// From here on the key stays the same as long as the call lasts.
		limit := j.o.Timeout + time.Duration(float64(w.Call.bytes())/slowest*float64(time.Second))
		return &finding{
			key: fmt.Sprint("endless ", w.id, w.Seq), hold: limit, blame: members, confirm: members,
			text: fmt.Sprintf("ranks %s are all in %s, which did not end for %s", list(members), j.brief(w), seconds(limit)),
		}
	}
	return nil
}

// findIdle finds that no rank shows any sign of work, such as where all of them wait for a
// collective of their cards that does not end.
func (j *judge) findIdle() *finding {
	least := j.ranks[0].still
	for _, m := range j.ranks {
		if least = min(least, m.still); m.gone || least < j.o.Timeout {
			return nil
		}
	}
	all := make([]int, len(j.ranks))
	for r := range all {
		all[r] = r
	}
	return &finding{
		key: "idle", hold: j.o.Settle, blame: all, confirm: all,
		text: fmt.Sprintf("no rank has moved for %s; %s is %s", seconds(least), j.name(0), j.describePlace(0)),
	}
}

// list is ranks for a message.
func list(ranks []int) string { return comm.ListRanks(ranks, 8) }
