package report

import (
	"fmt"
	"io"
	"math"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
)

// Columns are the headings over the numbers of each row: of one rank a single
// time.
func (t *Times) Columns() []string {
	if t.Ranks == 1 {
		return []string{"s", "calls", "% of total"}
	}
	return []string{"min s", "avg s", "max s", "calls", "% of total"}
}

// Numbers are a row under the Columns.
func (t *Times) Numbers(row progress.Row) []string {
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

// bar is a share of the total as a width in percent.
func bar(percent float64) float64 { return math.Round(10*min(100, max(0, percent))) / 10 }

// times fills in where time and memory went.
func (r *Run) times(p *page) {
	p.Times = r.Times
	if r.Times == nil {
		p.NoTimes = append(p.NoTimes, "No times: --log FILE takes them from the output of lsm run --json, --trace FILE from what lsm run --trace has written.")
	}
	if r.Log == nil || r.Log.Memory == nil {
		p.NoTimes = append(p.NoTimes, "Memory is not known: --log FILE takes it from the output of lsm run --json.")
	} else {
		ranks := 0
		if r.Times != nil {
			ranks = r.Times.Ranks
		}
		m := r.Log.Memory
		p.Memory = "Memory: " + progress.MemoryText(m.Max, m.Predicted, m.Rank, ranks) + "."
	}
	if r.Log != nil {
		for _, w := range r.Log.Warnings {
			p.Notes = append(p.Notes, "The run warned: "+w)
		}
	}
}

// ReadTrace finds where the time went from what lsm run --trace has written.
func ReadTrace(r io.Reader) (*Times, error) {
	rows, err := progress.ReadTrace(r)
	if err != nil {
		return nil, fmt.Errorf("is no trace of lsm run --trace: %w", err)
	}
	t := &Times{From: "the trace", Rows: rows}
	for _, row := range rows {
		t.Ranks = row.Ranks
		t.Total += row.Avg
	}
	return t, nil
}
