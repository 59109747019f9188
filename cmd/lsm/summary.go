package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// summary says what kind of file it is and the few numbers that matter about
// that kind; the error is what makes the file unusable.
func (a *app) summary(d *h5.Description) error {
	format := ""
	if d.Format != "" {
		format = " (" + d.Format + ")"
	}
	a.report.Printf("%s: %s%s, %s\n", d.Path, d.Kind, format, humanize.IBytes(uint64(d.Bytes)))
	switch d.Kind {
	case "survey":
		return a.surveySummary(d.Path)
	case "model":
		return a.modelSummary(d.Path)
	case "image":
		return a.imageSummary(d)
	case "tables":
		return a.tablesSummary(d.Path)
	case "surface":
		return a.surfaceSummary(d)
	case "checkpoint":
		return nil
	}
	return status.Hint(status.Input(fmt.Errorf("%s: is HDF5, but none of lsm's files", d.Path)),
		"lsm help formats describes them")
}

func (a *app) surveySummary(path string) error {
	s, hasData, err := h5.ReadSurveyHeader(path)
	if err != nil {
		return err
	}
	layout := "a list of traces"
	if s.Fixed {
		layout = "every source with every receiver"
	}
	if !hasData {
		layout += ", none recorded yet"
	}
	nearest, farthest := offsets(s)
	w := s.Wavelet
	a.report.Printf("  %s  %s\n", readable.Count(s.NumSources(), "source"), extent(s.Sources, s.Dim))
	a.report.Printf("  %s  %s\n", readable.Count(s.NumReceivers(), "receiver"), extent(s.Receivers, s.Dim))
	a.report.Printf("  %s: %s; offsets %s to %s m\n", readable.Count(s.NumTraces(), "trace"), layout, readable.Length(nearest), readable.Length(farthest))
	a.report.Printf("  %d samples of %s s from %s s to %s s\n", s.NT, readable.Time(s.DT), readable.Time(s.T0), readable.Time(s.T0+float64(s.NT-1)*s.DT))
	a.report.Printf("  wavelet of %s, time zero at sample %d\n", readable.Count(len(w.Samples), "sample"), w.Zero)
	if s.Weight != nil {
		a.report.Printf("  weights of the traces from %.6g to %.6g\n", slices.Min(s.Weight), slices.Max(s.Weight))
	}
	a.report.Event("survey", "dimensions", s.Dim, "sources", s.NumSources(), "receivers", s.NumReceivers(),
		"traces", s.NumTraces(), "fixed", s.Fixed, "has_data", hasData, "nt", s.NT, "dt", s.DT, "t0", s.T0,
		"offset_min", nearest, "offset_max", farthest, "wavelet_samples", len(w.Samples), "wavelet_zero", w.Zero, "weighted", s.Weight != nil)
	return nil
}

// extent is the box around positions [n, dim], such as "x 0 to 4000 m, z 10 m".
func extent(positions []float64, dim int) string {
	var parts []string
	for axis, name := range grid.AxisNames(dim) {
		lo, hi := math.Inf(1), math.Inf(-1)
		for i := axis; i < len(positions); i += dim {
			lo, hi = min(lo, positions[i]), max(hi, positions[i])
		}
		if lo == hi {
			parts = append(parts, fmt.Sprintf("%s %s m", name, readable.Length(lo)))
		} else {
			parts = append(parts, fmt.Sprintf("%s %s to %s m", name, readable.Length(lo), readable.Length(hi)))
		}
	}
	return strings.Join(parts, ", ")
}

// offsets are the least and greatest horizontal distances, in metres, between
// the source and the receiver of a trace.
func offsets(s *survey.Survey) (nearest, farthest float64) {
	nearest = math.Inf(1)
	for i := range s.NumTraces() {
		offset := s.Offset(i)
		nearest, farthest = min(nearest, offset), max(farthest, offset)
	}
	return nearest, farthest
}

func (a *app) modelSummary(path string) error {
	g, v, err := h5.ReadModel(path)
	if err != nil {
		return err
	}
	lo, hi := bounds(v)
	a.report.Printf("  %s; %s\n  velocity from %s to %s m/s\n", g, gridExtent(g), readable.Speed(lo), readable.Speed(hi))
	if err := velocity.Plausible(lo, hi); err != nil {
		a.report.Warn(fmt.Sprintf("%s: %v; velocity.units says in a configuration what they are", path, err))
	}
	a.report.Event("model", append(gridFields(g), "velocity_min", lo, "velocity_max", hi)...)
	return nil
}

func (a *app) surfaceSummary(d *h5.Description) error {
	axes := 1
	for _, o := range d.Objects {
		if o.Name == "/surface" && len(o.Shape) == 2 {
			axes = 2
		}
	}
	g, z, err := h5.ReadSurface(d.Path, axes+1)
	if err != nil {
		return err
	}
	lo, hi := bounds(z)
	a.report.Printf("  %s; %s\n  surface from z = %s to %s m\n", g, gridExtent(g), readable.Length(lo), readable.Length(hi))
	a.report.Event("surface", append(gridFields(g), "z_min", lo, "z_max", hi)...)
	return nil
}

func (a *app) imageSummary(d *h5.Description) error {
	im, err := h5.ReadImage(d.Path)
	if err != nil {
		return err
	}
	lo, hi := bounds(im.Data)
	a.report.Printf("  %s; %s\n  values from %.4g to %.4g\n", im.Grid, gridExtent(im.Grid), lo, hi)
	fields := append(gridFields(im.Grid), "min", lo, "max", hi)
	if n := len(im.ResidualNorm); n > 0 {
		first, last := im.ResidualNorm[0], im.ResidualNorm[n-1]
		a.report.Printf("  least squares, %s: residual from %.4g to %.4g", readable.Count(n-1, "iteration"), first, last)
		if first > 0 {
			a.report.Printf(" (%.3g%%)", 100*last/first)
		}
		a.report.Printf("\n")
		fields = append(fields, "iterations", n-1, "residual_first", first, "residual_last", last)
	}
	for _, at := range d.Attrs {
		if text, ok := at.Value.(string); ok && at.Name == "reason" && text != "" {
			a.report.Printf("  stopped: %s\n", text)
			fields = append(fields, "reason", text)
		}
	}
	a.report.Event("image", fields...)
	return nil
}

func (a *app) tablesSummary(path string) error {
	t, err := h5.OpenTables(path)
	if err != nil {
		return err
	}
	defer t.Close()
	g := t.Grid()
	holds := []string{"times"}
	if t.Has(survey.AtSource, h5.Amplitude) {
		holds = append(holds, "amplitudes")
	}
	if t.Has(survey.AtSource, h5.Gradient) {
		holds = append(holds, "gradients")
	}
	a.report.Printf("  %s; %s\n  %s of %s and %s\n",
		g, gridExtent(g), strings.Join(holds, ", "), readable.Count(t.NumSources(), "source"), readable.Count(t.NumReceivers(), "receiver"))
	a.report.Event("tables", append(gridFields(g), "sources", t.NumSources(), "receivers", t.NumReceivers(), "holds", holds)...)
	return nil
}

func gridExtent(g grid.Grid) string {
	var parts []string
	for axis, name := range grid.AxisNames(max(2, g.Dim()))[:g.Dim()] {
		parts = append(parts, fmt.Sprintf("%s %s to %s m", name, readable.Length(g.Origin[axis]), readable.Length(g.End(axis))))
	}
	return strings.Join(parts, ", ")
}

func gridFields(g grid.Grid) []any {
	return []any{"shape", g.Shape, "origin", g.Origin, "spacing", g.Spacing}
}

func bounds[T float32 | float64](v []T) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, x := range v {
		lo, hi = min(lo, float64(x)), max(hi, float64(x))
	}
	return lo, hi
}
