package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/target"
)

// targetOptions are the choices of lsm target.
type targetOptions struct {
	window, image string
	frame         int
	noise         float64
}

func newTarget(a *cli.App) *cobra.Command {
	var o targetOptions
	cmd := cli.JobCommand("target CONFIG", "Resolution and uncertainty of a window of the image",
		`Target computes and factors the full Hessian of a window of the image. From it follows what
a solver does not give: how well each point is resolved, how far it is smeared along each
axis and, if the noise is known, the standard deviation of its amplitude. It writes an image
file with these fields. Its image is the least-squares image of the window; outside, the image
is that of --image, or zero. --frame adds points around the window to the Hessian.

The problem is that of lsm run with the same configuration: weights, topography and damping. The
defaults here are solver.band = false and data.weights = "none"; other values are refused, except
"survey". The engine of the configuration computes the Hessian; if it runs on a GPU, cpu does. The
matrix is spread over the memory of the ranks.

--image is the image that lsm run made of the same problem. Target takes the noise of a weighted
sample from its residual, and prints how far the image of the window differs from it, also with
zero around the window.`,
		`  lsm run config.toml --set solver.band=false --set data.weights=none -o plain.h5
  lsm target config.toml --window 2000:2640,1000:1640 --image plain.h5
  lsm target config.toml --window 2000:2640,1000:1640 --frame 8 --noise 0.1
  lsm plot target.h5 --field resolution`,
		func(ctx context.Context, path string) error { return targetJob(ctx, a, path, o) })
	flags := cmd.Flags()
	flags.StringVar(&o.window, "window", "", "`x0:x1,z0:z1`, in the units of the axes; a limit left out is the image's end")
	flags.IntVar(&o.frame, "frame", 0, "`points` around the window that the Hessian has as well")
	flags.StringVar(&o.image, "image", "", "image `FILE` of lsm run, for the noise and to compare with")
	flags.Float64Var(&o.noise, "noise", 0, "standard `deviation` of the noise in a weighted sample")
	cli.Require(cmd, "window")
	cli.NotEmpty(cmd, "image", "an image")
	flags.StringVarP(&a.Output, "output", "o", "", "`FILE` to write (default: target.h5 beside output.file)")
	cli.NotEmpty(cmd, "output", "a file")
	return cli.Traced(a, cmd)
}

// given are the options for a configuration.
func (o *targetOptions) given(j *pipeline.Job) (target.Options, error) {
	out := target.Options{Frame: o.frame, Image: pathOf(o.image), Noise: o.noise}
	if o.frame < 0 {
		return out, status.Usage(fmt.Errorf("target: --frame is %d points, must not be negative", o.frame))
	}
	if o.noise < 0 || math.IsNaN(o.noise) || math.IsInf(o.noise, 0) {
		return out, status.Usage(fmt.Errorf("target: --noise is %g, must be finite and not negative", o.noise))
	}
	var err error
	out.Window, err = target.ParseWindow(o.window, j.Geometry().Image)
	return out, status.Usage(err)
}

func pathOf(file string) config.Path { return config.Path{Text: file, File: file} }

func targetJob(ctx context.Context, a *cli.App, path string, o targetOptions) error {
	cfg, err := a.Configure(path)
	if err != nil {
		return err
	}
	if cfg.Origin("solver.band") == "default" {
		cfg.Solver.Band = false
	}
	if cfg.Origin("data.weights") == "default" {
		cfg.Data.Weights = "none"
	}
	if a.Output == "" {
		cfg.Output.File = pathOf(filepath.Join(filepath.Dir(cfg.Output.File.File), "target.h5"))
	}
	err = cmp.Or(target.Refuse(cfg), cli.Distinct(cli.Alike("--image", o.image), cli.Alike("--output", cfg.Output.File.File)))
	if err := comm.Together(a.World, err); err != nil {
		return err
	}
	j, err := a.Open(cfg, pipeline.NeedTraces, cfg.Output.File)
	if err != nil {
		return err
	}
	defer j.Close()
	j.Alone = false // the forecast of a solve does not count H
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	j.WarnOfDoubts()
	asked, err := o.given(j)
	if err := j.Ranks.Together(err); err != nil {
		return err
	}
	summary, bytes, err := solveTarget(ctx, a, j, asked)
	if err != nil {
		return err
	}
	tellTarget(a, cfg.Output.File.File, summary)
	return a.Closing(bytes)
}

// solveTarget makes the target of a job. bytes is the memory that a rank holds.
func solveTarget(ctx context.Context, a *cli.App, j *pipeline.Job, asked target.Options) (s *target.Summary, bytes int64, err error) {
	text, bytes, err := target.Forecast(j, asked)
	if err := j.Ranks.Together(err); err != nil {
		return nil, 0, err
	}
	a.Report.Printf("%s\n", text)
	if j.Streams() {
		err := errors.New("memory: the traces would be streamed, and lsm target holds them")
		return nil, 0, j.Ranks.Together(status.Hint(status.Resource(err), "use more ranks or fewer traces, or raise machine.memory_gib"))
	}
	given, err := target.Read(j, asked)
	if err != nil {
		return nil, 0, err
	}
	op, err := j.Build(ctx)
	if err != nil {
		return nil, 0, err
	}
	a.Report.Infof("%s", op.Info)
	d, err := j.Data()
	if err != nil {
		return nil, 0, err
	}
	var solution pipeline.PointReader
	if given.Image != nil {
		solution = given.Image.Read
	}
	q, err := op.Quadratic(ctx, d, solution)
	if err != nil {
		return nil, 0, err
	}
	t, err := target.New(ctx, j, op, asked, given, q)
	if err != nil {
		return nil, 0, err
	}
	defer t.Close()
	s, err = t.Write(ctx, j.Config().Output.File.File, a.Source("target"))
	return s, bytes, err
}

// tellTarget prints the results. Only rank 0 has a summary.
func tellTarget(a *cli.App, out string, s *target.Summary) {
	if s == nil {
		return
	}
	if s.Held >= 0 {
		a.Report.Printf("image: differs from that of --image by %.3g %% in the window; with zero around its frame it would by %.3g %%\n", 100*s.Held, 100*s.Alone)
		a.Finish("difference", s.Held, "difference_alone", s.Alone)
	}
	a.Report.Printf("resolution: %.3f on average\n", mean(s.Resolution))
	a.Finish("resolution", mean(s.Resolution))
	if s.Noise > 0 {
		a.Report.Printf("noise: %.4g in a weighted sample; standard deviation of the image: %.4g on average\n", s.Noise, s.Deviation)
		a.Finish("noise", s.Noise, "standard_deviation", s.Deviation)
	} else {
		a.Report.Infof("no standard deviation: --image or --noise tells the noise")
	}
	a.Wrote("target", out, "points", s.Points, "rows", s.Rows)
}

func mean(v []float64) (m float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	return m
}
