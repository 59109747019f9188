package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/analysis"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// summaries say in a few lines what matters about each kind of file, and the same as
// keys and values of an event of the kind's name. An error says why the file is unusable.
var summaries = map[string]func(a *cli.App, d *h5.Description) (lines []string, fields []any, err error){
	"survey":     surveySummary,
	"model":      modelSummary,
	"image":      imageSummary,
	"tables":     tablesSummary,
	"surface":    surfaceSummary,
	"wavelet":    waveletSummary,
	"picks":      picksSummary,
	"checkpoint": func(*cli.App, *h5.Description) ([]string, []any, error) { return nil, nil, nil },
}

// summary prints what kind of file it is, and its summary.
func summary(a *cli.App, d *h5.Description) error {
	format := ""
	if d.Format != "" {
		format = " (" + d.Format + ")"
	}
	a.Report.Printf("%s: %s%s, %s\n", d.Path, d.Kind, format, humanize.IBytes(uint64(d.Bytes)))
	summarize := summaries[d.Kind]
	if summarize == nil {
		return status.Hint(status.Input(fmt.Errorf("%s: is HDF5, but none of lsm's files", d.Path)),
			"lsm help formats describes them")
	}
	lines, fields, err := summarize(a, d)
	if err != nil || lines == nil {
		return err
	}
	a.Report.Printf("  %s\n", strings.Join(lines, "\n  "))
	a.Report.Event(d.Kind, fields...)
	return nil
}

func surveySummary(_ *cli.App, d *h5.Description) (lines []string, fields []any, err error) {
	s, hasData, err := h5.ReadSurveyHeader(d.Path)
	if err != nil {
		return nil, nil, err
	}
	layout := "a list of traces"
	if s.Fixed {
		layout = "every source with every receiver"
	}
	if !hasData {
		layout += ", none recorded yet"
	}
	nearest, farthest := s.Offsets()
	w := s.Wavelet
	lines = []string{
		fmt.Sprintf("%s  %s", readable.Count(s.NumSources(), "source"), Extent(s.Sources, s.Dim)),
		fmt.Sprintf("%s  %s", readable.Count(s.NumReceivers(), "receiver"), Extent(s.Receivers, s.Dim)),
		fmt.Sprintf("%s: %s; offsets %s to %s m", readable.Count(s.NumTraces(), "trace"), layout, readable.Length(nearest), readable.Length(farthest)),
		fmt.Sprintf("%d samples of %s s from %s s to %s s", s.NT, readable.Time(s.DT), readable.Time(s.T0), readable.Time(s.T0+float64(s.NT-1)*s.DT)),
		fmt.Sprintf("wavelet of %s, time zero at sample %d", readable.Count(len(w.Samples), "sample"), w.Zero),
	}
	if s.Weight != nil {
		lines = append(lines, fmt.Sprintf("weights of the traces from %.6g to %.6g", slices.Min(s.Weight), slices.Max(s.Weight)))
	}
	return lines, []any{"dimensions", s.Dim, "sources", s.NumSources(), "receivers", s.NumReceivers(),
		"traces", s.NumTraces(), "fixed", s.Fixed, "has_data", hasData, "nt", s.NT, "dt", s.DT, "t0", s.T0,
		"offset_min", nearest, "offset_max", farthest, "wavelet_samples", len(w.Samples), "wavelet_zero", w.Zero, "weighted", s.Weight != nil}, nil
}

func modelSummary(a *cli.App, d *h5.Description) (lines []string, fields []any, err error) {
	g, v, err := h5.ReadModel(d.Path)
	if err != nil {
		return nil, nil, err
	}
	lo, hi := slices.Min(v), slices.Max(v)
	if err := velocity.Plausible(lo, hi); err != nil {
		a.Report.Warn(fmt.Sprintf("%s: %v; velocity.units says in a configuration what they are", d.Path, err))
	}
	lines, fields = gridSummary(g)
	lines = append(lines, fmt.Sprintf("velocity from %s to %s m/s", readable.Speed(lo), readable.Speed(hi)))
	fields = append(fields, "velocity_min", lo, "velocity_max", hi)
	more, values, err := anisotropySummary(d.Path)
	return append(lines, more...), append(fields, values...), err
}

// anisotropySummary describes the properties that a model holds next to its velocity.
func anisotropySummary(path string) (lines []string, fields []any, err error) {
	r, err := h5.OpenModel(path, "")
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	if err := r.OpenAnisotropy(); err != nil {
		return nil, nil, err
	}
	for _, p := range r.Properties() {
		if !r.Holds(p) {
			continue
		}
		lo, hi, err := r.PropertyRange(p)
		if err != nil {
			return nil, nil, err
		}
		lines = append(lines, fmt.Sprintf("%v from %.6g to %.6g%s", p, lo, hi, p.Unit()))
		fields = append(fields, p.String()+"_min", lo, p.String()+"_max", hi)
	}
	return lines, fields, nil
}

func waveletSummary(_ *cli.App, d *h5.Description) (lines []string, fields []any, err error) {
	w, err := h5.ReadWavelet(d.Path)
	if err != nil {
		return nil, nil, err
	}
	return []string{WaveletText(w)}, []any{"samples", len(w.Samples), "zero", w.Zero, "dt", w.DT}, nil
}

func surfaceSummary(_ *cli.App, d *h5.Description) (lines []string, fields []any, err error) {
	axes := 1
	for _, o := range d.Objects {
		if o.Name == "/surface" && len(o.Shape) == 2 {
			axes = 2
		}
	}
	g, z, err := h5.ReadSurface(d.Path, axes+1)
	if err != nil {
		return nil, nil, err
	}
	lo, hi := slices.Min(z), slices.Max(z)
	lines, fields = gridSummary(g)
	return append(lines, fmt.Sprintf("surface from z = %s to %s m", readable.Length(lo), readable.Length(hi))),
		append(fields, "z_min", lo, "z_max", hi), nil
}

func imageSummary(_ *cli.App, d *h5.Description) (lines []string, fields []any, err error) {
	im, err := h5.ReadImage(d.Path)
	if err != nil {
		return nil, nil, err
	}
	lo, hi := float64(slices.Min(im.Data)), float64(slices.Max(im.Data))
	lines, fields = gridSummary(im.Grid)
	lines = append(lines, fmt.Sprintf("values from %.4g to %.4g", lo, hi))
	fields = append(fields, "min", lo, "max", hi)
	if n := len(im.ResidualNorm); n > 0 {
		first, last, share := im.ResidualNorm[0], im.ResidualNorm[n-1], ""
		if first > 0 {
			share = fmt.Sprintf(" (%.3g%%)", 100*last/first)
		}
		lines = append(lines, fmt.Sprintf("least squares, %s: residual from %.4g to %.4g%s", readable.Count(im.Iterations(), "iteration"), first, last, share))
		fields = append(fields, "iterations", im.Iterations(), "residual_first", first, "residual_last", last)
	}
	if reason := provenance.FromAttrs(d.Attrs).Reason; reason != "" {
		lines, fields = append(lines, "stopped: "+reason), append(fields, "reason", reason)
	}
	return lines, fields, nil
}

func tablesSummary(_ *cli.App, d *h5.Description) (lines []string, fields []any, err error) {
	t, err := h5.OpenTables(d.Path)
	if err != nil {
		return nil, nil, err
	}
	defer t.Close()
	holds := []string{"times"}
	if t.Has(survey.AtSource, h5.Amplitude) {
		holds = append(holds, "amplitudes")
	}
	if t.Has(survey.AtSource, h5.Gradient) {
		holds = append(holds, "gradients")
	}
	if n := t.NumArrivals(); n > 0 {
		holds = append(holds, "turns of phase", readable.Count(n, "arrival")+" at each point")
	}
	lines, fields = gridSummary(t.Grid())
	return append(lines, fmt.Sprintf("%s of %s and %s", strings.Join(holds, ", "), readable.Count(t.NumSources(), "source"), readable.Count(t.NumReceivers(), "receiver"))),
		append(fields, "sources", t.NumSources(), "receivers", t.NumReceivers(), "holds", holds), nil
}

// gridSummary describes the grid of a file.
func gridSummary(g grid.Grid) (lines []string, fields []any) {
	return []string{fmt.Sprintf("%s; %s", g, gridExtent(g))}, []any{"domain", g.Domain.String(), "shape", g.Shape, "origin", g.Origin, "spacing", g.Spacing}
}

// Extent is the box around positions [n, dim], such as "x 0 to 4000 m, z 10 m".
func Extent(positions []float64, dim int) string {
	var parts []string
	for axis, name := range grid.AxisNames(max(2, dim))[:dim] {
		lo, hi := survey.Bounds(positions, dim, axis)
		if lo == hi {
			parts = append(parts, fmt.Sprintf("%s %s m", name, readable.Length(lo)))
		} else {
			parts = append(parts, fmt.Sprintf("%s %s to %s m", name, readable.Length(lo), readable.Length(hi)))
		}
	}
	return strings.Join(parts, ", ")
}

// gridExtent is the box around a grid.
func gridExtent(g grid.Grid) string {
	if g.Domain == grid.Time {
		return g.Extent()
	}
	corners := slices.Clone(g.Origin)
	for axis := range g.Dim() {
		corners = append(corners, g.End(axis))
	}
	return Extent(corners, g.Dim())
}

func picksSummary(_ *cli.App, d *h5.Description) (lines []string, fields []any, err error) {
	p, err := analysis.ReadPicks(d.Path)
	if err != nil {
		return nil, nil, err
	}
	residual, unit := moveout.MeanResidual(p.List), map[grid.Domain]string{grid.Depth: "m", grid.Time: "s"}[p.Domain]
	return []string{
		fmt.Sprintf("%s in %s, offsets %s to %s m", readable.Count(len(p.List), "pick"), p.Domain, readable.Length(p.Limits[0]), readable.Length(p.Limits[len(p.Limits)-1])),
		fmt.Sprintf("mean residual moveout %.3g %s", residual, unit),
	}, []any{"picks", len(p.List), "domain", p.Domain.String(), "mean_residual", residual}, nil
}
