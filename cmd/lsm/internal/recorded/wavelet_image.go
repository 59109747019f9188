package recorded

import (
	"context"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/wavelet"
)

// fromImage estimates the wavelet by least squares, on all ranks.
func (o *waveletOptions) fromImage(ctx context.Context, a *cli.App) error {
	cfg, err := a.Configure(o.config)
	if err != nil {
		return err
	}
	read := append(cli.Named("the configuration file", cfg.Path(), "--image", o.image), cli.Uses(cfg.Reads())...)
	if err := a.Once(func() error { return o.checkOutputs(a, read...) }); err != nil {
		return err
	}
	if cfg, err = o.spikes(cfg); err != nil {
		return err
	}
	j, err := a.Open(cfg, pipeline.NeedTraces)
	if err != nil {
		return err
	}
	defer j.Close()
	j.WarnOfDoubts()
	image, err := j.OpenImage("image", config.Path{Text: o.image, File: o.image})
	if err != nil {
		return err
	}
	j.UseSpikes()
	op, err := j.Build(ctx)
	if err != nil {
		return err
	}
	a.Report.Infof("%s", op.Info)
	d, err := j.Data()
	if err != nil {
		return err
	}
	given := j.Wavelet()
	if o.given("length") || o.given("before") {
		n, zero := o.samples(given.DT)
		given = wavelet.Resized(given, n, zero)
	}
	if n := len(given.Samples); n > wavelet.Longest || n > j.Geometry().Survey.NT {
		return status.Usage(fmt.Errorf("wavelet: --length: %s at %g s, at most %d and those of a trace, %d", readable.Count(n, "sample"), given.DT, wavelet.Longest, j.Geometry().Survey.NT))
	}
	f, err := op.FitWavelet(ctx, d, image.ReadReflectivity, given, o.ridge)
	if err != nil {
		return err
	}
	return a.Once(func() error {
		how := fmt.Sprintf("by least squares from %s and the image %s", readable.Count(j.Geometry().Shots.Traces(), "trace"), o.image)
		a.Report.Printf("%s\n", how)
		a.Report.Printf("residual with it %.4g, with the wavelet of %s %.4g: %.3f of that\n", math.Sqrt(f.After), cfg.Survey.WaveletFile(), math.Sqrt(f.Before), f.Share())
		a.Report.Event("fit", "before", math.Sqrt(f.Before), "after", math.Sqrt(f.After), "share", f.Share())
		return o.write(a, f.Wavelet, how, j.Attrs(a.Source("wavelet"), ""), []string{o.config, o.image})
	})
}

// spikes is the configuration of the operator of spikes. It refuses settings with which there is
// no such operator, or no wavelet of an image to find.
func (o *waveletOptions) spikes(cfg *config.Config) (*config.Config, error) {
	c := *cfg
	for _, no := range []struct {
		key  string
		is   bool
		want string
	}{
		{"data.whiten", c.Data.Whiten > 0, "0: whitening depends on the wavelet"},
		{"image.gathers", c.Image.Gathers != "none", `"none": the traces of a class are predicted by its own image`},
	} {
		if no.is {
			return nil, status.Usage(fmt.Errorf("%s = %s: lsm wavelet wants %s", no.key, cfg.Value(no.key), no.want))
		}
	}
	if c.Kirchhoff.Engine != "reference" { // traces are on the host
		c.Kirchhoff.Engine = "cpu"
	}
	c.Data.Read = "memory"
	c.Solver = config.Solver{
		Method: "cgls", Regularization: "none", PenaltyScale: "absolute", Reproducible: c.Solver.Reproducible,
	}
	return &c, nil
}
