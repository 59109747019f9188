package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// Name is the section's own name, without control characters.
func (t TimeRow) Name() string {
	if len(t.Path) == 0 {
		return ""
	}
	return clean(t.Path[len(t.Path)-1])
}

// Depth is how many sections are around it.
func (t TimeRow) Depth() int { return max(0, len(t.Path)-1) }

// Columns are the headings over the numbers of each row: of one rank a single
// time.
func (t *Times) Columns() []string {
	if t.Ranks == 1 {
		return []string{"s", "calls", "% of total"}
	}
	return []string{"min s", "avg s", "max s", "calls", "% of total"}
}

// Numbers are a row under the Columns.
func (t *Times) Numbers(row TimeRow) []string {
	f := func(v float64) string { return fmt.Sprintf("%.4g", v) }
	out := []string{f(row.Min), f(row.Avg), f(row.Max)}
	if t.Ranks == 1 {
		out = out[1:2]
	}
	calls := ""
	if row.Calls > 0 {
		calls = fmt.Sprint(row.Calls)
	}
	return append(out, calls, fmt.Sprintf("%.1f", row.Percent))
}

// Bar is the share of the total as a width in percent.
func (t TimeRow) Bar() float64 { return math.Round(10*min(100, max(0, t.Percent))) / 10 }

// IsTotal reports whether the row is the sum of the others.
func (t TimeRow) IsTotal() bool { return len(t.Path) == 1 && t.Path[0] == "total" }

// times fills in where time and memory went.
func (r *Run) times(p *page) {
	p.Times = r.Times
	if r.Times == nil {
		p.NoTimes = append(p.NoTimes, "No times: --log FILE takes them from the output of lsm run --json, --trace FILE from what lsm run --trace has written.")
	}
	switch {
	case r.Log == nil || r.Log.Memory == nil:
		p.NoTimes = append(p.NoTimes, "Memory is not known: --log FILE takes it from the output of lsm run --json.")
	default:
		m := r.Log.Memory
		var b strings.Builder
		fmt.Fprintf(&b, "Memory: %s at most", readable.Bytes(m.Max))
		if r.Times != nil && r.Times.Ranks > 1 {
			fmt.Fprintf(&b, " (rank %d)", m.Rank)
		}
		if m.Predicted > 0 {
			fmt.Fprintf(&b, ", %s predicted", readable.Bytes(m.Predicted))
		}
		b.WriteString(".")
		p.Memory = b.String()
	}
	if r.Log != nil {
		for _, w := range r.Log.Warnings {
			p.Notes = append(p.Notes, "The run warned: "+clean(w))
		}
	}
}

// ReadTrace finds where the time went from what lsm run --trace has written.
func ReadTrace(r io.Reader) (*Times, error) {
	sections, err := progress.ReadTrace(r)
	if err != nil {
		return nil, fmt.Errorf("is no trace of lsm run --trace: %w", err)
	}
	t := &Times{From: "the trace"}
	for _, s := range sections {
		t.Ranks = len(s.Seconds)
		row := TimeRow{Path: s.Path, Min: slices.Min(s.Seconds), Max: slices.Max(s.Seconds), Calls: slices.Max(s.Calls)}
		for _, v := range s.Seconds {
			row.Avg += v / float64(t.Ranks)
		}
		t.Total += row.Avg
		t.Rows = append(t.Rows, row)
	}
	for i := range t.Rows {
		if t.Total > 0 {
			t.Rows[i].Percent = 100 * t.Rows[i].Avg / t.Total
		}
	}
	return t, nil
}
