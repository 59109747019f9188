package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// mainLane is the lane of a trace that holds the sections of a run; what goes on
// beside them stands in others (internal/progress).
const mainLane = "sections"

// span is one span of a trace, in µs.
type span struct {
	name       string
	begin, end float64
}

// traceEvent is one event of a trace file.
type traceEvent struct {
	Name  string          `json:"name"`
	Phase string          `json:"ph"`
	PID   int             `json:"pid"`
	TID   int             `json:"tid"`
	TS    float64         `json:"ts"`
	Dur   float64         `json:"dur"`
	Args  json.RawMessage `json:"args"`
}

// ReadTrace finds where the time went from what lsm run --trace has written.
func ReadTrace(r io.Reader) (*Times, error) {
	names := map[[2]int]string{} // of lanes
	spans := map[[2]int][]span{}
	found := false
	err := eachEvent(json.NewDecoder(r), func(e traceEvent) error {
		found = true
		lane := [2]int{e.PID, e.TID}
		switch {
		case e.Phase == "M" && e.Name == "thread_name":
			var arg struct {
				Name string `json:"name"`
			}
			if err := json.Unmarshal(e.Args, &arg); err != nil {
				return err
			}
			names[lane] = arg.Name
		case e.Phase == "X":
			spans[lane] = append(spans[lane], span{e.Name, e.TS, e.TS + e.Dur})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("is no trace of lsm run --trace: %w", err)
	}
	if !found {
		return nil, fmt.Errorf("is no trace of lsm run --trace: it has no events")
	}
	ranks := map[int][]span{}
	for lane, s := range spans {
		// Sections that overlap stand in "sections 2" and so on.
		if names[lane] == mainLane || strings.HasPrefix(names[lane], mainLane+" ") {
			ranks[lane[0]] = append(ranks[lane[0]], s...)
		}
	}
	return addUp(ranks), nil
}

// eachEvent walks through the list traceEvents one by one: a trace can be large.
func eachEvent(d *json.Decoder, do func(traceEvent) error) error {
	if t, err := d.Token(); err != nil {
		return err
	} else if t != json.Delim('{') {
		return fmt.Errorf("begins with %v, want {", t)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		if key != "traceEvents" {
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return err
			}
			continue
		}
		if t, err := d.Token(); err != nil {
			return err
		} else if t != json.Delim('[') {
			return fmt.Errorf("traceEvents is no list")
		}
		for d.More() {
			var e traceEvent
			if err := d.Decode(&e); err != nil {
				return err
			}
			if err := do(e); err != nil {
				return err
			}
		}
		if _, err := d.Token(); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// section is what the ranks spent in one part of the run: seconds without those
// of the sections inside it.
type section struct {
	name    string
	seconds []float64 // [ranks]
	calls   []int     // [ranks]
	inner   []*section
}

// child is the section of that name inside s, made where there is none.
func (s *section) child(name string) *section {
	for _, c := range s.inner {
		if c.name == name {
			return c
		}
	}
	c := &section{name: name, seconds: make([]float64, len(s.seconds)), calls: make([]int, len(s.calls))}
	s.inner = append(s.inner, c)
	return c
}

// addUp makes rows of the ranks' spans.
func addUp(ranks map[int][]span) *Times {
	n := len(ranks)
	root := &section{seconds: make([]float64, n), calls: make([]int, n)}
	for i, rank := range slices.Sorted(maps.Keys(ranks)) {
		root.walk(i, ranks[rank])
	}
	t := &Times{From: "the trace", Ranks: n}
	for _, s := range root.seconds {
		t.Total -= s / float64(n) // what its inner sections took
	}
	t.list(root, nil)
	return t
}

// walk books the spans of one rank.
func (s *section) walk(rank int, spans []span) {
	slices.SortStableFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(b.end, a.end))
	})
	type open struct {
		*section
		end float64
	}
	around := []open{{s, math.Inf(1)}}
	for _, sp := range spans {
		for around[len(around)-1].end <= sp.begin {
			around = around[:len(around)-1]
		}
		outer := around[len(around)-1]
		in := outer.child(sp.name)
		in.seconds[rank] += (sp.end - sp.begin) / 1e6
		in.calls[rank]++
		outer.seconds[rank] -= (min(sp.end, outer.end) - sp.begin) / 1e6
		around = append(around, open{in, sp.end})
	}
}

// list appends a row for each section inside s.
func (t *Times) list(s *section, path []string) {
	for _, c := range s.inner {
		row := TimeRow{Path: append(slices.Clone(path), c.name),
			Min: slices.Min(c.seconds), Max: slices.Max(c.seconds), Calls: slices.Max(c.calls)}
		for _, v := range c.seconds {
			row.Avg += v / float64(len(c.seconds))
		}
		if t.Total > 0 {
			row.Percent = 100 * row.Avg / t.Total
		}
		t.Rows = append(t.Rows, row)
		t.list(c, row.Path)
	}
}
