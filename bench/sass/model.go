package main

import (
	"fmt"
	"slices"
	"strings"
)

// rule says how often the code of some lines runs for each time that what it stands in
// does. text is part of a line; an instruction is of that line if it was made of it, or
// inlined into it.
type rule struct {
	text  string
	times float64
}

// round says how often a loop without a barrier goes round, whose lines have the given text.
// The compiler may have unrolled it, so work is counted, by instructions of the given kind.
type round struct {
	text string
	work int
	kind string
}

// model is the ordinary way through a kernel.
type model struct {
	name    string
	inner   string    // the call whose instructions are the inner ones
	triples float64   // of a thread
	nest    []float64 // how often the loops with a barrier go round, the outermost first
	rules   []rule
	rounds  []round

	kernel string // its name, where that is another
	loop   string // if not empty, one round of the loop of this line is counted,
	within string // inlined into this one, and there are no triples
}

// count is what a kernel issues for each triple.
type count struct{ inner, all float64 }

// of counts a kernel's instructions.
func (m *model) of(list []instruction) (c count, err error) {
	all := blocks(list)
	times := make([]float64, len(all))
	for _, n := range reachable(all) {
		times[n] = m.share(list[all[n].first:all[n].end])
	}
	if m.loop != "" {
		c.all = m.once(list, all, times)
		c.inner = c.all
		return c, nil
	}
	if err := m.turns(list, all, times); err != nil {
		return c, err
	}
	for n, b := range all {
		for _, in := range list[b.first:b.end] {
			c.all += times[n] / m.triples
			if in.made(m.inner) {
				c.inner += times[n] / m.triples
			}
		}
	}
	return c, nil
}

// once counts a round of the innermost loop of a line.
func (m *model) once(list []instruction, all []block, times []float64) (n float64) {
	least := len(all) + 1
	for _, l := range loops(all) {
		last := list[all[l.tails[0]].end-1]
		if !last.made(m.loop) || !last.made(m.within) || l.size() >= least {
			continue
		}
		least, n = l.size(), 0
		for b, in := range l.body {
			if in {
				n += times[b] * float64(all[b].end-all[b].first)
			}
		}
	}
	return n
}

// made reports whether an instruction was made of a line with the given text, or inlined
// into it.
func (i instruction) made(text string) bool {
	return slices.ContainsFunc(i.place, func(s string) bool { return strings.Contains(s, text) })
}

// turns multiplies how often blocks run by how often the loops round them do.
func (m *model) turns(list []instruction, all []block, times []float64) error {
	var outer, rest []loop
	for _, l := range loops(all) {
		switch {
		case times[l.tails[0]] == 0:
		case l.count(list, all, "BAR") > 0:
			outer = append(outer, l)
		default:
			rest = append(rest, l)
		}
	}
	slices.SortFunc(outer, func(a, b loop) int { return b.size() - a.size() })
	if len(outer) != len(m.nest) {
		return fmt.Errorf("%s has %d loops with barriers, the model has %d", m.name, len(outer), len(m.nest))
	}
	for i, l := range outer {
		l.multiply(times, m.nest[i])
	}
	left := map[string]int{} // work of loops that the compiler made several of
	slices.SortStableFunc(rest, func(a, b loop) int { return b.size() - a.size() })
	for _, l := range rest {
		r := m.round(list, all, &l)
		if r == nil {
			return fmt.Errorf("%s: how often does the loop at %q go round?", m.name, list[all[l.tails[0]].end-1].place)
		}
		key := fmt.Sprint(list[all[l.tails[0]].end-1].place)
		if _, ok := left[key]; !ok {
			left[key] = r.work
		}
		each := max(1, l.count(list, all, r.kind))
		l.multiply(times, float64(left[key]/each))
		left[key] %= each
	}
	return nil
}

func (l *loop) multiply(times []float64, n float64) {
	for b, in := range l.body {
		if in {
			times[b] *= n
		}
	}
}

func (l *loop) size() (n int) {
	for _, in := range l.body {
		if in {
			n++
		}
	}
	return n
}

// count counts a loop's instructions of a kind.
func (l *loop) count(list []instruction, all []block, kind string) (n int) {
	for b, in := range l.body {
		if !in {
			continue
		}
		for _, i := range list[all[b].first:all[b].end] {
			if i.opcode() == kind {
				n++
			}
		}
	}
	return n
}

// share is how often a block runs for each time that what it stands in does: most of its
// instructions tell.
func (m *model) share(list []instruction) float64 {
	votes := map[float64]int{}
	for _, in := range list {
		times := 1.0
		for _, r := range m.rules {
			if in.made(r.text) {
				times *= r.times
			}
		}
		votes[times]++
	}
	best := 1.0
	for times, n := range votes {
		if n > votes[best] || n == votes[best] && times > best {
			best = times
		}
	}
	return best
}

// round finds what the model says of a loop, by the jumps back, or else by any instruction
// of the blocks that end with them.
func (m *model) round(list []instruction, all []block, l *loop) *round {
	for _, tail := range l.tails {
		b := all[tail]
		for at := b.end - 1; at >= b.first; at-- {
			for i, r := range m.rounds {
				if list[at].made(r.text) {
					return &m.rounds[i]
				}
			}
		}
	}
	return nil
}
