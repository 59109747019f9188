package progress

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/renameio/v2"
)

// WriteTrace publishes the traces of all ranks at path, whole or not at all, in
// the Trace Event format that chrome://tracing and Perfetto show: a process for
// each rank, a thread for each lane. Without force an existing file is an error
// that wraps fs.ErrExist.
//
// Times are in µs after the first rank's begin. Ranks are aligned by their
// clocks' Unix time as it is, so that those on different machines may be off
// against each other by as much as their clocks are.
func WriteTrace(path string, all []Account, force bool) (err error) {
	if !force {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("trace: %s: %w", path, fs.ErrExist)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("trace: %w", err)
		}
	}
	tmp, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(0o644))
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	defer func() {
		if e := tmp.Cleanup(); err == nil && e != nil {
			err = fmt.Errorf("trace: %w", e)
		}
	}()
	if err := encodeTrace(tmp, all); err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	if err := tmp.CloseAtomicallyReplace(); err != nil {
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

func encodeTrace(w io.Writer, all []Account) error {
	var start int64
	for rank, a := range all {
		if a.Trace == nil {
			return fmt.Errorf("rank %d has kept none", rank)
		}
		if rank == 0 || a.Trace.Start < start {
			start = a.Trace.Start
		}
	}
	buf := bufio.NewWriter(w)
	buf.WriteString(`{"displayTimeUnit":"ms","otherData":`)
	err := encode(buf, map[string]any{
		"start": time.Unix(0, start).UTC().Format(time.RFC3339Nano),
		"clock": "Unix time of each rank's machine, not corrected",
	})
	if err != nil {
		return err
	}
	buf.WriteString(`,"traceEvents":[`)
	comma := "\n"
	for rank, a := range all {
		for _, e := range traceEvents(rank, a, start) {
			buf.WriteString(comma)
			if err := encode(buf, e); err != nil {
				return err
			}
			comma = ",\n"
		}
	}
	buf.WriteString("\n]}\n")
	return buf.Flush() // the first failure of all the writing
}

func encode(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// traceEvents are the events of one rank: its names, then lane by lane.
func traceEvents(rank int, a Account, start int64) []traceEvent {
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
	for tid, l := range lanes(a.Trace) {
		events = append(events, meta("thread_name", tid, "name", l.name), meta("thread_sort_index", tid, "sort_index", tid))
		for _, s := range l.spans {
			dur := float64(s[3]) / 1e3
			events = append(events, traceEvent{Name: a.Trace.Names[s[1]], Phase: "X", PID: rank, TID: tid,
				TS: float64(a.Trace.Start-start+s[2]) / 1e3, Dur: &dur})
		}
	}
	return events
}

// laneSpans are spans of which any two lie one inside the other or apart, as a
// thread of the format demands.
type laneSpans struct {
	name  string
	spans [][4]int64
	ends  []int64 // of the spans around the next one
}

// lanes deals the spans of a trace to their lanes, and to further lanes those
// that overlap.
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

// fits reports whether s, which begins after all that the lane has, lies inside
// or behind them; it forgets those that have ended.
func (l *laneSpans) fits(s [4]int64) bool {
	for n := len(l.ends); n > 0 && l.ends[n-1] <= s[2]; n-- {
		l.ends = l.ends[:n-1]
	}
	return len(l.ends) == 0 || s[2]+s[3] <= l.ends[len(l.ends)-1]
}
