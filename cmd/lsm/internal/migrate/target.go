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
	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/operator"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/target"
)

// targetOptions are the choices of lsm target.
type targetOptions struct {
	window, image string
	rights        []string
	frame         int
	noise         float64
	conjugate     bool
}

func newTarget(a *cli.App) *cobra.Command {
	var o targetOptions
	cmd := cli.JobCommand("target CONFIG", "The Hessian of a window of the image: solutions, resolution, uncertainty",
		`Target computes the Hessian of a window of the image, all of it, factors it, and
answers from it what a solver does not: how well each point is resolved, how wide it is
smeared along each axis, and, once the noise is known, the standard deviation of its
amplitude. The file is an image file. Its image is the least-squares image of the window
with the rest of the image as in --image, or else zero. --frame takes along the points
around the window.

The problem is that of lsm run with the same configuration: weights, topography, damping
and regularization. The engine of the configuration makes the Hessian, also that of a GPU;
the matrix lies in the memory of the ranks. Further right sides are migrated images of lsm
migrate, --rhs: each class of gathers is solved for, with the one factor and without the
traces.

--image is what lsm run made of the same configuration. The noise in a weighted sample is
taken from its residual, and lsm target says how far the window's image is from it, also
with zero around it.`,
		`  lsm target config.toml --window 2000:2640,1000:1640 --image image.h5
  lsm target config.toml --window 2000:2640,1000:1640 --frame 8 --rhs migrated.h5
  lsm plot target.h5 --field resolution`,
		func(ctx context.Context, path string) error { return targetJob(ctx, a, path, o) })
	flags := cmd.Flags()
	flags.StringVar(&o.window, "window", "", "`x0:x1,z0:z1`, in the units of the axes; a limit left out is the image's end")
	flags.IntVar(&o.frame, "frame", 0, "`points` around the window that the Hessian has as well")
	flags.StringArrayVar(&o.rights, "rhs", nil, "image `FILE` of lsm migrate to solve for as well; may be repeated")
	flags.StringVar(&o.image, "image", "", "image `FILE` of lsm run, for the noise and to compare with")
	flags.Float64Var(&o.noise, "noise", 0, "standard `deviation` of the noise in a weighted sample")
	flags.BoolVar(&o.conjugate, "cg", false, "solve by block conjugate gradients: no factor, no resolution, no uncertainty")
	cli.NotEmpty(cmd, "image", "an image")
	cmd.MarkFlagsMutuallyExclusive("cg", "noise")
	cli.Require(cmd, "window")
	flags.StringVarP(&a.Output, "output", "o", "", "`FILE` to write (default: target.h5 beside output.file)")
	cli.NotEmpty(cmd, "output", "a file")
	return cli.Traced(a, cmd)
}

// given are the options for a configuration.
func (o *targetOptions) given(j *job.Job) (target.Options, error) {
	out := target.Options{Frame: o.frame, Image: pathOf(o.image), Noise: o.noise, Conjugate: o.conjugate}
	for _, r := range o.rights {
		out.Rights = append(out.Rights, pathOf(r))
	}
	if o.frame < 0 {
		return out, status.Usage(fmt.Errorf("target: --frame is %d points, must not be negative", o.frame))
	}
	if o.noise < 0 || math.IsNaN(o.noise) || math.IsInf(o.noise, 0) {
		return out, status.Usage(fmt.Errorf("target: --noise is %g, must be finite and not negative", o.noise))
	}
	var err error
	out.Window, err = target.ParseWindow(o.window, j.Image)
	return out, status.Usage(err)
}

func pathOf(file string) config.Path { return config.Path{Text: file, File: file} }

func targetJob(ctx context.Context, a *cli.App, path string, o targetOptions) error {
	cfg, err := a.Configure(path)
	if err != nil {
		return err
	}
	if a.Output == "" {
		cfg.Output.File = pathOf(filepath.Join(filepath.Dir(cfg.Output.File.File), "target.h5"))
	}
	given := append(cli.Alike("--rhs", o.rights...), cli.Use("--image", o.image))
	err = cmp.Or(target.Refuse(cfg), cli.Distinct(given, cli.Alike("--output", cfg.Output.File.File)))
	if err := comm.Together(a.World, err); err != nil {
		return err
	}
	j, err := a.Open(cfg, plan.Traces, cfg.Output.File)
	if err != nil {
		return err
	}
	defer j.Close()
	j.Alone = false // the forecast of a solve does not count H
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	j.WarnOfDoubts()
	asked, err := o.given(j)
	if err := j.Together(err); err != nil {
		return err
	}
	text, bytes, err := target.Forecast(j, asked)
	if err := j.Together(err); err != nil {
		return err
	}
	a.Report.Printf("%s\n", text)
	summary, err := solveTarget(ctx, a, j, asked)
	if err != nil {
		return err
	}
	tellTarget(a, cfg.Output.File.File, summary)
	return a.Closing(bytes)
}

// solveTarget makes the target of a job.
func solveTarget(ctx context.Context, a *cli.App, j *job.Job, asked target.Options) (*target.Summary, error) {
	if j.Held.Stream {
		err := errors.New("memory: the traces would be streamed, and lsm target holds them")
		return nil, j.Together(status.Hint(status.Resource(err), "use more ranks or fewer traces, or raise machine.memory_gib"))
	}
	given, err := target.Read(j, asked)
	if err != nil {
		return nil, err
	}
	if err := j.Build(ctx); err != nil {
		return nil, err
	}
	a.Report.Infof("%s", j.Info)
	d, err := j.Data()
	if err != nil {
		return nil, err
	}
	var image operator.Reader
	if given.Image != nil {
		image = given.Image.Read
	}
	q, err := job.Quadratic(ctx, j, d, image)
	if err != nil {
		return nil, err
	}
	t, err := target.New(ctx, j, asked, given, q)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	return t.Write(ctx, j.Config.Output.File.File, a.Source("target"))
}

// tellTarget says what was found. There is a summary on rank 0 alone.
func tellTarget(a *cli.App, out string, s *target.Summary) {
	if s == nil {
		return
	}
	if s.Held >= 0 {
		a.Report.Printf("image: differs from that of --image by %.3g %% in the window; with zero around its frame it would by %.3g %%\n", 100*s.Held, 100*s.Alone)
		a.Finish("difference", s.Held, "difference_alone", s.Alone)
	}
	if r := s.Resolution; r != nil {
		a.Report.Printf("resolution: %.3f on average\n", mean(r))
		a.Finish("resolution", mean(r))
	}
	if s.Noise > 0 {
		a.Report.Printf("noise: %.4g in a weighted sample; standard deviation of the image: %.4g on average\n", s.Noise, s.Deviation)
		a.Finish("noise", s.Noise, "standard_deviation", s.Deviation)
	} else if s.Resolution != nil {
		a.Report.Infof("no standard deviation: --image or --noise tells the noise")
	}
	if n := len(s.Names); n > 0 {
		a.Report.Printf("solutions: of %s\n", readable.Count(n, "right side"))
	}
	a.Wrote("target", out, "points", s.Points, "rows", s.Rows, "right_sides", len(s.Names))
}

func mean(v []float64) (m float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	return m
}
