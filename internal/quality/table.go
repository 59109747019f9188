package quality

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Level says how much a row matters.
type Level string

// Levels of a row.
const (
	OK    Level = "ok"
	Note  Level = "note"  // worth knowing, no obstacle
	Fault Level = "fault" // in the way of an image
)

// Row is the answer to one question.
type Row struct {
	Group string   `json:"group"` // such as "outliers"
	Name  string   `json:"name"`  // such as "spikes"
	Level Level    `json:"level"`
	Score *float64 `json:"score,omitempty"` // 0 (bad) to 1 (good); nil where nothing is counted
	Limit *float64 `json:"limit,omitempty"` // the least score that passes
	Text  string   `json:"text"`

	Traces []int `json:"traces,omitempty"` // at fault, numbers in the file from 0, ascending
}

// Table holds all findings about a survey.
type Table struct {
	Rows []Row

	Fold    Histogram // traces a bin of midpoints, along the line in 2-D
	FoldMap Map       // the same in 3-D
	Offsets Histogram // traces a bin of offsets
	Dim     int
}

// Faults are the rows that are in the way.
func (t *Table) Faults() (list []Row) {
	return slices.DeleteFunc(slices.Clone(t.Rows), func(r Row) bool { return r.Level != Fault })
}

// Options steer a look.
type Options struct {
	Allow float64 // share of the traces, or places, that may have a fault of one kind, 0 to 1
}

// Groups of rows.
const (
	Completeness = "completeness"
	Duplicates   = "duplicates"
	Outliers     = "outliers"
	Imbalance    = "imbalance"
	Sampling     = "sampling"
)

// Limits of scores.
const (
	LeastAlive   = 0.95 // of the traces with samples other than 0
	LeastOverlap = 0.5  // of the spectra of traces and wavelet
	GoodOverlap  = 0.8
	LeastEven    = 0.5 // evenness of fold, offsets and azimuths
)

// builder adds rows to a table.
type builder struct {
	pass  *pass
	table Table
	opt   Options
}

// Look judges a survey file, in one pass over its traces.
func Look(ctx context.Context, r *h5.SurveyReader, opt Options, report *progress.Reporter) (*Table, error) {
	p, err := newPass(r)
	if err != nil {
		return nil, err
	}
	if err := p.run(ctx, report); err != nil {
		return nil, err
	}
	b := &builder{pass: p, opt: opt, table: Table{Dim: p.survey.Dim}}
	b.completeness()
	b.duplicates()
	if p.data != nil {
		b.outliers()
	}
	b.imbalance()
	b.sampling()
	return &b.table, nil
}

func (b *builder) note(group, name, format string, args ...any) {
	b.table.Rows = append(b.table.Rows, Row{Group: group, Name: name, Level: Note, Text: fmt.Sprintf(format, args...)})
}

// scored adds a row that is bad at a level if its score is below the limit.
func (b *builder) scored(group, name string, score, limit float64, bad Level, format string, args ...any) {
	level := OK
	if score < limit {
		level = bad
	}
	b.table.Rows = append(b.table.Rows, Row{Group: group, Name: name, Level: level, Score: &score, Limit: &limit, Text: fmt.Sprintf(format, args...)})
}

// counted adds a row for traces at fault: which says what they have.
func (b *builder) counted(group, name string, limit float64, bad Level, at []int, which string) {
	text := "none"
	if len(at) > 0 {
		text = fmt.Sprintf("%d of %d traces %s", len(at), len(b.pass.traces), which)
	}
	b.scored(group, name, 1-float64(len(at))/float64(len(b.pass.traces)), limit, bad, "%s", text)
	row := &b.table.Rows[len(b.table.Rows)-1]
	if row.Traces = at; len(at) > 0 && row.Level == OK {
		row.Level = Note
	}
}

// filter lists the traces, by their numbers in the file, that something is true of.
func (b *builder) filter(is func(i int, t *trace) bool) (list []int) {
	for i := range b.pass.traces {
		if is(i, &b.pass.traces[i]) {
			list = append(list, int(b.pass.order[i]))
		}
	}
	slices.Sort(list)
	return list
}

func (b *builder) completeness() {
	if b.pass.data == nil {
		b.table.Rows = append(b.table.Rows, Row{Group: Completeness, Name: "traces", Level: Fault, Text: "the file holds no traces, only a geometry"})
	} else {
		b.counted(Completeness, "finite", 1, Fault, b.filter(func(_ int, t *trace) bool { return t.bad }), "have NaN or infinite samples")
		b.counted(Completeness, "silent", LeastAlive, Note, b.filter(func(_ int, t *trace) bool { return t.silent }), fmt.Sprintf("are near-dead, %d powers of ten or more below the others: no other row counts them", survey.FaintDecades))
		b.counted(Completeness, "dead", LeastAlive, Fault, b.filter(func(_ int, t *trace) bool { return t.dead }), "are dead: every sample is 0")
	}
	for role, xyz := range [2][]float64{b.pass.survey.Sources, b.pass.survey.Receivers} {
		name := [2]string{"sources", "receivers"}[role]
		b.gaps(name, xyz)
	}
	if b.table.Dim == 2 {
		holes, missing := b.pass.holes()
		text := "no receiver is missing inside the spreads"
		if len(holes) > 0 {
			text = fmt.Sprintf("about %d missing in %s between the receivers of a source, %s", missing, readable.Count(len(holes), "gap"), gapText(holes))
		}
		n := float64(len(b.pass.traces))
		b.scored(Completeness, "spread", n/(n+float64(missing)), 1-b.opt.Allow, Fault, "%s", text)
	}
}

// gaps adds a row on the places of one role.
func (b *builder) gaps(name string, xyz []float64) {
	list := b.pass.places(xyz)
	if b.table.Dim == 2 {
		var x []float64
		for _, q := range list {
			x = append(x, q[0])
		}
		if name == "receivers" && b.moving() {
			b.note(Completeness, name, "%d places, spaced by the steps of the sources: see row spread for gaps", len(list))
			return
		}
		found, missing := gapsOf(x), 0
		text := fmt.Sprintf("%d places, %.6g m apart (median), no gap", len(list), Median(steps(list)))
		for _, g := range found {
			missing += g.missing
		}
		if len(found) > 0 {
			text = fmt.Sprintf("%d places, about %d missing in %d gaps, %s", len(list), missing, len(found), gapText(found))
		}
		n := float64(len(list))
		b.scored(Completeness, name, n/(n+float64(missing)), 1-b.opt.Allow, Fault, "%s", text)
		return
	}
	l := b.pass.latticeOf(xyz)
	switch {
	case name == "receivers" && 2*len(b.pass.traces) < b.pass.survey.NumSources()*b.pass.survey.NumReceivers():
		b.note(Completeness, name, "%d places, each source has less than half of them: gaps not checked", len(list))
		return
	case l == nil:
		b.note(Completeness, name, "%d places that do not form a grid: gaps not checked", len(list))
		return
	}
	missing, text := l.missing, ""
	for a, x := range [2][]float64{l.x, l.y} {
		if found := gapsOf(x); len(found) > 0 {
			for _, g := range found {
				missing += g.missing * l.places / max(1, len(x))
			}
			text += fmt.Sprintf("; gaps along %s", [2]string{"x", "y"}[a])
		}
	}
	n := float64(l.places)
	b.scored(Completeness, name, n/(n+float64(missing)), 1-b.opt.Allow, Fault, "%d places of a grid of %d by %d, %d missing%s", l.places, len(l.x), len(l.y), missing, text)
}

// moving reports whether sources have receivers of their own, as behind a ship: places of
// receivers then lie as the steps of the sources make them.
func (b *builder) moving() bool {
	bins := map[int]int{}
	for i := range b.pass.traces {
		bins[int(math.Round(float64(b.pass.traces[i].offset)/nearest))]++
	}
	// A spread that stays has nearly as many offsets as the sources and receivers have pairs
	// of places; one that moves has those of its channels.
	return len(bins) <= 2*len(b.pass.traces)/max(1, b.pass.survey.NumSources()) && b.pass.survey.NumReceivers() > len(bins)
}

func (b *builder) imbalance() {
	var x, y, offsets []float64
	sector := make([]int, 8)
	for i := range b.pass.traces {
		t := &b.pass.traces[i]
		m := b.pass.midpoint(t)
		x, y, offsets = append(x, m[0]), append(y, m[1]), append(offsets, float64(t.offset))
		s, r := b.pass.survey.Source(int(t.source)), b.pass.survey.Receiver(int(t.receiver))
		if dx, dy := r[0]-s[0], r[1]-s[1]; b.table.Dim == 3 && (dx != 0 || dy != 0) {
			sector[int(8+math.Floor(8*math.Atan2(dy, dx)/(2*math.Pi)))%8]++
		}
	}
	bin := b.pass.space / 2
	if bin == 0 {
		bin = 10
	}
	b.table.Offsets = Offsets(offsets, bin)
	if b.table.Dim == 2 {
		b.table.Fold = FoldAlong(x, bin)
	} else {
		b.table.FoldMap = FoldMap(x, y, bin)
		b.table.Fold = Histogram{Count: b.table.FoldMap.Count}
	}
	b.scored(Imbalance, "fold", evenness(b.table.Fold.Count), LeastEven, Note, "median %d, at most %d traces in a bin of %.4g m", b.table.Fold.Median(), b.table.Fold.Most(), max(b.table.Fold.Step, b.table.FoldMap.Step[0]))
	b.scored(Imbalance, "offsets", evenness(b.table.Offsets.Count), LeastEven, Note, "%.6g to %.6g m", slices.Min(offsets), slices.Max(offsets))
	if b.table.Dim == 3 {
		b.scored(Imbalance, "azimuths", evenness(sector), LeastEven, Note, "traces in 8 sectors: %v", sector)
	}
}
