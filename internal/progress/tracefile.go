package progress

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
)

// WriteTrace publishes the traces of all ranks at path, whole or not at all, in
// the Trace Event format that chrome://tracing and Perfetto show: a process for
// each rank, a thread for each lane. Without force an existing file is an error
// that wraps fs.ErrExist.
//
// Times are in µs after the first rank's begin. Ranks are aligned by the Unix time of
// their clocks. On different machines they may be shifted by as much as the clocks differ.
func WriteTrace(path string, all []Account, force bool) error {
	text, err := encodeTrace(all)
	if err == nil {
		err = plainfile.Write(path, text, force)
	}
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	return nil
}

// traceEvent is one event of the format: "X" is a span, "M" a name.
type traceEvent struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"`
	PID   int            `json:"pid"`           // rank
	TID   int            `json:"tid"`           // lane
	TS    float64        `json:"ts"`            // µs
	Dur   *float64       `json:"dur,omitempty"` // µs
	Args  map[string]any `json:"args,omitempty"`
}

// encodeTrace writes an event a line.
func encodeTrace(all []Account) ([]byte, error) {
	start := int64(math.MaxInt64)
	for rank, a := range all {
		if a.Trace == nil {
			return nil, fmt.Errorf("rank %d has kept none", rank)
		}
		start = min(start, a.Trace.Start)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"displayTimeUnit":"ms","otherData":{"clock":"Unix time of each rank's machine, not corrected","start":%q},"traceEvents":[`,
		time.Unix(0, start).UTC().Format(time.RFC3339Nano))
	comma, thread := "\n", len(all) // no thread has the number of a process: Perfetto takes it for its main thread
	for rank, a := range all {
		for _, e := range traceEvents(rank, &thread, a, start) {
			text, err := json.Marshal(e)
			if err != nil {
				return nil, err
			}
			b.WriteString(comma)
			b.Write(text)
			comma = ",\n"
		}
	}
	b.WriteString("\n]}\n")
	return b.Bytes(), nil
}

// traceEvents are the events of one rank: its names, then lane by lane. Lanes of all ranks
// have numbers of their own after thread, since viewers take threads with one number for one.
func traceEvents(rank int, thread *int, a Account, start int64) []traceEvent {
	meta := func(what string, tid int, key string, value any) traceEvent {
		return traceEvent{Name: what, Phase: "M", PID: rank, TID: tid, Args: map[string]any{key: value}}
	}
	label := fmt.Sprintf("rank %d", rank)
	if a.Host != "" {
		label += " on " + a.Host
	}
	events := []traceEvent{meta("process_name", 0, "name", label), meta("process_sort_index", 0, "sort_index", rank)}
	if n := a.Trace.Dropped; n > 0 {
		events = append(events, meta("process_labels", 0, "labels", fmt.Sprintf("the last %d spans were dropped", n)))
	}
	for i, l := range lanes(a.Trace) {
		*thread++
		tid := *thread
		events = append(events, meta("thread_name", tid, "name", l.name), meta("thread_sort_index", tid, "sort_index", i))
		for _, s := range l.spans {
			begin, end := micro(a.Trace.Start-start+s[2]), micro(a.Trace.Start-start+s[2]+s[3])
			dur := end - begin
			events = append(events, traceEvent{Name: a.Trace.Names[s[1]], Phase: "X", PID: rank, TID: tid, TS: begin, Dur: &dur})
		}
	}
	return events
}

// micro is a time in ns as whole eighths of µs. These are exact in binary. Perfetto cuts
// other numbers off and drops spans that then overlap with their neighbours.
func micro(ns int64) float64 { return math.Round(float64(ns)/125) / 8 }

// laneSpans are the spans of one thread of the format. Any two of them are nested or
// disjoint.
type laneSpans struct {
	name  string
	spans [][4]int64
	ends  []int64 // of the spans around the next one
}

// lanes distributes the spans of a trace over their lanes. Spans that overlap go to
// further lanes.
func lanes(t *Trace) (all []*laneSpans) {
	spans := slices.Clone(t.Spans)
	slices.SortStableFunc(spans, func(a, b [4]int64) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[2], b[2]), cmp.Compare(b[3], a[3]))
	})
	first := 0 // of the lanes of this name
	for i, s := range spans {
		if i == 0 || s[0] != spans[i-1][0] {
			first = len(all)
		}
		k := first
		for k < len(all) && !all[k].fits(s) {
			k++
		}
		if k == len(all) {
			l := &laneSpans{name: t.Names[s[0]]}
			if k > first {
				l.name += fmt.Sprintf(" %d", k-first+1)
			}
			all = append(all, l)
		}
		all[k].spans = append(all[k].spans, s)
		all[k].ends = append(all[k].ends, s[2]+s[3])
	}
	return all
}

// fits reports whether the lane can take s, which begins no earlier than the lane's other
// spans. It forgets those that have ended.
func (l *laneSpans) fits(s [4]int64) bool {
	for n := len(l.ends); n > 0 && l.ends[n-1] <= s[2]; n-- {
		l.ends = l.ends[:n-1]
	}
	return len(l.ends) == 0 || s[2]+s[3] <= l.ends[len(l.ends)-1]
}
