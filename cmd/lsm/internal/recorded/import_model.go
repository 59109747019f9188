package recorded

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/inspect"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/fielddata"
	"github.com/kirchhoff-lsm/lsm/internal/modelfile"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// modelOptions are the choices of lsm import --model.
type modelOptions struct {
	on         bool
	crop       []string
	kind       string
	into, plot string
	line       string
	frame      string
	opt        modelfile.Options
}

// shared are the flags of lsm import that models have too.
var shared = []string{"plot", "output", "units", "format", "byte-order", "sample-format", "samples", "extended-texts", "salvage", "azimuth", "line-origin", "frame"}

// define defines the flags that only models have.
func (f *modelOptions) define(fl *pflag.FlagSet) {
	o := &f.opt
	fl.BoolVar(&f.on, "model", false, "the FILE is a model, see docs/models.md for the formats")
	fl.StringVar(&o.Property, "property", "", "model: `velocity`, receiver-velocity, epsilon, delta, tilt, azimuth or eta")
	fl.StringVar(&f.into, "into", "", "model: add the property to a copy of this model `FILE`")
	fl.IntSliceVar(&o.Shape, "shape", nil, "model, raw binary: points along each axis, `N,N`, slowest axis first")
	fl.StringVar(&o.Type, "type", "", "model, raw binary: `type` of the elements, such as float32 (default) or int16")
	fl.Int64Var(&o.Skip, "skip", 0, "model, raw binary: `BYTES` before the first element")
	fl.StringVar(&o.Dataset, "dataset", "", "model, where a file holds several arrays: `NAME` of the one")
	fl.StringSliceVar(&o.Axes, "axes", nil, "model: what the file's axes are, slowest first, `A,A` of x, y, z, time")
	fl.Float64SliceVar(&o.Origin, "origin", nil, "model: first point in the file, `X,Z` in m, or s in time (default: as it says)")
	fl.Float64SliceVar(&o.Spacing, "spacing", nil, "model: spacing in the file, `X,Z` in m, or s in time (default: as it says)")
	fl.BoolVar(&o.Override, "override", false, "model: --origin, --spacing, --units, --length-units override the file")
	fl.StringVar(&o.LengthUnits, "length-units", "", "model: unit of coordinates: `m`, km or ft (default: as the file says)")
	fl.StringVar(&f.line, "line", "", "model, SEG-Y and SU: survey `FILE` that says where on the map x lies")
	fl.StringVar(&o.Domain, "domain", "", "model: its last axis is `depth` or time (default: as the file says)")
	fl.StringVar(&f.kind, "kind", "", "model, in time: velocities are `rms` (default) or interval ones")
	fl.StringArrayVar(&f.crop, "crop", nil, "model: take a part, `AXIS=FROM:TO` in m, or s in time; may be repeated")
	fl.Float64Var(&o.Smooth, "smooth", 0, "model: smooth slowness by a Gaussian of standard deviation `M` metres")
	fl.Float64SliceVar(&o.Resample, "resample", nil, "model: interpolate to a spacing of `X,Z` in m, or s in time")
}

// names returns the names of the flags that define defines.
func (f *modelOptions) names() (list []string) {
	fl := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&modelOptions{}).define(fl)
	fl.VisitAll(func(one *pflag.Flag) { list = append(list, one.Name) })
	return list
}

// separate refuses flags of surveys for models, and the other way round.
func (f *modelOptions) separate(cmd *cobra.Command) (err error) {
	own := f.names()
	cmd.LocalNonPersistentFlags().VisitAll(func(one *pflag.Flag) {
		switch ofModel := slices.Contains(own, one.Name); {
		case err != nil || !one.Changed || slices.Contains(shared, one.Name) || one.Name == "help":
		case f.on && !ofModel:
			err = fmt.Errorf("--%s is for surveys, it has no meaning with --model", one.Name)
		case !f.on && ofModel:
			err = fmt.Errorf("--%s is for models, give --model too", one.Name)
		}
	})
	return err
}

// complete turns the flags into options.
func (f *modelOptions) complete(cmd *cobra.Command, s *importOptions, files []string) error {
	o := &f.opt
	if cmd.Flags().Changed("azimuth") {
		s.opt.Azimuth = &s.azimuth
	}
	if err := s.readTexts(cmd); err != nil {
		return err
	}
	read := s.opt.Read
	o.Format, o.Order, o.SampleFormat, o.Units = modelfile.Format(read.Kind), string(read.Order), read.Format, s.opt.Units
	o.Samples, o.Texts, o.Salvage = s.opt.NT, read.Texts, read.Salvage
	for _, text := range f.crop {
		r, err := modelfile.ParseRange(text)
		if err != nil {
			return fmt.Errorf("--crop: %w", err)
		}
		o.Crop = append(o.Crop, r)
	}
	f.frame = s.frame
	if f.frame != "" && o.Line == nil && f.line != "" {
		return errors.New("--line is for 2-D models, --frame for 3-D ones: give one of them")
	}
	if len(files) != 1 {
		return fmt.Errorf("--model takes one file, %d are given", len(files))
	}
	for _, n := range o.Shape {
		if n < 1 {
			return fmt.Errorf("shape has %d points along an axis, want 1 or more", n)
		}
	}
	if slices.Contains([]string{"ft", "m", "us-ft", "km"}, o.Units) {
		return status.Hint(fmt.Errorf("with --model, --units is the unit of the values, %s is a length", o.Units), "--length-units is that of coordinates")
	}
	if err := f.place(s); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return err
	}
	beside := !slices.Contains([]string{"", modelfile.Velocity, modelfile.ReceiverVelocity}, o.Property)
	switch {
	case beside && f.into == "":
		return status.Hint(fmt.Errorf("%s needs a model file that holds a velocity", o.Property), "--into MODEL names that file, -o the new one")
	case !beside && f.into != "":
		return errors.New("--into needs --property")
	case f.kind != "" && f.kind != string(h5.RMS) && f.kind != string(h5.Interval):
		return fmt.Errorf("kind is %q, want rms or interval", f.kind)
	case f.kind != "" && beside:
		return errors.New("--kind applies only to velocities")
	}
	return inspect.CheckPNG(f.plot)
}

// place takes the line on the map from the flags, or notes that a survey says it.
func (f *modelOptions) place(s *importOptions) error {
	given := s.opt.Azimuth != nil || s.opt.Origin != nil
	switch {
	case given && f.line != "":
		return errors.New("give --line or --azimuth and --line-origin, not both")
	case !given:
		return nil
	case s.opt.Azimuth == nil || len(s.opt.Origin) != 2:
		return errors.New("a line on the map needs --azimuth and --line-origin X,Y")
	}
	f.opt.Line = &modelfile.Line{Azimuth: *s.opt.Azimuth, Origin: [2]float64(s.opt.Origin)}
	return nil
}

// surveyLine takes the line on the map from a survey that lsm import made.
func (f *modelOptions) surveyLine() error {
	if f.line == "" {
		return nil
	}
	survey, err := h5.Open(f.line)
	if err != nil {
		return err
	}
	defer survey.Close()
	if !survey.Attrs().Has(fielddata.AttrAzimuth) {
		return status.Input(fmt.Errorf("%s: does not say where on the map its line lies: lsm import makes surveys that do", f.line))
	}
	from := fielddata.ExportOptions{Line: fielddata.NoLine()}
	if err := from.Place(f.line, false); err != nil {
		return err
	}
	f.opt.Line = &modelfile.Line{Azimuth: from.Line.Azimuth, Origin: from.Line.Origin}
	return nil
}

// run imports a model.
func (f *modelOptions) run(ctx context.Context, a *cli.App, path, output string) error {
	if err := a.CheckOutputs(cli.Named("the input", path, "--into", f.into, "--line", f.line, "--frame", frameFile(f.frame)), cli.Named("--output", output, "--plot", f.plot), a.Force); err != nil {
		return err
	}
	if f.into != "" {
		p, _ := modelfile.PropertyNamed(f.opt.Property) // complete has found it
		g, err := modelfile.GridOf(f.into, p)
		if err != nil {
			return err
		}
		if d := f.opt.Domain; d != "" && d != g.Domain.String() {
			return status.Usage(fmt.Errorf("import: --domain %s, but the model of --into lies in %s", d, g.Domain))
		}
		f.opt.Onto, f.opt.Domain = &g, g.Domain.String()
	}
	if err := f.surveyLine(); err != nil {
		return err
	}
	var err error
	if f.opt.Frame, err = frameOf(f.frame); err != nil {
		return err
	}
	m, err := modelfile.Read(ctx, path, f.opt)
	if err != nil {
		return err
	}
	if err := a.Reads(cli.Alike("the elements of "+path, m.Files...)...); err != nil {
		return err
	}
	f.tell(a, m)
	if m.Grid.Domain == grid.Depth && f.kind == string(h5.RMS) {
		return status.Usage(errors.New("import: --kind rms is for models in time, this one is in depth"))
	}
	if output == "" {
		a.Report.Printf("nothing is written without -o\n")
	} else if err := f.write(a, m, output); err != nil {
		return err
	}
	return f.draw(a, m, path)
}

// tell says what the file was taken for.
func (f *modelOptions) tell(a *cli.App, m *modelfile.Model) {
	least, greatest := slices.Min(m.Values), slices.Max(m.Values)
	name, unit := modelfile.Velocity, "m/s"
	if p, err := modelfile.PropertyNamed(f.opt.Property); err == nil {
		name, unit = p.String(), strings.TrimSpace(p.Unit())
	} else if f.opt.Property != "" {
		name = f.opt.Property
	}
	what := m.What
	if m.Dataset != "" {
		what += ", " + m.Dataset
	}
	a.Report.Printf("%s: %s, [%s]\n", m.Path, what, readable.Join("%d", ", ", m.Shape))
	a.Report.Printf("axes: %s, slowest first; values %.6g to %.6g %s\n", strings.Join(m.Axes, ", "), m.Least, m.Greatest, m.Unit)
	for _, n := range readable.Alike(m.Notes) {
		a.Report.Printf("note: %s\n", n)
	}
	for _, g := range readable.Alike(m.Guesses) {
		a.Report.Warn(g)
	}
	a.Report.Printf("model: %s, %s, %s\n", m.Grid, m.Grid.Extent(), strings.TrimSpace(fmt.Sprintf("%s %.6g to %.6g %s", name, least, greatest, unit)))
	frame := ""
	if m.Grid.Frame != nil {
		frame = m.Grid.Frame.Flag()
	}
	a.Report.Event("model", "frame", frame, "path", m.Path, "format", string(m.Format), "what", m.What, "dataset", m.Dataset, "file_shape", m.Shape, "file_axes", m.Axes,
		"file_units", m.Unit, "file_range", []float64{m.Least, m.Greatest}, "property", name, "units", unit, "range", []float64{least, greatest},
		"domain", m.Grid.Domain.String(), "origin", m.Grid.Origin, "spacing", m.Grid.Spacing, "shape", m.Grid.Shape, "notes", readable.Alike(m.Notes), "guesses", readable.Alike(m.Guesses))
}

func (f *modelOptions) write(a *cli.App, m *modelfile.Model, output string) error {
	attrs, err := cli.Made("import", cli.Named("model", m.Path, "into", f.into)...)
	if err != nil {
		return err
	}
	opt := h5.WriteOptions{Force: a.Force, Attrs: attrs}
	if f.into != "" {
		p, _ := modelfile.PropertyNamed(f.opt.Property)
		if err := m.WriteBeside(output, f.into, p, opt); err != nil {
			return err
		}
		a.Wrote("model with "+p.String(), output, "shape", m.Grid.Shape)
		return nil
	}
	kind := h5.VelocityKind(f.kind)
	if kind == "" {
		kind = h5.RMS
		if m.Grid.Domain == grid.Time {
			a.Report.Warn("velocities on two-way time are assumed to be rms velocities (--kind)")
		}
	}
	if err := m.Write(output, kind, opt); err != nil {
		return err
	}
	a.Wrote("model", output, "shape", m.Grid.Shape)
	if f.opt.Property == modelfile.ReceiverVelocity {
		a.Report.Printf("for waves to the receivers: --set velocity.receiver_file=%s\n", output)
	}
	return nil
}

// draw draws the values that were read.
func (f *modelOptions) draw(a *cli.App, m *modelfile.Model, path string) error {
	if f.plot == "" {
		return nil
	}
	opt := picture.Options{Title: filepath.Base(path)}
	if p, err := modelfile.PropertyNamed(f.opt.Property); err == nil {
		opt.Bar = strings.TrimSpace(p.String() + p.Unit())
		opt.Turn = map[h5.Property]float64{h5.Tilt: 180, h5.Azimuth: 360}[p]
	}
	figure, err := picture.Model(m.Grid, m.Values, opt)
	if err != nil {
		return status.Input(err)
	}
	a.Finish("picture", f.plot)
	return inspect.WritePicture(a, f.plot, "picture", figure, path)
}
