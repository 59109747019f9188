package recorded

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/inspect"
	"github.com/kirchhoff-lsm/lsm/internal/fielddata"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/quality"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/picture"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// Files of a report.
const (
	reportText  = "summary.txt"
	reportReady = "readiness.txt"

	reportUnmatched = "unmatched.csv"
	reportTraces    = "left-out.csv"
	reportFold      = "fold.png"
	reportOffsets   = "offsets.png"
	reportPlaces    = "places.png"
	reportShot      = "shot.png"
)

// tellImport says what was found.
func tellImport(a *cli.App, im *fielddata.Import) {
	for _, line := range summaryLines(im) {
		a.Report.Printf("%s\n", line)
	}
	for _, w := range readable.Alike(im.Warnings) {
		a.Report.Warn(w)
	}
	tellUnmatched(a, im)
	q := im.QC
	for _, f := range im.Files {
		a.Report.Event("file", "path", f.File.Path, "kind", string(f.File.Kind), "revision", fmt.Sprintf("%d.%d", f.File.Major, f.File.Minor),
			"byte_order", string(f.File.Order), "samples", f.File.Format.String(), "bytes", f.File.Size)
	}
	a.Report.Event("qc", "traces", q.Traces, "kept", q.Kept, "lost", q.Lost, "lost_bytes", q.LostBytes, "unplaced", q.Unplaced, "no_data", q.NoData, "dead", q.Dead, "not_finite", q.NotFinite,
		"other_sampling", q.OtherSampling, "duplicates", q.Duplicates, "repeated", q.Repeated, "copies", q.Copies,
		"clipped", q.Clipped, "cut", q.Cut, "padded", q.Padded, "rounded_samples", q.Rounded,
		"statics_applied", q.Moved, "statics_not_applied", q.Unmoved, "static_ms", q.Static[:], "delayed", q.Delayed, "delay_ms", q.Delay[:],
		"offset_mismatch", q.OffsetOff, "peak", q.Peak[:], "rms", q.RMS[:], "notes", readable.Alike(im.Notes))
	a.Report.Event("geometry", "dim", im.Dim, "sources", len(im.Places[0])/im.Dim, "receivers", len(im.Places[1])/im.Dim,
		"nt", im.NT, "dt", im.DT, "t0", im.T0, "offset", q.Offset[:], "source_spacing", q.Spacing[0], "receiver_spacing", q.Spacing[1],
		"azimuth", im.Line.Azimuth, "origin", im.Line.Origin[:], "off_line_rms", im.Line.Off(), "off_line_max", im.Line.Most)
	a.Report.Event("offsets", "from", q.Offsets.From, "step", q.Offsets.Step, "count", q.Offsets.Count)
	if im.Dim == 2 {
		a.Report.Event("fold", "from", q.Fold.From, "step", q.Fold.Step, "count", q.Fold.Count)
	} else {
		m := q.FoldMap
		a.Report.Event("fold", "from", m.From[:], "step", m.Step[:], "shape", m.Shape[:], "count", m.Count)
	}
	for _, l := range im.Left {
		a.Report.Event("left_out", "file", l.File, "trace", l.Trace, "byte", l.Byte, "field_record", l.Label[0], "channel", l.Label[1], "cdp", l.Label[2], "reason", l.Reason)
	}
}

// fileLines describes the files that were read, those of one form in one line.
func fileLines(im *fielddata.Import) (lines []string) {
	type group struct {
		form, first string
		files       int
		bytes       int64
	}
	var groups []*group
	for _, f := range im.Files {
		kind := fmt.Sprintf("SEG-Y revision %d", f.File.Major)
		if f.File.Kind == segy.SU {
			kind = "SU"
		}
		form := fmt.Sprintf("%s, %s, %s-endian", kind, f.File.Format, f.File.Order)
		i := slices.IndexFunc(groups, func(g *group) bool { return g.form == form })
		if i < 0 {
			i, groups = len(groups), append(groups, &group{form: form, first: f.File.Path})
		}
		groups[i].files++
		groups[i].bytes += f.File.Size
	}
	for _, g := range groups {
		name := g.first
		if g.files > 1 {
			name += fmt.Sprintf(" and %d more", g.files-1)
		}
		lines = append(lines, fmt.Sprintf("%s: %s, %s", name, g.form, humanize.IBytes(uint64(g.bytes))))
	}
	return lines
}

// summaryLines is the summary as text.
func summaryLines(im *fielddata.Import) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	out = append(out, fileLines(im)...)
	for _, n := range readable.Alike(im.Notes) {
		add("note: %s", n)
	}
	q := im.QC
	add("%s read, %d in the survey", readable.Count(q.Traces, "trace"), q.Kept)
	if q.Lost > 0 {
		add("  passed over: %s without a whole trace, %s in all", readable.Count(q.Lost, "stretch"), readable.Count(int(q.LostBytes), "byte"))
	}
	for _, c := range []struct {
		n    int
		text string
	}{
		{q.Unplaced, "are not in the files of positions"}, {q.NoData, "are no data by their identification code"}, {q.NotFinite, "have NaN or infinite samples"},
		{q.Dead, "are dead: all samples zero"}, {q.OtherSampling, "are sampled otherwise, or at other times"},
		{q.Duplicates, "are duplicates of the same source and receiver"},
		{q.Repeated, "repeat a source and receiver with other samples"},
		{q.Copies, "have the samples of another one at another place"},
		{q.Clipped, "look clipped: at least three equal samples in a row at the peak"},
		{q.Moved, "are moved by static corrections of " + fielddata.Between(q.Static[0], q.Static[1], "ms")},
		{q.Unmoved, "have static corrections of " + fielddata.Between(q.Static[0], q.Static[1], "ms") + ", which are not applied"},
		{q.Delayed, "begin at another time than the survey (byte 109: " + fielddata.Between(q.Delay[0], q.Delay[1], "ms") + ") and are moved there"},
		{q.Cut, "are cut to the survey's window of time"}, {q.Padded, "are filled up with zeros to it"},
	} {
		if c.n > 0 {
			add("  %d %s", c.n, c.text)
		}
	}
	if q.Rounded > 0 {
		add("  %d samples are rounded to float32", q.Rounded)
	}
	add("%d samples at %s ms from %s ms on, Nyquist %s Hz", im.NT, readable.Time(1e3*im.DT), readable.Time(1e3*im.T0), readable.Frequency(0.5/im.DT))
	for role, name := range []string{"source", "receiver"} {
		add("%s  %s  median step %s m", readable.Count(len(im.Places[role])/im.Dim, name), inspect.Extent(rounded(im.Places[role]), im.Dim), readable.Length(q.Spacing[role]))
	}
	if im.Dim == 2 {
		l := im.Line
		add("line: azimuth %.4f°, x = 0 at (%.2f, %.2f), %s; places lie %.3g m (rms) and at most %.3g m off it",
			l.Azimuth, l.Origin[0], l.Origin[1], l.How, l.Off(), l.Most)
	}
	if f := im.Frame(); f != nil {
		add("frame: %s", f)
	}
	add("offsets %s to %s m", readable.Length(q.Offset[0]), readable.Length(q.Offset[1]))
	most := q.Fold.Most()
	if im.Dim == 2 {
		add("fold: median %d, at most %d in bins of %.4g m", q.Fold.Median(), most, q.Fold.Step)
	} else {
		add("fold: median %d, at most %d in bins of %.4g by %.4g m", q.Fold.Median(), most, q.FoldMap.Step[0], q.FoldMap.Step[1])
	}
	add("amplitudes: peaks of traces %.4g to %.4g, rms %.4g to %.4g, median %.4g", q.Peak[0], q.Peak[1], q.RMS[0], q.RMS[2], q.RMS[1])
	return out
}

// rounded are positions to a millimetre.
func rounded(xyz []float64) []float64 {
	out := slices.Clone(xyz)
	for i, x := range out {
		out[i] = math.Round(1000*x)/1000 + 0 // no -0
	}
	return out
}

// writeReport writes the folder of a report, unless folder is empty: a text, the traces
// left out, and pictures of fold, offsets, places and the first shot.
func writeReport(a *cli.App, im *fielddata.Import, folder string) error {
	if folder == "" {
		return nil
	}
	if err := im.ShotRoom(); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return status.Resource(fmt.Errorf("import: %w", err))
	}
	text := strings.Join(append(summaryLines(im), readable.Alike(im.Warnings)...), "\n") + "\n"
	for _, f := range im.Files {
		if f.File.Text != "" {
			text += "\ntextual header of " + f.File.Path + "\n" + f.File.Text + "\n"
		}
	}
	if err := pipeline.WriteText(filepath.Join(folder, reportText), text); err != nil {
		return err
	}
	if err := writeLeft(a, im, filepath.Join(folder, reportTraces)); err != nil {
		return err
	}
	if err := writeUnmatched(im, folder); err != nil {
		return err
	}
	data, offsets, err := im.FirstShot()
	if err != nil {
		return err
	}
	draw := func(name string) func(*picture.Figure, error) {
		return func(figure *picture.Figure, fault error) {
			if err == nil {
				err = fault
			}
			if err == nil {
				err = picture.WriteFile(filepath.Join(folder, name), figure, a.Force)
			}
		}
	}
	q := im.QC
	draw(reportFold)(foldFigure(im.Dim, q.Fold, q.FoldMap))
	draw(reportOffsets)(picture.Histogram(q.Offsets.From, q.Offsets.Step, q.Offsets.Count, "offset (m)", "traces", picture.Options{Title: "offsets"}))
	draw(reportPlaces)(picture.Plan(im.Map[0], im.Map[1], picture.Options{Title: "sources and receivers on the map"}))
	times := picture.Times{NT: im.NT, DT: im.DT, T0: im.T0}
	draw(reportShot)(picture.Gather(data, times, offsets, picture.Options{Title: "first source", Clip: 95}))
	if err != nil {
		return err
	}
	a.Report.Printf("report: %s\n", folder)
	a.Finish("report", folder)
	return nil
}

// writeReadiness writes the table of lsm ready about the survey that an import has made.
func writeReadiness(ctx context.Context, a *cli.App, survey, folder string) error {
	if folder == "" {
		return nil
	}
	t, err := inspect.Readiness(ctx, a, survey, quality.Options{})
	if err != nil {
		return err
	}
	for _, r := range t.Faults() {
		a.Report.Warn(fmt.Sprintf("%s: %s: %s", survey, r.Name, inspect.RowText(r)))
	}
	return pipeline.WriteText(filepath.Join(folder, reportReady), inspect.TableText(t))
}
