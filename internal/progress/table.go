package progress

import (
	"fmt"
	"slices"
	"strings"
)

// Table prints the closing table in LAMMPS's shape: for each section the least,
// mean and greatest time over the ranks and its share of the total, so that an
// imbalance shows at a glance; on several ranks also which was the slowest. A
// section inside another stands indented below it and is not counted there,
// so that the shares add up. The total holds each rank's whole time in seconds;
// what no section accounts for is the row "other".
func (r *Reporter) Table(sections []Section, total []float64) {
	if r == nil || len(total) == 0 {
		return
	}
	r.table("section", "timing", tableRows(sections, total), len(total), true)
}

// besideTable prints what went on beside the sections, lane by lane, if anything did.
// Its times overlap with theirs, and with each other where one lies inside another.
func (r *Reporter) besideTable(work []Section, total []float64) {
	if len(work) > 0 {
		r.table("beside", "beside", shares(work, total), len(total), false)
	}
}

// table prints rows under a title, and an event of the given name for each; the last
// row may be their sum.
func (r *Reporter) table(title, event string, rows []row, ranks int, sum bool) {
	width := len(title)
	for _, row := range rows {
		width = max(width, len(row.label()))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-*s |  min s    |  avg s    |  max s    |", width, title)
	rule := strings.Repeat("-", width+1) + "+" + strings.Repeat(strings.Repeat("-", 11)+"+", 3)
	plural := ""
	if ranks > 1 {
		b.WriteString(" slowest    |")
		rule += strings.Repeat("-", 12) + "+"
		plural = "s"
	}
	fmt.Fprintf(&b, "  calls | %% of total, %d rank%s\n", ranks, plural)
	rule += strings.Repeat("-", 8) + "+" + strings.Repeat("-", 11) + "\n"
	b.WriteString(rule)
	for i, row := range rows {
		if sum && i == len(rows)-1 {
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

// tableRows are the sections, the rest and the total.
func tableRows(sections []Section, total []float64) []row {
	other := slices.Clone(total)
	for _, s := range sections {
		if len(s.Seconds) != len(total) {
			panic(fmt.Sprintf("progress: section %s has times of %d ranks, want %d", s.Name(), len(s.Seconds), len(total)))
		}
		for i, t := range s.Seconds {
			other[i] -= t
		}
	}
	for i, t := range other {
		other[i] = max(t, 0) // clocks read one after the other
	}
	sections = append(slices.Clone(sections),
		Section{Path: []string{"other"}, Seconds: other}, Section{Path: []string{"total"}, Seconds: total})
	return shares(sections, total)
}

// shares makes rows of sections.
func shares(sections []Section, total []float64) []row {
	whole := mean(total)
	rows := make([]row, len(sections))
	for i, s := range sections {
		rows[i].Section = s
		if whole > 0 {
			rows[i].percent = 100 * (mean(s.Seconds) / whole)
		}
		rows[i].inner = rows[i].percent
	}
	for i := range rows {
		for k := i + 1; k < len(rows) && len(rows[k].Path) > len(rows[i].Path); k++ {
			rows[i].inner += rows[k].percent
		}
	}
	return rows
}

func (w row) label() string { return strings.Repeat("  ", len(w.Path)-1) + w.Name() }

// calls is how often the section was entered by the rank that did so most.
func (w row) calls() int {
	if len(w.Calls) == 0 {
		return 0
	}
	return slices.Max(w.Calls)
}

// slowest is the rank that spent the most time.
func (w row) slowest() int { return slices.Index(w.Seconds, slices.Max(w.Seconds)) }

func (w row) text(width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-*s | %9.4g | %9.4g | %9.4g |", width, w.label(), slices.Min(w.Seconds), mean(w.Seconds), slices.Max(w.Seconds))
	if len(w.Seconds) > 1 {
		fmt.Fprintf(&b, " rank %-5d |", w.slowest())
	}
	if n := w.calls(); n > 0 {
		fmt.Fprintf(&b, " %6d |", n)
	} else {
		b.WriteString("        |")
	}
	fmt.Fprintf(&b, " %5.1f", w.percent)
	if w.inner > w.percent {
		fmt.Fprintf(&b, " (%.1f with those inside)", w.inner)
	}
	return b.String() + "\n"
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
