package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// drawable blames the file for what cannot be drawn.
func drawable(f *picture.Figure, err error) (*picture.Figure, error) { return f, status.Input(err) }

func (f *plotFlags) image(file string) (*picture.Figure, error) {
	im, err := h5.ReadImage(file)
	if err != nil {
		return nil, err
	}
	title := filepath.Base(file)
	if n := len(im.ResidualNorm); n > 0 {
		title += ": least squares, " + readable.Count(n-1, "iteration")
	} else if slices.ContainsFunc(im.Attrs, func(at h5.Attr) bool { return at.Name == "command" && at.Value == "migrate" }) {
		title += ": Kirchhoff migration"
	}
	opt, err := f.options(title)
	if err != nil {
		return nil, err
	}
	if err := f.array(im.Grid.Dim()); err != nil {
		return nil, err
	}
	whole, err := drawable(picture.Image(im.Grid, im.Data, opt))
	if err != nil {
		return nil, err
	}
	gathers, err := f.imageGathers(file, opt)
	if err != nil || gathers == nil {
		return whole, err
	}
	return picture.Stack(whole, gathers), nil
}

func (f *plotFlags) model(file string) (*picture.Figure, error) {
	g, v, err := h5.ReadModel(file)
	if err != nil {
		return nil, err
	}
	opt, err := f.options(filepath.Base(file))
	if err != nil {
		return nil, err
	}
	if err := f.array(g.Dim()); err != nil {
		return nil, err
	}
	return drawable(picture.Model(g, v, opt))
}

func (f *plotFlags) table(file string) (*picture.Figure, error) {
	t, err := h5.OpenTables(file)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	f.used = append(f.used, "row")
	if f.row < 0 || f.row >= t.NumSources() {
		return nil, status.Usage(fmt.Errorf("plot: row %d: %s has source tables 0 to %d", f.row, file, t.NumSources()-1))
	}
	opt, err := f.options(fmt.Sprintf("%s: times of source %d", filepath.Base(file), f.row))
	if err != nil {
		return nil, err
	}
	if f.colors == "default" {
		opt.Colors = picture.Sequential
	}
	opt.Bar = "time (s)"
	if err := f.array(t.Grid().Dim()); err != nil {
		return nil, err
	}
	times := make([]float64, t.RowLen(h5.Time))
	if err := t.ReadRow(times, survey.AtSource, h5.Time, f.row); err != nil {
		return nil, err
	}
	return drawable(picture.Model(t.Grid(), times, opt))
}

// gather draws the traces of one shot; in 2-D by offset, else in their order.
func (f *plotFlags) gather(file string) (*picture.Figure, error) {
	r, err := h5.OpenSurvey(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s := r.Survey()
	if !r.HasData() {
		return nil, status.Hint(status.Input(fmt.Errorf("%s: has no traces", file)), "--velocity draws a model that it carries")
	}
	if f.shot < 0 || f.shot >= s.NumSources() {
		return nil, status.Usage(fmt.Errorf("plot: shot %d: %s has sources 0 to %d", f.shot, file, s.NumSources()-1))
	}
	traces, offset := shotTraces(s, f.shot)
	if len(traces) == 0 {
		return nil, status.Input(fmt.Errorf("%s: no trace belongs to shot %d", file, f.shot))
	}
	data := make([]float32, len(traces)*s.NT)
	if err := r.ReadTraceList(data, traces); err != nil {
		return nil, err
	}
	f.used = append(f.used, "shot", "clip", "colors")
	opt, err := f.options(fmt.Sprintf("%s: shot %d", filepath.Base(file), f.shot))
	if err != nil {
		return nil, err
	}
	return drawable(picture.Gather(data, picture.Times{NT: s.NT, DT: s.DT, T0: s.T0}, offset, opt))
}

// shotTraces lists the traces of a shot; in 2-D sorted by their signed offset in
// metres, which in 3-D is nil.
func shotTraces(s *survey.Survey, shot int) (traces []int32, offset []float64) {
	type pair struct {
		trace  int32
		offset float64
	}
	var list []pair
	for i := range s.NumTraces() {
		if src, rec := s.Pair(i); src == shot {
			list = append(list, pair{int32(i), s.Receiver(rec)[0] - s.Source(src)[0]})
		}
	}
	if s.Dim == 2 {
		slices.SortStableFunc(list, func(p, q pair) int { return cmp.Compare(p.offset, q.offset) })
	}
	for _, p := range list {
		traces = append(traces, p.trace)
		if s.Dim == 2 {
			offset = append(offset, p.offset)
		}
	}
	return traces, offset
}
