package recorded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/inspect"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/internal/midpoint"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
	"github.com/kirchhoff-lsm/lsm/internal/wavelet"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// firstLook is the work of lsm semblance on one survey.
type firstLook struct {
	o    *semblanceOptions
	a    *cli.App
	file string

	line   *midpoint.Line
	grid   grid.Grid // of the velocity model
	places []midpoint.Place

	spectra []*midpoint.Spectrum // of places; nil if they are not needed
	picks   []midpoint.Pick
	model   *velocity.Model
	misfit  float64 // of the model's velocities from the picks, as a share
}

// open sorts the traces and chooses places.
func (w *firstLook) open(r *h5.SurveyReader) (err error) {
	o, l := w.o, &midpoint.Line{Survey: r.Survey(), Read: r.ReadTraceList, Replacement: w.o.replacement}
	if l.Bins, err = midpoint.Sort(l.Survey, o.bin); err != nil {
		return status.Input(fmt.Errorf("%s: %w", w.file, err))
	}
	l.Traces, l.Cuts = l.Bins.Order()
	if o.every == 0 {
		lo, hi := survey.Bounds(slices.Concat(l.Sources, l.Receivers), 2, 0)
		o.every = min(500, max(100, math.Round((hi-lo)/50)))
	}
	o.around = cmp.Or(o.around, o.every/2)
	o.Window = cmp.Or(o.Window, period(l.Survey.Wavelet))
	if w.grid, err = l.Grid(o.every); err != nil {
		return status.Input(fmt.Errorf("%s: %w", w.file, err))
	}
	if w.places = l.Places(w.grid, o.around); len(w.places) == 0 {
		return status.Usage(fmt.Errorf("semblance: no trace has its midpoint within --around %g m of a place: places lie %g m apart", o.around, o.every))
	}
	most := 0
	for _, p := range w.places {
		most = max(most, l.Cuts[p.Last+1]-l.Cuts[p.First])
	}
	if err := counts.Fit(fmt.Sprintf("%s around a place", readable.Count(most, "trace")), 16*float64(most)*float64(l.NT+l.Times())); err != nil {
		return err
	}
	w.line = l
	folder := filepath.Dir(cmp.Or(o.output, o.stack, o.spectra, o.csv, o.panels))
	if _, err := r.Arrange(l.Traces, l.Cuts, folder); err != nil {
		return err
	}
	w.a.Report.Printf("midpoints: %d, %g m apart, fold up to %d; %s, %g m apart\n", l.Bins.N, l.Bins.Width, slices.Max(l.Bins.Fold()),
		readable.Count(len(w.places), "place"), o.every)
	return nil
}

// usualWindow is the window for a survey without a wavelet, s.
const usualWindow = 0.04

// period is the period of the peak frequency of a wavelet, s.
func period(w survey.Wavelet) float64 {
	if len(w.Samples) < 2 {
		return usualWindow
	}
	if peak := wavelet.NewSpectrum(len(w.Samples), w.DT).Band(w.Samples).Peak; peak > 0 {
		return 1 / peak
	}
	return usualWindow
}

// findModel finds the velocities with which traces are corrected.
func (w *firstLook) findModel(ctx context.Context) (err error) {
	o := w.o
	switch {
	case o.model != "":
		if w.model, err = pipeline.ReadWholeModel(o.model, "auto"); err == nil && w.model.Grid.Dim() != 2 {
			err = status.Input(fmt.Errorf("%s: has %d axes, want 2", o.model, w.model.Grid.Dim()))
		}
	case o.hand != "":
		if w.picks, err = midpoint.ReadPicks(o.hand); err != nil {
			err = status.Input(err)
		}
	}
	automatic := o.model == "" && o.hand == ""
	if err == nil && (automatic || o.spectra != "" || o.panels != "") {
		err = w.scan(ctx)
	}
	if err != nil || w.model != nil {
		return err
	}
	if automatic {
		for i, trajectory := range midpoint.Trajectories(w.spectra, o.Options) {
			w.picks = append(w.picks, w.spectra[i].Picks(o.Options, trajectory)...)
		}
		if len(w.picks) == 0 {
			return status.Numerical(fmt.Errorf("%s: no semblance within --velocities has a peak of --threshold %g: there is nothing to pick", w.file, o.Threshold))
		}
	}
	if w.model, w.misfit, err = midpoint.Fit(ctx, w.grid, w.picks, o.Bounds); err != nil {
		return err
	}
	w.a.Report.Printf("%s: %s to %s m/s; velocities are off them by %s rms\n", readable.Count(len(w.picks), "pick"),
		readable.Speed(slices.Min(w.model.V)), readable.Speed(slices.Max(w.model.V)), readable.Percent(w.misfit))
	return nil
}

// scan computes the spectra of all places.
func (w *firstLook) scan(ctx context.Context) error {
	if err := counts.Fit("spectra of that many places and velocities", 4*float64(len(w.places))*float64(len(w.o.Velocities()))*float64(w.line.Times())); err != nil {
		return err
	}
	stage := w.a.Report.Stage("semblance")
	stage.Total(len(w.places), "places")
	defer stage.End()
	for _, p := range w.places {
		g, err := w.line.Gather(p.First, p.Last)
		if err != nil {
			return err
		}
		s, err := w.line.Scan(ctx, g, w.o.Options)
		if err != nil {
			return err
		}
		s.X = p.X
		w.spectra = append(w.spectra, s)
		stage.Add(1)
	}
	return nil
}

// write writes all requested outputs.
func (w *firstLook) write(ctx context.Context, r *h5.SurveyReader) error {
	o := w.o
	attrs, err := cli.Made("semblance", cli.Named("survey", w.file, "picks", o.hand, "velocity", o.model)...)
	if err != nil {
		return err
	}
	opt := h5.WriteOptions{Force: w.a.Force, Attrs: attrs}
	for _, out := range []struct {
		what, path string
		write      func() error
	}{
		{"model", o.output, func() error {
			w.warnOfDatum()
			return h5.WriteTimeModel(o.output, w.grid, h5.RMS, inspect.Single(w.model.V), opt)
		}},
		{"stack", o.stack, func() error { return w.writeStack(ctx, opt) }},
		{"spectra", o.spectra, func() error { return w.writeSpectra(ctx, opt) }},
		{"picks", o.csv, func() error { return midpoint.WritePicks(o.csv, w.picks, w.a.Force) }},
		{"panels", o.panels, func() error {
			figure, err := w.draw(ctx)
			if err != nil {
				return err
			}
			return picture.WriteFile(o.panels, figure, w.a.Force)
		}},
	} {
		if out.path == "" {
			continue
		}
		if err := errors.Join(out.write(), r.Unchanged()); err != nil {
			return err
		}
		w.a.Report.Printf("%s: %s\n", out.what, out.path)
	}
	return nil
}

// warnOfDatum says where times of the model count from, unless a quarter of a period does not tell.
func (w *firstLook) warnOfDatum() {
	least, greatest := slices.Min(w.line.Bins.Datum), slices.Max(w.line.Bins.Datum)
	if max(-least, greatest)*2/slices.Min(w.model.V) > w.o.Window/4 {
		w.a.Report.Warn(fmt.Sprintf("times count from sources and receivers, at z = %.4g to %.4g m in the mean of a midpoint: lsm velocity --to interval takes them to count from z = 0", least, greatest))
	}
}

// corrected reads the bins of a place and takes off the moveout of the velocities below their middle, which are given too.
func (w *firstLook) corrected(ctx context.Context, p midpoint.Place) (g *midpoint.Gather, rms []float64, flat []float32, err error) {
	l := w.line
	if g, err = l.Gather(p.First, p.Last); err != nil {
		return nil, nil, nil, err
	}
	if rms, err = midpoint.Velocities(w.model, l.Bins, (p.First+p.Last)/2, l.Times(), l.DT); err != nil {
		return nil, nil, nil, status.Input(fmt.Errorf("%s: %w", cmp.Or(w.o.model, w.file), err))
	}
	flat, err = l.Correct(ctx, g, rms, w.o.Stretch, w.o.Threads)
	return g, rms, flat, err
}

// writeStack writes the stack of all bins.
func (w *firstLook) writeStack(ctx context.Context, opt h5.WriteOptions) error {
	l := w.line
	g := grid.Grid{Origin: []float64{l.Bins.Origin, 0}, Spacing: []float64{l.Bins.Width, l.DT}, Shape: []int{l.Bins.N, l.Times()}, Domain: grid.Time}
	out, err := h5.CreateImage(w.o.stack, &h5.Image{Grid: g}, opt)
	if err != nil {
		return err
	}
	defer out.Abort()
	stage := w.a.Report.Stage("stack")
	stage.Total(l.Bins.N, "midpoints")
	defer stage.End()
	for bin := range l.Bins.N {
		_, _, flat, err := w.corrected(ctx, midpoint.Place{First: bin, Last: bin})
		if err != nil {
			return err
		}
		if err := out.WriteImage(midpoint.Stack(flat, l.Times()), bin*l.Times()); err != nil {
			return err
		}
		stage.Add(1)
	}
	return out.Commit()
}

// writeSpectra writes the spectra as gathers by velocity, of an image that is the stack of each place.
func (w *firstLook) writeSpectra(ctx context.Context, opt h5.WriteOptions) error {
	l, first, last := w.line, w.places[0].X, w.places[len(w.places)-1].X
	nt, every := len(w.spectra[0].Energy), w.spectra[0].Every
	column := func(x float64) int { return counts.Near((x-first)/w.o.every, 0, w.grid.Shape[0]) }
	nx := column(last) + 1
	g := grid.Grid{Origin: []float64{first, 0}, Spacing: []float64{w.o.every, float64(every) * l.DT}, Shape: []int{nx, nt}, Domain: grid.Time}
	im := &h5.Image{Grid: g, Data: make([]float32, g.Len()), Gathers: &h5.Gathers{Kind: "velocity", Centers: w.o.Velocities()}}
	for _, p := range w.places {
		_, _, flat, err := w.corrected(ctx, p)
		if err != nil {
			return err
		}
		stack := midpoint.Stack(flat, l.Times())
		for k := range nt {
			im.Data[column(p.X)*nt+k] = stack[k*every]
		}
	}
	out, err := h5.CreateImage(w.o.spectra, im, opt)
	if err != nil {
		return err
	}
	defer out.Abort()
	for i := range im.Gathers.Centers {
		all := make([]float32, g.Len()) // 0 where no trace is
		for k, s := range w.spectra {
			copy(all[column(w.places[k].X)*nt:], s.Semblance[i*nt:(i+1)*nt])
		}
		if err := out.WriteGathers(all, i*len(all)); err != nil {
			return err
		}
	}
	return out.Commit()
}
