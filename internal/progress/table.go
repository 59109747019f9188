package progress

import (
	"fmt"
	"slices"
	"strings"
)

// table prints a row for each section under a title, and an event of the given name;
// total is each rank's whole time in seconds. A last section of the name "total" is the
// sum of the others.
func (r *Reporter) table(title, event string, sections []Section, total []float64) {
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
		if i == len(rows)-1 && row.isTotal() {
			b.WriteString(rule)
		}
		b.WriteString(row.text(width))
		r.Event(event, row.fields()...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line(strings.TrimRight(b.String(), "\n"))
}

// row is a line of the closing table.
type row struct {
	Section
	percent float64 // of the mean total
	inner   float64 // the same, sections inside it included
}

// withRest adds the sections "other", what is left of the total, and "total".
func withRest(sections []Section, total []float64) []Section {
	other := slices.Clone(total)
	for i := range other {
		for _, s := range sections {
			other[i] -= s.Seconds[i]
		}
		other[i] = max(other[i], 0) // clocks read one after the other
	}
	return append(sections, Section{Path: []string{"other"}, Seconds: other}, Section{Path: []string{"total"}, Seconds: total})
}

// shares makes rows of sections.
func shares(sections []Section, total []float64) []row {
	rows := make([]row, len(sections))
	for i, s := range sections {
		rows[i].Section = s
		if whole := mean(total); whole > 0 {
			rows[i].percent = 100 * (mean(s.Seconds) / whole)
		}
	}
	for i := range rows {
		rows[i].inner = rows[i].percent
		for k := i + 1; k < len(rows) && len(rows[k].Path) > len(rows[i].Path); k++ {
			rows[i].inner += rows[k].percent
		}
	}
	return rows
}

func (w row) isTotal() bool { return len(w.Path) == 1 && w.Name() == "total" }

func (w row) label() string { return strings.Repeat("  ", len(w.Path)-1) + w.Name() }

// calls is how often the section was entered by the rank that did so most.
func (w row) calls() int { return slices.Max(append([]int{0}, w.Calls...)) }

// slowest is the rank that spent the most time.
func (w row) slowest() int { return slices.Index(w.Seconds, slices.Max(w.Seconds)) }

func (w row) text(width int) string {
	slowest, calls, inner := "", "", ""
	if len(w.Seconds) > 1 {
		slowest = fmt.Sprintf(" rank %-5d |", w.slowest())
	}
	if n := w.calls(); n > 0 {
		calls = fmt.Sprint(n)
	}
	if w.inner > w.percent {
		inner = fmt.Sprintf(" (%.1f with those inside)", w.inner)
	}
	return fmt.Sprintf("%-*s | %9.4g | %9.4g | %9.4g |%s %6s | %5.1f%s\n", width, w.label(),
		slices.Min(w.Seconds), mean(w.Seconds), slices.Max(w.Seconds), slowest, calls, w.percent, inner)
}

func (w row) fields() []any {
	return []any{"section", w.Name(), "path", w.Path,
		"min", slices.Min(w.Seconds), "avg", mean(w.Seconds), "max", slices.Max(w.Seconds), "slowest", w.slowest(),
		"calls", w.calls(), "percent", w.percent, "percent_with_inner", w.inner, "ranks", len(w.Seconds)}
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
