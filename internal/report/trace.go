package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
)

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
