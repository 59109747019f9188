package progress

import (
	"fmt"
	"slices"
	"strings"
)

// Table prints the closing table in LAMMPS's shape: for each section the least,
// mean and greatest time over the ranks and its share of the total, so that an
// imbalance shows at a glance. The total holds each rank's whole time in
// seconds; what no section accounts for is the row "other".
func (r *Reporter) Table(sections []Section, total []float64) {
	if r == nil || len(total) == 0 {
		return
	}
	rows := slices.Clone(sections)
	other := slices.Clone(total)
	for _, s := range sections {
		if len(s.Seconds) != len(total) {
			panic(fmt.Sprintf("progress: section %s has times of %d ranks, want %d", s.Name, len(s.Seconds), len(total)))
		}
		for i, t := range s.Seconds {
			other[i] -= t
		}
	}
	for i, t := range other {
		other[i] = max(t, 0) // clocks read one after the other
	}
	rows = append(rows, Section{"other", other}, Section{"total", total})
	whole := mean(total)

	var b strings.Builder
	width := len("section")
	for _, s := range rows {
		width = max(width, len(s.Name))
	}
	plural := "s"
	if len(total) == 1 {
		plural = ""
	}
	fmt.Fprintf(&b, "\n%-*s |  min s    |  avg s    |  max s    | %% of total, %d rank%s\n", width, "section", len(total), plural)
	rule := strings.Repeat("-", width+1) + "+" + strings.Repeat(strings.Repeat("-", 11)+"+", 3) + strings.Repeat("-", 11) + "\n"
	b.WriteString(rule)
	for i, s := range rows {
		if i == len(rows)-1 {
			b.WriteString(rule)
		}
		percent := 0.0
		if whole > 0 {
			percent = 100 * mean(s.Seconds) / whole
		}
		least, greatest := slices.Min(s.Seconds), slices.Max(s.Seconds)
		fmt.Fprintf(&b, "%-*s | %9.4g | %9.4g | %9.4g | %5.1f\n", width, s.Name, least, mean(s.Seconds), greatest, percent)
		r.Event("timing", "section", s.Name, "min", least, "avg", mean(s.Seconds), "max", greatest,
			"percent", percent, "ranks", len(total))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line(strings.TrimRight(b.String(), "\n"))
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
