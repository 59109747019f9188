package progress

import (
	"fmt"
	"slices"
	"time"
)

// clock adds up the time of each section of a run, and knows which sections are
// under way.
type clock struct {
	begin  time.Time
	root   Node          // around all sections
	beside Node          // around all lanes of work beside them
	open   []*visit      // the innermost last
	whole  time.Duration // all that was booked
	trace  *Trace        // nil unless requested
}

// Node is a section inside the sections around it, as one rank went through it.
// The same name inside other sections is another Node.
type Node struct {
	Name  string        `json:"name"`
	Own   time.Duration `json:"own"` // without the time of sections inside it
	Calls int           `json:"calls"`
	Inner []*Node       `json:"inner,omitempty"` // in the order of their first begin
}

// child is the section of that name inside n, nil for none.
func (n *Node) child(name string) *Node {
	if n == nil {
		return nil
	}
	i := slices.IndexFunc(n.Inner, func(c *Node) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return n.Inner[i]
}

// enter counts a call of the section of that name inside n, which it makes if it is
// missing.
func (n *Node) enter(name string) *Node {
	c := n.child(name)
	if c == nil {
		c = &Node{Name: name}
		n.Inner = append(n.Inner, c)
	}
	c.Calls++
	return c
}

// visit is one pass through a section.
type visit struct {
	node  *Node
	begin time.Time
	whole time.Duration // clock.whole when it began
	event int           // in the trace
}

// enter begins a section inside the innermost one under way.
func (c *clock) enter(name string, now time.Time) *visit {
	around := &c.root
	if n := len(c.open); n > 0 {
		around = c.open[n-1].node
	}
	v := &visit{around.enter(name), now, c.whole, c.trace.start(laneSections, name, now.Sub(c.begin))}
	c.open = append(c.open, v)
	return v
}

// leave books the time of v less what was booked since it began, so that
// sections never overlap, not even where they end in another order than the
// reverse of their begins.
func (c *clock) leave(v *visit, now time.Time) {
	i := slices.Index(c.open, v)
	if i < 0 {
		return // ended before
	}
	c.open = slices.Delete(c.open, i, i+1)
	own := max(0, now.Sub(v.begin)-(c.whole-v.whole))
	v.node.Own += own
	c.whole += own
	c.trace.stop(v.event, now.Sub(c.begin))
}

// section holds the times of all ranks in one part of the run.
type section struct {
	path    []string
	seconds []float64 // [ranks], without the time of sections inside it
	calls   []int     // [ranks], how often it was entered
}

// Time begins to count time towards the named section of the closing table and
// prints nothing; the function it returns ends that. The section lies inside the
// innermost one that is under way, and its time is not counted there. Sections
// follow one thread of work; for what went on beside it there is Beside.
func (r *Reporter) Time(section string) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.clock.enter(section, r.opt.Now())
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.clock.leave(v, r.opt.Now())
	}
}

// merge lists the sections inside around, which holds one section of each rank,
// nil where a rank never entered it.
func merge(path []string, around []*Node) (sections []section) {
	var names []string
	for _, n := range around {
		if n == nil {
			continue
		}
		for _, c := range n.Inner {
			if !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	for _, name := range names {
		s := section{append(slices.Clone(path), name), make([]float64, len(around)), make([]int, len(around))}
		same := make([]*Node, len(around))
		for rank, n := range around {
			if c := n.child(name); c != nil {
				same[rank], s.seconds[rank], s.calls[rank] = c, c.Own.Seconds(), c.Calls
			}
		}
		sections = append(sections, s)
		sections = append(sections, merge(s.path, same)...)
	}
	return sections
}

// laneSections is the lane of a rank's sections in its trace.
const laneSections = "sections"

// traceSpans bounds the trace of a run, over all ranks together: some 100 MB of
// file. Each rank keeps the first of its spans, up to its share, but at least leastSpans.
const (
	traceSpans = 1 << 20
	leastSpans = 1 << 10
)

// Trace holds the work of one rank with its times. A nil Trace records nothing.
type Trace struct {
	Start   int64      `json:"start"`             // Unix time of New in ns, by this rank's clock
	Names   []string   `json:"names"`             // of sections and lanes
	Spans   [][4]int64 `json:"spans"`             // lane, section (both in Names), begin after Start and duration, in ns
	Dropped int        `json:"dropped,omitempty"` // spans beyond the bound

	limit int
	index map[string]int64 // in Names
}

// KeepTrace keeps the begin and end of every section from now on, for
// WriteTrace, in memory bounded for a run on that many ranks. It is called
// before the work begins.
func (r *Reporter) KeepTrace(ranks int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock.trace = &Trace{
		Start: r.clock.begin.UnixNano(),
		limit: max(leastSpans, traceSpans/max(ranks, 1)),
		index: map[string]int64{},
	}
}

// Books reports whether anybody reads the times: a closing table or a trace.
func (r *Reporter) Books() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.opt.JSON || !r.opt.Quiet || r.clock.trace != nil
}

// Beside books work beside the sections, such as that of a GPU with its own clock: on a
// lane of the trace, and in a table behind the closing one. own is its time without the
// work inside it that is also booked. It counts towards no section.
func (r *Reporter) Beside(lane, name string, begin time.Time, took, own time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	around := r.clock.beside.enter(lane)
	around.Calls = 0 // a lane is not work
	around.enter(name).Own += own
	at := max(0, begin.Sub(r.clock.begin))
	r.clock.trace.stop(r.clock.trace.start(lane, name, at), at+took)
}

// start begins a span, at the time after New, and returns its number. Spans are
// kept from their begin on, so that long ones around many short ones are not
// those that are dropped.
func (t *Trace) start(lane, name string, at time.Duration) int {
	switch {
	case t == nil:
		return -1
	case len(t.Spans) >= t.limit:
		t.Dropped++
		return -1
	}
	t.Spans = append(t.Spans, [4]int64{t.number(lane), t.number(name), int64(at), -1})
	return len(t.Spans) - 1
}

func (t *Trace) stop(i int, at time.Duration) {
	if t != nil && i >= 0 {
		t.Spans[i][3] = int64(at) - t.Spans[i][2]
	}
}

func (t *Trace) number(name string) int64 {
	i, ok := t.index[name]
	if !ok {
		i = int64(len(t.Names))
		t.index[name] = i
		t.Names = append(t.Names, name)
	}
	return i
}

// warnDropped says how many spans the traces lack.
func (r *Reporter) warnDropped(all []Account) {
	dropped, kept := 0, 0
	for _, a := range all {
		if a.Trace != nil && a.Trace.Dropped > 0 {
			dropped += a.Trace.Dropped
			kept = len(a.Trace.Spans) // the same on every rank that dropped some
		}
	}
	if dropped > 0 {
		r.Warn(fmt.Sprintf("the trace lacks %d spans: each rank keeps its first %d", dropped, kept))
	}
}
