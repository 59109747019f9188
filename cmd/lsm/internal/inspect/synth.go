package inspect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/synth"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// synthOptions are the command's own flags.
type synthOptions struct {
	folder, model string
	units         string
	spacing       float64
	snr           float64
	seed          uint64
	opt           synth.Options
}

func newSynth(a *cli.App) *cobra.Command {
	var f synthOptions
	names := &strings.Builder{}
	for _, n := range synth.Names() {
		fmt.Fprintf(names, "  %-8s %s\n", n, synth.Title(n))
	}
	cmd := &cobra.Command{
		Use:   "synth [NAME] -o DIR",
		Short: "Make a small synthetic survey, model and configuration",
		Long: `Synth makes a small synthetic survey. It writes survey, migration velocity, true velocity,
true reflectivity and a configuration into DIR. lsm's own operator makes the traces from
the true reflectivity, so the best image is known; those of ava come from ray theory.
NAME is one of

` + names.String() + `
With --model FILE and no NAME, synth lays a survey over your own velocity model, from which
it also takes what no flag sets. The configuration includes what --set and the environment
change, except in [comm] and [machine].

With --geometry-only the survey has no traces: lsm check plans its migration, and lsm model
makes the traces later.`,
		Example: `  lsm synth faults -o demo
  lsm synth layers -o noisy --snr 2 --seed 7
  lsm synth --model model.h5 -o mine --geometry streamer --shots 60 --channels 96
  lsm synth --model cube.h5 -o swath --geometry streamer --lines 4 --receiver-lines 8 --geometry-only`,
		Annotations: cli.Exits("3", "4", "5", "130"),
		RunE:        func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.folder, "output", "o", "", "`DIR` to write into; made if missing")
	fl.StringVar(&f.model, "model", "", "velocity model `FILE` of your own")
	fl.StringVar(&f.units, "units", "auto", "unit of --model's velocities: auto, m/s, km/s or ft/s")
	fl.Float64Var(&f.spacing, "spacing", 0, "resample --model's file, linearly, to points `M` metres apart")
	fl.StringVar((*string)(&f.opt.Geometry), "geometry", "", "fixed, streamer or land")
	fl.Float64Var(&f.snr, "snr", 0, "add Gaussian noise at this signal-to-noise `RATIO` (amplitudes); 0 for none")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of the noise")
	fl.BoolVar(&f.opt.GeometryOnly, "geometry-only", false, "write positions, sampling and wavelet, no traces")
	fl.IntVar(&f.opt.Shots, "shots", 0, "number of shots (a line)")
	fl.IntVar(&f.opt.Channels, "channels", 0, "receivers per shot (and line)")
	fl.IntVar(&f.opt.Lines, "lines", 0, "lines of shots, spread over y (3-D)")
	fl.IntVar(&f.opt.ReceiverLines, "receiver-lines", 0, "lines of receivers, or cables of a streamer (3-D)")
	fl.Float64Var(&f.opt.CableSpacing, "cable-spacing", 0, "`M` metres between the cables of a streamer (3-D)")
	fl.Float64Var(&f.opt.ShotSpacing, "shot-spacing", 0, "`M` metres between shots")
	fl.Float64Var(&f.opt.FirstShot, "first-shot", 0, "x of the first shot, `M` metres")
	fl.Float64Var(&f.opt.ReceiverSpacing, "receiver-spacing", 0, "`M` metres between receivers")
	fl.Float64Var(&f.opt.NearOffset, "near-offset", 0, "smallest offset, `M` metres")
	fl.Float64Var(&f.opt.SourceDepth, "source-depth", 0, "`M` metres below the top of the model")
	fl.Float64Var(&f.opt.ReceiverDepth, "receiver-depth", 0, "`M` metres below the top of the model")
	fl.Float64Var(&f.opt.Peak, "frequency", 0, "peak frequency of the Ricker wavelet, `HZ`")
	fl.IntVar(&f.opt.NT, "nt", 0, "samples per trace")
	fl.Float64Var(&f.opt.DT, "dt", 0, "sampling interval, `S` seconds")
	fl.Float64Var(&f.opt.Smoothing, "smoothing", 0, "standard deviation of the smoothing of the velocity, `M` metres; negative for none")
	fl.IntVar(&f.opt.Iterations, "iterations", 0, "solver.iterations of the configuration")
	cli.Require(cmd, "output")
	cli.First(cmd, "output", "model", "snr", "shots")
	return cmd
}

const readme = "README.md"

// caseFiles are the files of a case.
var caseFiles = []string{synth.SurveyFile, synth.ModelFile, synth.TrueModelFile, synth.ReflectivityFile, synth.ConfigFile, readme}

func (f *synthOptions) run(ctx context.Context, a *cli.App, args []string) error {
	if f.snr != 0 && !(f.snr > 0) {
		return status.Usage(fmt.Errorf("synth: signal-to-noise ratio is %g, must be positive", f.snr))
	}
	if f.snr != 0 && f.opt.GeometryOnly {
		return status.Usage(errors.New("synth: --snr adds noise to traces, --geometry-only writes none"))
	}
	c, err := f.build(a, args)
	if err != nil {
		return err
	}
	if err := amend(c, f.folder, a.Set); err != nil {
		return err
	}
	var out []string
	for _, name := range caseFiles {
		out = append(out, filepath.Join(f.folder, name))
	}
	if err := cli.InOrder(func() error { return a.Reads(cli.Use("--model", f.model)) }, func() error { return a.Writes(cli.Alike("synth", out...)...) }); err != nil {
		return err
	}
	undo, err := claim(f.folder, out, a.Force)
	if err != nil {
		return err
	}
	if err := f.write(ctx, a, c); err != nil {
		undo()
		return err
	}
	a.Report.Printf("%s: %s, %s of %d samples at %s ms, %v\n", c.Title,
		readable.Count(c.Survey.NumSources(), "shot"), readable.Count(c.Survey.NumTraces(), "trace"), c.Survey.NT, readable.Time(1e3*c.Survey.DT), c.Grid)
	cfg := filepath.Join(f.folder, synth.ConfigFile)
	next := "run"
	if f.opt.GeometryOnly {
		next = "check"
	}
	a.Report.Printf("next: lsm %s %s\n", next, cfg)
	a.Finish("output", f.folder, "config", cfg)
	return nil
}

// amend writes what --set and the environment change into the case's configuration, so
// that the case is imaged with the operator that modelled it. Keys that only say where a
// command runs stay out. Keys of the files that synth makes cannot be changed.
func amend(c *synth.Case, folder string, set []string) error {
	cfg, err := config.Parse(filepath.Join(folder, synth.ConfigFile), []byte(c.Config), set, os.Environ())
	if err != nil {
		return err
	}
	var settings []config.Setting
	for _, key := range cfg.Overridden() {
		section, _, _ := strings.Cut(key, ".")
		switch {
		case section == "machine" || section == "comm":
		case key == "velocity.receiver_constant": // converted waves
			settings = append(settings, config.Setting{Key: key, Value: cfg.Value(key)})
		case section == "survey" || section == "velocity" || slices.Contains([]string{"image.origin", "image.spacing", "image.shape"}, key):
			return status.Hint(status.Usage(fmt.Errorf("synth: %s is given by %s, but it is what synth makes", key, cfg.Origin(key))),
				"the flags of lsm synth -h change the case; the key may be given when it is imaged")
		default:
			settings = append(settings, config.Setting{Key: key, Value: cfg.Value(key)})
		}
	}
	c.Config = config.Amend(c.Config, settings)
	return nil
}

// claim makes the folder, and refuses without force if one of the files is there already.
// The function that it returns removes everything that was not there before.
func claim(folder string, files []string, force bool) (undo func(), err error) {
	var fresh []string
	if _, err := os.Stat(folder); err != nil {
		fresh = append(fresh, folder)
	}
	undo = func() {
		for _, path := range slices.Backward(fresh) {
			os.Remove(path)
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, status.Resource(fmt.Errorf("synth: %w", err))
	}
	for _, path := range files {
		if err := pipeline.CheckOutput(path, force); err != nil {
			undo()
			return nil, err
		}
		if _, err := os.Stat(path); err != nil {
			fresh = append(fresh, path)
		}
	}
	return undo, nil
}

// write writes all files of a case. The survey's geometry comes before its data: the
// configuration that migrates it also models it.
func (f *synthOptions) write(ctx context.Context, a *cli.App, c *synth.Case) error {
	in := func(name string) string { return filepath.Join(f.folder, name) }
	opt := h5.WriteOptions{Force: a.Force}
	err := cli.InOrder(
		func() error {
			return h5.WriteModel(in(synth.ModelFile), c.Grid, c.Smooth, opt, pipeline.PropertiesBeside(c.SmoothTilted)...)
		},
		func() error {
			return h5.WriteModel(in(synth.TrueModelFile), c.Grid, c.Velocity, opt, pipeline.PropertiesBeside(c.Tilted)...)
		},
		func() error {
			return h5.WriteImage(in(synth.ReflectivityFile), &h5.Image{Grid: c.Grid, Data: c.Reflectivity}, opt)
		},
		func() error { return pipeline.WriteText(in(synth.ConfigFile), c.Config) },
		func() error { return pipeline.WriteText(in(readme), c.Readme) },
		func() error {
			if c.Survey.Data == nil {
				return nil
			}
			return f.addNoise(a, c.Survey.Data)
		},
		func() error { return h5.WriteSurvey(in(synth.SurveyFile), c.Survey, opt) },
	)
	if err != nil || f.opt.GeometryOnly || c.Survey.Data != nil {
		return err
	}
	if err := f.addData(ctx, a, c); err != nil {
		os.Remove(in(synth.SurveyFile)) // a survey without data looks finished and is not
		return err
	}
	return nil
}

func (f *synthOptions) build(a *cli.App, args []string) (*synth.Case, error) {
	switch {
	case f.model != "" && len(args) > 0:
		return nil, status.Usage(fmt.Errorf("synth: give a NAME or --model, not both"))
	case f.model != "":
		return f.fromModel(a)
	case f.spacing != 0:
		return nil, status.Usage(errors.New("synth: --spacing needs --model"))
	case len(args) == 0:
		return nil, status.Hint(status.Usage(fmt.Errorf("synth: NAME is missing")), "one of "+strings.Join(synth.Names(), ", ")+", or --model FILE")
	}
	c, err := synth.Build(args[0], f.opt)
	return c, status.Usage(err)
}

// fromModel lays a survey over the user's model.
func (f *synthOptions) fromModel(a *cli.App) (*synth.Case, error) {
	if err := cli.CheckUnits("synth", f.units); err != nil {
		return nil, err
	}
	g, v, err := pipeline.ReadVelocity(f.model, f.units)
	if err != nil {
		return nil, cli.WithUnitsFlag(err)
	}
	if g.Domain != grid.Depth {
		return nil, status.Input(fmt.Errorf("%s: /velocity lies in %s, a survey needs a model in depth", f.model, g.Domain))
	}
	tilted, err := pipeline.ReadAnisotropy(f.model)
	if err != nil {
		return nil, err
	}
	if f.spacing != 0 {
		coarse := g
		if g, v, err = synth.Resample(g, v, f.spacing); err != nil {
			return nil, status.Usage(err)
		}
		tilted = synth.ResampleTilted(coarse, tilted, g)
		a.Report.Infof("the model's %v are resampled, linearly, to %v", coarse, g)
	}
	c, err := synth.FromModel(g, v, tilted, f.opt)
	var small *synth.CoarseError
	if errors.As(err, &small) {
		err = status.Hint(err, fmt.Sprintf("--spacing %.3g resamples the model, linearly; a lower --frequency needs less", 0.995*small.Needed))
	}
	return c, status.Usage(err)
}

// addData demigrates the true reflectivity into the survey file.
func (f *synthOptions) addData(ctx context.Context, a *cli.App, c *synth.Case) error {
	cfg, err := config.Load(filepath.Join(f.folder, synth.ConfigFile), a.Set, os.Environ())
	if err != nil {
		return err
	}
	j, err := pipeline.Open(comm.Self(), cfg, pipeline.NeedGeometry, a.Report)
	if err != nil {
		return err
	}
	defer j.Close()
	op, err := j.Build(ctx)
	if err != nil {
		return err
	}
	d, err := op.Model(ctx, pipeline.ReadPoints(c.Reflectivity))
	if err != nil {
		return err
	}
	if f.snr != 0 {
		x := make([]float32, d.Buf.Len())
		if err := device.Download(x, d.Buf); err != nil {
			return err
		}
		if err := f.addNoise(a, x); err != nil {
			return err
		}
		if err := device.Upload(d.Buf, x); err != nil {
			return err
		}
	}
	src := a.Source("synth")
	src.Force = true // over the geometry
	return j.WriteTraces(filepath.Join(f.folder, synth.SurveyFile), d, src)
}

// addNoise adds the requested noise to traces.
func (f *synthOptions) addNoise(a *cli.App, traces []float32) error {
	if f.snr == 0 {
		return nil
	}
	sigma, err := synth.AddNoise(traces, f.snr, f.seed)
	if err != nil {
		return status.Usage(err)
	}
	a.Report.Infof("noise of standard deviation %.3g added (signal-to-noise ratio %g, seed %d)", sigma, f.snr, f.seed)
	return nil
}
