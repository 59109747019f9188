package progress

import (
	"fmt"
	"slices"
	"strings"
)

// table prints a row for each section under a title, and an event of the given name;
// total is each rank's whole time in seconds. A last section of the name "total" is the
// sum of the others.
func (r *Reporter) table(title, event string, sections []section, total []float64) {
	rows := shares(sections, total)
	width, ranks := len(title), len(total)
	for _, row := range rows {
		width = max(width, len(row.label()))
	}
	slowest, plural := "", ""
	if ranks > 1 {
		slowest, plural = " slowest    |", "s"
	}
	head := fmt.Sprintf("%-*s |  min s    |  avg s    |  max s    |%s  calls | %% of total", width, title, slowest)
	rule := strings.Map(func(c rune) rune {
		if c == '|' {
			return '+'
		}
		return '-'
	}, head) + "\n"
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s, %d rank%s\n%s", head, ranks, plural, rule)
	for i, row := range rows {
		if i == len(rows)-1 && row.IsTotal() {
			b.WriteString(rule)
		}
		b.WriteString(row.text(width))
		r.Event(event, row.fields()...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line(strings.TrimRight(b.String(), "\n"))
}

// Row is a line of the closing table, as an event "timing" holds it. Times are in seconds
// over the ranks, without those of the sections inside it.
type Row struct {
	Path    []string `json:"path"` // the names of the sections around it, outermost first, then its own
	Min     float64  `json:"min"`
	Avg     float64  `json:"avg"`
	Max     float64  `json:"max"`
	Slowest int      `json:"slowest"`            // the rank that spent the most time
	Calls   int      `json:"calls"`              // by the rank that entered it most often
	Percent float64  `json:"percent"`            // of the mean total
	Inner   float64  `json:"percent_with_inner"` // the same, sections inside it included
	Ranks   int      `json:"ranks"`
}

// withRest adds the sections "other", what is left of the total, and "total".
func withRest(sections []section, total []float64) []section {
	other := slices.Clone(total)
	for i := range other {
		for _, s := range sections {
			other[i] -= s.seconds[i]
		}
		other[i] = max(other[i], 0) // clocks read one after the other
	}
	return append(sections, section{path: []string{"other"}, seconds: other}, section{path: []string{"total"}, seconds: total})
}

// shares makes rows of sections.
func shares(sections []section, total []float64) []Row {
	rows, whole := make([]Row, len(sections)), mean(total)
	for i, s := range sections {
		most := slices.Max(s.seconds)
		rows[i] = Row{Path: s.path, Min: slices.Min(s.seconds), Avg: mean(s.seconds), Max: most, Slowest: slices.Index(s.seconds, most),
			Calls: slices.Max(append([]int{0}, s.calls...)), Ranks: len(s.seconds)}
		if whole > 0 {
			rows[i].Percent = 100 * (rows[i].Avg / whole)
		}
	}
	for i := range rows {
		rows[i].Inner = rows[i].Percent
		for k := i + 1; k < len(rows) && rows[k].Depth() > rows[i].Depth(); k++ {
			rows[i].Inner += rows[k].Percent
		}
	}
	return rows
}

// Name is the section's own name.
func (w Row) Name() string { return w.Path[len(w.Path)-1] }

// Depth is how many sections are around it.
func (w Row) Depth() int { return len(w.Path) - 1 }

// IsTotal reports whether the row is the sum of the others.
func (w Row) IsTotal() bool { return len(w.Path) == 1 && w.Name() == "total" }

func (w Row) label() string { return strings.Repeat("  ", w.Depth()) + w.Name() }

func (w Row) text(width int) string {
	slowest, calls, inner := "", "", ""
	if w.Ranks > 1 {
		slowest = fmt.Sprintf(" rank %-5d |", w.Slowest)
	}
	if w.Calls > 0 {
		calls = fmt.Sprint(w.Calls)
	}
	if w.Inner > w.Percent {
		inner = fmt.Sprintf(" (%.1f with those inside)", w.Inner)
	}
	return fmt.Sprintf("%-*s | %9.4g | %9.4g | %9.4g |%s %6s | %5.1f%s\n", width, w.label(),
		w.Min, w.Avg, w.Max, slowest, calls, w.Percent, inner)
}

func (w Row) fields() []any {
	return []any{"section", w.Name(), "path", w.Path, "min", w.Min, "avg", w.Avg, "max", w.Max, "slowest", w.Slowest,
		"calls", w.Calls, "percent", w.Percent, "percent_with_inner", w.Inner, "ranks", w.Ranks}
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
