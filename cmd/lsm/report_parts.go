package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/inputs"
	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/report"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// computeFor computes what no file brings: the adjoint, the residual of the
// image, and a dot test. Files of its own go to the folder.
func (a *app) computeFor(ctx context.Context, f *reportFlags, r *report.Run, folder string) error {
	if r.Image.Config == "" {
		return status.Input(fmt.Errorf("%s: holds no configuration to compute from", f.image))
	}
	cfg, err := f.parse(r.Image.Config, append([]string{"comm.backend=self", "comm.grid=[0,1]"}, a.set...))
	if err != nil {
		return status.Input(fmt.Errorf("%s: its configuration cannot be used: %w", f.image, err))
	}
	j, err := a.open(cfg, job.Traces)
	if status.Code(err) == status.BadInput {
		return status.Hint(err, "--folder DIR says which folder the paths of the run's configuration start from")
	} else if err != nil {
		return err
	}
	defer j.Close()
	src := a.source(j, "report")
	for _, in := range provenance.FromAttrs(j.Attrs(src)).Inputs {
		if want, known := f.inputs[in.Role]; known && want != in.SHA256 {
			return status.Input(fmt.Errorf("%s: %s is not the one that the run read: its SHA-256 is another", in.Path, in.Role))
		}
	}
	if !j.Image.Equal(r.Image.Grid) {
		return status.Input(fmt.Errorf("%s: lies on %v, its configuration gives %v", f.image, r.Image.Grid, j.Image))
	}
	op, err := j.Build(ctx)
	if err != nil {
		return err
	}
	defer op.Engine.Close()
	e, err := j.DotTest(ctx, op)
	if err != nil {
		return err
	}
	r.DotTest = &report.DotTest{Error: e, Limit: j.DotLimit()}
	d, err := j.Data(op)
	if err != nil {
		return err
	}
	if f.adjoint == "" {
		migrated, err := j.Migrate(ctx, op, d)
		if err != nil {
			return err
		}
		f.adjoint, f.computed = filepath.Join(folder, "adjoint.h5"), true
		if err := j.WriteAdjoint(f.adjoint, migrated, src); err != nil {
			return err
		}
	}
	if f.residual != "" || cfg.Data.Whiten > 0 {
		return nil
	}
	f.residual = filepath.Join(folder, "residual.h5")
	if j.HasGathers() {
		predicted, err := j.ModelGathers(ctx, op, f.image)
		if err != nil {
			return err
		}
		if err := dist.Axpby(1, d, -1, predicted); err != nil {
			return err
		}
		return j.WriteTraces(f.residual, predicted, src)
	}
	return j.WriteResidualOf(ctx, f.residual, op, d, r.Image.Data, src)
}

// readVelocity reads the velocity model.
func (a *app) readVelocity(ctx context.Context, f *reportFlags, r *report.Run) error {
	if f.velocity == "" {
		return nil
	}
	if err := a.tryFile(ctx, f.velocity); err != nil {
		return err
	}
	g, v, err := h5.ReadModel(f.velocity)
	if err != nil {
		return err
	}
	r.Velocity = &report.Model{File: f.velocity, Grid: g, Values: v}
	return nil
}

// readImageGathers reads a few image gathers of the image, and those of the adjoint
// that lie beside them.
func (f *reportFlags) readImageGathers(r *report.Run) error {
	files := []struct {
		path string
		to   *[]picture.ImageGather
	}{{f.image, &r.ImageGathers}}
	if r.Adjoint != nil {
		files = append(files, struct {
			path string
			to   *[]picture.ImageGather
		}{f.adjoint, &r.AdjointGathers})
	}
	for i, file := range files {
		g, err := h5.OpenGathers(file.path)
		if err != nil {
			return err
		}
		if g == nil {
			if i == 0 && len(f.gathers) > 0 {
				return noGathers(file.path)
			}
			return nil
		}
		defer g.Close()
		if i > 0 && (g.Kind != r.Classes.Name || !slices.Equal(g.Centers, r.Classes.Centers) || !g.Grid().Equal(r.Image.Grid)) {
			r.Notes = append(r.Notes, fmt.Sprintf("%s has gathers of other classes than the image. They are not shown.", file.path))
			return nil
		}
		r.Classes, r.ClassLimits = classesOf(g.Gathers), g.Limits
		if *file.to, err = readGathers(g, f.gathers); err != nil {
			return err
		}
	}
	return nil
}

// readTold reads the log and the trace.
func (f *reportFlags) readTold(r *report.Run) error {
	read := func(path string, parse func(io.Reader) error) error {
		if path == "" {
			return nil
		}
		file, err := plainfile.Open(path)
		if err != nil {
			return status.Input(err)
		}
		defer file.Close()
		if err := parse(file); err != nil {
			return status.Input(fmt.Errorf("%s: %w", path, err))
		}
		return nil
	}
	err := read(f.trace, func(file io.Reader) (err error) {
		r.Times, err = report.ReadTrace(file)
		return err
	})
	if err != nil {
		return err
	}
	return read(f.log, func(file io.Reader) (err error) {
		if r.Log, err = report.ReadLog(file); err != nil {
			return err
		}
		if !r.Log.Belongs(r.Image.ResidualNorm) {
			return fmt.Errorf("is the log of another run: its last residual is %g, that of %s is %g",
				*r.Log.Residual, f.image, r.Image.ResidualNorm[len(r.Image.ResidualNorm)-1])
		}
		if r.Log.Times != nil {
			r.Times = r.Log.Times
		}
		return nil
	})
}

// readGathers reads a few shots of the survey and of its residual.
func (a *app) readGathers(ctx context.Context, f *reportFlags, r *report.Run) error {
	data, err := a.openTraces(ctx, f.survey)
	if err != nil {
		return err
	}
	defer data.Close()
	if f.residual != "" && r.Config != nil && r.Config.Data.Whiten > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s is that of whitened traces, not of those recorded. It is not shown.", f.residual))
		f.residual = ""
	}
	residual, err := a.openTraces(ctx, f.residual)
	if err != nil {
		return err
	}
	defer residual.Close()
	var s *survey.Survey
	switch {
	case data.SurveyReader == nil && residual.SurveyReader == nil:
		return nil
	case data.SurveyReader == nil:
		s = residual.Survey()
	default:
		s = data.Survey()
		if r.Config != nil {
			if data.keep, err = inputs.Select(s, r.Config); err != nil {
				return fmt.Errorf("%s: %w", f.survey, err)
			}
		}
		if data.keep != nil {
			s = s.Select(data.keep)
		}
		if residual.SurveyReader == nil {
			break
		}
		if err := sameTraces(s, residual.Survey()); err != nil {
			return status.Input(fmt.Errorf("%s does not hold the traces of %s: %w", f.residual, f.survey, err))
		}
	}
	shots, err := f.chooseShots(s)
	if err != nil {
		return err
	}
	for _, shot := range shots {
		traces, offset := shotTraces(s, shot)
		if len(traces) == 0 {
			return status.Usage(fmt.Errorf("report: no trace belongs to shot %d", shot))
		}
		g := report.Gather{Name: fmt.Sprintf("Shot %d, %s", shot, extent(s.Source(shot), s.Dim)), NT: s.NT, DT: s.DT, T0: s.T0, Offset: offset}
		if g.Data, err = data.read(traces); err != nil {
			return err
		}
		if g.Residual, err = residual.read(traces); err != nil {
			return err
		}
		r.Gathers = append(r.Gathers, g)
	}
	return nil
}

// traceFile is an open survey file, or none.
type traceFile struct {
	*h5.SurveyReader
	keep []int32 // the traces that are counted; nil: all
}

func (a *app) openTraces(ctx context.Context, path string) (traceFile, error) {
	if path == "" {
		return traceFile{}, nil
	}
	if err := a.tryFile(ctx, path); err != nil {
		return traceFile{}, err
	}
	r, err := h5.OpenSurvey(path)
	if err != nil {
		return traceFile{}, err
	}
	if !r.HasData() {
		r.Close()
		return traceFile{}, status.Input(fmt.Errorf("%s: has no traces", path))
	}
	return traceFile{SurveyReader: r}, nil
}

// Close closes the file, if there is one.
func (t traceFile) Close() {
	if t.SurveyReader != nil {
		t.SurveyReader.Close()
	}
}

func (t traceFile) read(traces []int32) ([]float32, error) {
	if t.SurveyReader == nil {
		return nil, nil
	}
	if t.keep != nil {
		list := make([]int32, len(traces))
		for i, n := range traces {
			list[i] = t.keep[n]
		}
		traces = list
	}
	v := make([]float32, len(traces)*t.Survey().NT)
	return v, t.ReadTraceList(v, traces)
}

// shownShots is how many gathers are shown unless told otherwise.
const shownShots = 3

// chooseShots are the rows asked for, or some that have traces, spread over the
// survey but for its ends, where spreads are cut short.
func (f *reportFlags) chooseShots(s *survey.Survey) ([]int, error) {
	for _, shot := range f.shots {
		if shot < 0 || shot >= s.NumSources() {
			return nil, status.Usage(fmt.Errorf("report: shot %d: the survey has sources 0 to %d", shot, s.NumSources()-1))
		}
	}
	if len(f.shots) > 0 {
		return f.shots, nil
	}
	has := make([]bool, s.NumSources())
	for i := range s.NumTraces() {
		src, _ := s.Pair(i)
		has[src] = true
	}
	var all, some []int
	for shot, ok := range has {
		if ok {
			all = append(all, shot)
		}
	}
	for k := range shownShots {
		some = append(some, all[(2*k+1)*len(all)/(2*shownShots)])
	}
	return slices.Compact(some), nil
}
