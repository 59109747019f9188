package migrate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime/debug"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/inspect"
	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/recorded"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// checkOptions are the choices of lsm check.
type checkOptions struct {
	dotTest  bool
	arrivals string
	ranks    int
}

func newCheck(a *cli.App) *cobra.Command {
	var o checkOptions
	cmd := cli.JobCommand("check CONFIG", "Check a configuration and its files before a run",
		`Check reads a configuration and the files that it names, and reports before a run what
fits and what does not: geometry, sampling, aliasing, record length, the wavelet against the
spectrum of the traces, memory and time. It writes nothing, except the picture of --arrivals.

If lsm run would refuse to start, check reports everything else first and then ends with the
exit status of that refusal. A survey without traces can be checked too, except for dead
traces, weights made from traces and damping.

--dot-test builds the operator, tests that its two directions are adjoint, and prints what
solver.damping amounts to.

--ranks N (or comm.grid) prints the memory and work of each rank. The time is for this
machine, which check measures, with its cores shared by all ranks and without sums over ranks.

--arrivals reports where first arrivals are weak, such as head waves and waves around
obstacles: where their spreading is below 0.3 of what the distance gives. It tests eight
places spread over the survey, and the picture shows from what share of them.`,
		`  lsm check config.toml --dot-test
  lsm check config.toml --arrivals weak.png
  lsm check config.toml --ranks 512`,
		func(ctx context.Context, path string) error { return checkJob(ctx, a, path, o) })
	cmd.Flags().IntVar(&o.ranks, "ranks", 0, "plan for this number of `RANKS`")
	cmd.Flags().StringVar(&o.arrivals, "arrivals", "", "draw where first arrivals are weak, in the PNG `FILE`")
	cli.NotEmpty(cmd, "arrivals", "a file")
	cmd.Flags().BoolVar(&o.dotTest, "dot-test", false, "build the operator and run the dot test")
	cli.First(cmd, "dot-test")
	return cmd
}

// garbage is how much check lets the heap grow before it collects, in per cent: most of the
// heap are long arrays, which are collected at no cost and fill the memory where they are not.
const garbage = 25

func checkJob(ctx context.Context, a *cli.App, path string, o checkOptions) error {
	cfg, err := a.LoadConfig(path) // what is odd in it is among the findings
	if err != nil {
		return err
	}
	if o.arrivals != "" {
		read := append(cli.Named("the configuration", path), cli.Uses(cfg.Reads())...)
		if err := a.CheckOutput(read, o.arrivals, a.Force); err != nil {
			return err
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	here := *cfg
	if a.World.Size() == 1 { // whatever the grid of the run to come
		here.Comm.Grid = []int{0, 1}
	}
	warnings := 0
	show := func(f pipeline.Finding) {
		if f.Level == "warning" {
			warnings++
		}
		a.Report.Printf("%-8s %-16s %s\n", f.Level, f.Topic, f.Text)
		a.Report.Event("finding", "level", f.Level, "topic", f.Topic, "text", f.Text)
	}
	refused := tryOutputs(a, cfg, show)
	j, err := a.Open(&here, pipeline.NeedPlanning)
	if err != nil {
		return err
	}
	defer j.Close()
	f, err := j.Forecast(cfg.Comm.Grid, plannedRanks(o.ranks, cfg.Comm.Grid, a.World.Size()))
	if err != nil {
		return err
	}
	if err := j.LoadStart(); err != nil {
		return err
	}
	if cfg.Kirchhoff.Engine == "auto" {
		show(pipeline.Finding{Topic: "engine", Level: "ok", Text: j.EngineText()})
	}
	for _, found := range f.Findings() {
		show(found)
	}
	memory := f.Memory.Check()
	spectra, time := func() error { return compareSpectra(a, j, show) }, func() error { return tellTime(ctx, a, j, f, show) }
	if err := cli.InOrder(spectra, time); err != nil {
		return err
	}
	if err := o.measure(ctx, a, j, f, path, show); err != nil {
		return err
	}
	if o.dotTest && memory == nil {
		if err := dotTest(ctx, a, j, show); err != nil {
			return err
		}
	}
	a.Report.Printf("%s\n", english.Plural(warnings, "warning", ""))
	a.Finish("warnings", warnings)
	return cmp.Or(memory, refused)
}

// Limits of the agreement of traces and wavelet below which check warns.
const (
	leastSimilarity = 0.9  // of amplitudes
	mostBeyond      = 0.25 // of the traces' energy, outside of the wavelet's band
)

// compareSpectra says whether the wavelet has the frequencies of the traces, and what phase it may
// lack.
func compareSpectra(a *cli.App, j *pipeline.Job, show func(pipeline.Finding)) error {
	c, err := j.CompareSpectra()
	if err != nil || c == nil {
		return err
	}
	level := "ok"
	if c.Similarity < leastSimilarity || c.Beyond > mostBeyond {
		level = "warning"
	}
	text := fmt.Sprintf("its amplitudes correlate with those of the traces by %.2f; 90 %% of the energy lies from %s to %s Hz, of the traces' from %s to %s Hz, peak %s Hz",
		c.Similarity, readable.Frequency(c.Wavelet.Low), readable.Frequency(c.Wavelet.High),
		readable.Frequency(c.Traces.Low), readable.Frequency(c.Traces.High), readable.Frequency(c.Traces.Peak))
	if c.Beyond > mostBeyond {
		text += fmt.Sprintf("; %.0f %% of the traces' energy is at frequencies that it lacks, which no image explains", 100*c.Beyond)
	}
	if level == "warning" {
		text += "; lsm wavelet estimates another"
	}
	show(pipeline.Finding{Topic: "wavelet", Level: level, Text: text})
	if c.Contrast >= recorded.LeastContrast && math.Abs(c.Turn) > 15 && j.FilterFits() {
		show(pipeline.Finding{Topic: "wavelet", Level: "note", Text: fmt.Sprintf("turned by %g degrees it would make the traces most like spikes, which hints at its phase if reflections are few", c.Turn)})
	}
	a.Finish("wavelet_similarity", c.Similarity, "wavelet_beyond", c.Beyond)
	return nil
}

// measure shows what the options ask for beyond the plan.
func (o *checkOptions) measure(ctx context.Context, a *cli.App, j *pipeline.Job, f *pipeline.Forecast, path string, show func(pipeline.Finding)) error {
	if o.arrivals != "" {
		return findWeak(ctx, a, j.Geometry().Image, f, path, o.arrivals, show)
	}
	return nil
}

// tellTime shows what a run takes on this machine. The numbers are of the rank that needs most.
func tellTime(ctx context.Context, a *cli.App, j *pipeline.Job, f *pipeline.Forecast, show func(pipeline.Finding)) error {
	speed, err := measureSpeed(ctx, a, j.Kernel())
	if err != nil {
		return err
	}
	d := f.Duration(speed, j.ReadingTime())
	show(pipeline.Finding{Topic: "time", Level: "ok", Text: d.String()})
	numbers := []any{"ranks", f.Ranks(), "memory_bytes", f.Memory.Total(), "bytes_per_iteration", f.Reduced}
	if d != (pipeline.Duration{}) {
		numbers = append(numbers, "seconds_per_iteration", d.Iteration.Seconds(), "run_seconds", d.Total.Seconds())
	}
	a.Report.Event("forecast", numbers...)
	a.Finish(numbers...)
	return nil
}

// tryOutputs shows which outputs of a run cannot be written, and returns the first
// one's error.
func tryOutputs(a *cli.App, cfg *config.Config, show func(pipeline.Finding)) (refused error) {
	for _, out := range cfg.Writes() {
		if err := a.Once(func() error { return pipeline.CheckOutput(out.Path.File, a.Force) }); err != nil {
			show(pipeline.Finding{Topic: "output", Level: "warning", Text: err.Error()})
			refused = cmp.Or(refused, err)
		}
	}
	return refused
}

// plannedRanks is how many ranks to plan for: the number requested, or that of the grid, or that of
// this run.
func plannedRanks(asked int, grid []int, here int) int {
	switch {
	case asked > 0:
		return asked
	case here == 1 && grid[0]*grid[1] > 1:
		return grid[0] * grid[1]
	}
	return here
}

// findWeak says where first arrivals are weak, and draws it.
func findWeak(ctx context.Context, a *cli.App, image grid.Grid, f *pipeline.Forecast, config, out string, show func(pipeline.Finding)) error {
	return a.Once(func() error {
		weak, found, err := f.FindWeak(ctx, a.Report)
		if err != nil {
			return pipeline.BlameInput(err)
		}
		show(found)
		late, found, err := f.FindLate(ctx)
		if err != nil {
			return pipeline.BlameInput(err)
		}
		if show(found); late != nil {
			a.Finish("first_arrivals", late.First, "later_stronger", late.Later, "behind_seconds", late.Behind, "unlit", late.Unlit)
		}
		if weak == nil {
			return nil
		}
		figure, err := picture.Model(image, weak.Weak, picture.Options{Title: "weak first arrivals", Bar: "share of the places"})
		if err != nil {
			return err
		}
		if err := inspect.WritePicture(a, out, "picture", figure, config); err != nil {
			return err
		}
		a.Finish("output", out)
		a.Finish("weak_arrivals", weak.Share)
		return nil
	})
}

// dotTest measures the adjointness of the run's own operator.
func dotTest(ctx context.Context, a *cli.App, j *pipeline.Job, show func(pipeline.Finding)) error {
	op, err := j.Build(ctx)
	if err != nil {
		return err
	}
	e, err := op.DotTest(ctx)
	if err != nil {
		return err
	}
	limit := op.DotLimit()
	if !(e <= limit) {
		return status.Numerical(fmt.Errorf("dot test: %s: forward and adjoint differ by %.1e, must be at most %.0e", op.Info, e, limit))
	}
	show(pipeline.Finding{Topic: "dot test", Level: "ok", Text: fmt.Sprintf("%s: %.1e (at most %.0e)", op.Info, e, limit)})
	a.Finish("dot_error", e)
	if !j.HasTraces() {
		return nil
	}
	text, err := op.DampingText(ctx)
	if text != "" {
		show(pipeline.Finding{Topic: "penalty", Level: "ok", Text: text})
	}
	return err
}
