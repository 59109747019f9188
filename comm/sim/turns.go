package sim

import (
	"math"
	"sync"
)

// turns lets the ranks of nodes with too few cores compute in the order of time. A rank computes
// or waits until no rank runs. Then time passes for all of them, to the end of what ends first.
// What ranks do at the same time does not depend on which of them does it first.
type turns struct {
	model *Model
	at    []*Clock

	mu      sync.Mutex
	running int     // ranks between two waits
	now     float64 // s
	on      []int   // by node, how many ranks compute
}

// turn is what a rank waits for.
type turn int

const (
	running   turn = iota // or for another rank
	computing             // until nothing is left to compute
	sleeping              // until a time
)

// clocks are those of so many ranks. They move alone if the ranks of a node can all compute at
// once.
func clocks(m *Model, ranks int) []*Clock {
	var t *turns
	if m.part(m.OnNode) < 1 {
		t = &turns{model: m, running: ranks, on: make([]int, m.node(ranks-1)+1)}
	}
	all := make([]*Clock, ranks)
	for r := range all {
		all[r] = &Clock{turns: t, node: m.node(r), wake: make(chan struct{}, 1)}
	}
	if t != nil {
		t.at = all
	}
	return all
}

// wait lets time pass until the rank of a clock has computed for so many seconds of a core of
// its own, or has slept until a time.
func (t *turns) wait(c *Clock, what turn, left float64) {
	if left <= 0 || what == sleeping && left <= c.now {
		return
	}
	t.mu.Lock()
	c.turn, c.left = what, left
	t.stop()
	t.mu.Unlock()
	<-c.wake
}

// rest says that the rank that calls it waits for another, which calls resume.
func (t *turns) rest() {
	if t == nil {
		return
	}
	t.mu.Lock()
	t.stop()
	t.mu.Unlock()
}

// resume says that so many ranks run again that rest, or are about to.
func (t *turns) resume(ranks int) {
	if t == nil {
		return
	}
	t.mu.Lock()
	t.running += ranks
	t.mu.Unlock()
}

// stop counts a rank less that runs. The last one lets time pass.
func (t *turns) stop() {
	if t.running--; t.running > 0 {
		return
	}
	clear(t.on)
	for _, c := range t.at {
		if c.turn == computing {
			t.on[c.node]++
		}
	}
	first := math.Inf(1)
	for _, c := range t.at {
		first = min(first, t.end(c))
	}
	for _, c := range t.at {
		switch {
		case c.turn == running:
		case t.end(c) == first:
			t.running++
			c.turn, c.now = running, first
			c.wake <- struct{}{}
		case c.turn == computing:
			c.left -= (first - t.now) * t.model.part(t.on[c.node])
		}
	}
	t.now = first
}

// end is when the rank of a clock runs again if nothing ends before.
func (t *turns) end(c *Clock) float64 {
	switch c.turn {
	case computing:
		return t.now + c.left/t.model.part(t.on[c.node])
	case sleeping:
		return c.left
	}
	return math.Inf(1)
}
