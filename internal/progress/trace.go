package progress

import (
	"fmt"
	"time"
)

// mainLane is where the sections of a rank stand in its trace.
const mainLane = "sections"

// traceSpans bounds the trace of a run, over all ranks together: some 100 MB of
// file. Each rank keeps the first of its spans, as many as are its share, but
// leastSpans in any case.
const (
	traceSpans = 1 << 20
	leastSpans = 1 << 10
)

// Trace is what one rank did when.
type Trace struct {
	Start   int64      `json:"start"`             // Unix time of New in ns, by this rank's clock
	Names   []string   `json:"names"`             // of sections and lanes
	Spans   [][4]int64 `json:"spans"`             // lane, section (both in Names), begin after Start and duration, in ns
	Dropped int        `json:"dropped,omitempty"` // spans beyond the bound
}

// recorder keeps a trace. Its methods do nothing on a nil recorder.
type recorder struct {
	Trace
	limit int
	index map[string]int64 // in Names
}

// KeepTrace keeps the begin and end of every section from now on, for
// WriteTrace, in memory bounded for a run on that many ranks. It is called
// before the work begins.
func (r *Reporter) KeepTrace(ranks int) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock.trace = &recorder{
		Trace: Trace{Start: r.clock.begin.UnixNano()},
		limit: max(leastSpans, traceSpans/max(ranks, 1)),
		index: map[string]int64{},
	}
}

// Beside books work that went on beside the sections, as that of a GPU does, which has
// a clock of its own: on a lane of the trace, and in a table behind the closing one. It
// counts towards no section.
func (r *Reporter) Beside(lane, name string, begin time.Time, took time.Duration) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	around := r.clock.beside.enter(lane)
	around.Calls = 0 // a lane is no work
	around.enter(name).Own += took
	at := max(0, begin.Sub(r.clock.begin))
	r.clock.trace.stop(r.clock.trace.start(lane, name, at), at+took)
}

// start begins a span, at the time after New, and returns its number. Spans are
// kept from their begin on, so that long ones around many short ones are not
// those that are dropped.
func (t *recorder) start(lane, name string, at time.Duration) int {
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

func (t *recorder) stop(i int, at time.Duration) {
	if t != nil && i >= 0 {
		t.Spans[i][3] = int64(at) - t.Spans[i][2]
	}
}

func (t *recorder) number(name string) int64 {
	i, ok := t.index[name]
	if !ok {
		i = int64(len(t.Names))
		t.index[name] = i
		t.Names = append(t.Names, name)
	}
	return i
}

// kept is what was recorded, nil where nobody asked for it.
func (t *recorder) kept() *Trace {
	if t == nil {
		return nil
	}
	return &t.Trace
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
