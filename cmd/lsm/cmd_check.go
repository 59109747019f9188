package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/internal/bench"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/forecast"
	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/operator"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// checkOptions are the choices of lsm check.
type checkOptions struct {
	dotTest bool
	window  bool
	ranks   int
}

func newCheck(a *app) *cobra.Command {
	var o checkOptions
	cmd := jobCommand("check CONFIG", "Everything that can be found wrong without computing",
		`Check reads the configuration and the files that it names, and says what it
finds: geometry, sampling, aliasing, the length of the records, memory, time. Nothing
is written. Where lsm run would refuse to start, check says everything else first and
then ends with the exit status of that refusal. The survey file need not hold traces
yet: check then says nothing of dead traces, of weights made from traces, of damping and
sparsity.

With --dot-test it also builds the operator, measures whether its two directions
are adjoint, and says what solver.damping and solver.sparsity amount to. With --ranks,
or where comm.grid gives the number of ranks, it says what each of them would hold and
do.

With --window it says what solving traveltimes in windows of the model costs
(kirchhoff.aperture, traveltime.margin): for eight places, spread over the survey, it
compares the times with those of the whole model. That takes the time and memory of
eight solves of the whole model at once.`,
		`  lsm check config.toml --dot-test
  lsm check config.toml --window
  lsm check config.toml --ranks 64`,
		func(ctx context.Context, path string) error { return checkJob(ctx, a, path, o) })
	cmd.Flags().IntVar(&o.ranks, "ranks", 0, "plan for this number of `RANKS`")
	cmd.Flags().BoolVar(&o.window, "window", false, "compare traveltimes with those of the whole model")
	cmd.Flags().BoolVar(&o.dotTest, "dot-test", false, "build the operator and run the dot test")
	return cmd
}

// garbage is how much check lets the heap grow before it collects, in per cent: most of the
// heap are long arrays, which are collected at no cost and fill the memory where they are not.
const garbage = 25

func checkJob(ctx context.Context, a *app, path string, o checkOptions) error {
	cfg, err := a.configure(path)
	if err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	here := *cfg
	if a.world.Size() == 1 { // whatever the grid of the run to come
		here.Comm.Grid = []int{0, 1}
	}
	warnings := 0
	show := func(f forecast.Finding) {
		if f.Level == "warning" {
			warnings++
		}
		a.report.Printf("%-8s %-16s %s\n", f.Level, f.Topic, f.Text)
		a.report.Event("finding", "level", f.Level, "topic", f.Topic, "text", f.Text)
	}
	refused := tryOutputs(a, cfg, show)
	j, err := a.open(&here, plan.Planning)
	if err != nil {
		return err
	}
	defer j.Close()
	f, err := forecast.New(j.Plan, cfg.Comm.Grid, plannedRanks(o.ranks, cfg.Comm.Grid, a.world.Size()))
	if err != nil {
		return err
	}
	if err := j.LoadStart(); err != nil {
		return err
	}
	for _, found := range f.Findings() {
		show(found)
	}
	memory := f.Memory.Check()
	rates, err := measureRates(ctx, j.Plan)
	if err != nil {
		return err
	}
	var reading time.Duration
	if j.Traces != nil {
		reading = j.Traces.Took
	}
	show(forecast.Finding{Topic: "time", Level: "ok", Text: f.Duration(rates, reading).String()})
	if o.window {
		if err := compareWindows(ctx, a, f, show); err != nil {
			return err
		}
	}
	if o.dotTest && memory == nil {
		if err := dotTest(ctx, a, j, show); err != nil {
			return err
		}
	}
	a.report.Printf("%s\n", english.Plural(warnings, "warning", ""))
	a.finish("warnings", warnings)
	return cmp.Or(memory, refused)
}

// measureRates measures the engine and the traveltimes on small problems of the same kind,
// which takes part of a second. The rates of a GPU are not known.
func measureRates(ctx context.Context, p *plan.Plan) (r forecast.Rates, err error) {
	if p.Card != nil {
		return r, nil
	}
	shape := []int{96, 96}
	if p.Image.Dim() == 3 {
		shape = []int{24, 24, 24}
	}
	k, err := bench.Kernel(ctx, bench.KernelSize{
		Shape: shape, Sources: 8, Receivers: 32, Samples: 500, Wavelet: len(p.Wavelet.Samples),
		Dynamic: p.Config.Kirchhoff.Dynamic, Engine: p.Engine, Threads: p.Threads, Runs: 1,
	})
	if err != nil {
		return r, err
	}
	r.Pair = k.Forward + k.Adjoint
	if p.Times.Domain() != nil {
		e, err := bench.Traveltimes(ctx, shape, 16*p.Threads, p.Threads, 1)
		if err != nil {
			return r, err
		}
		r.Point = e.PerSource / float64(e.Points)
	}
	return r, nil
}

// tryOutputs shows which outputs of a run cannot be written, and returns the first
// one's error.
func tryOutputs(a *app, cfg *config.Config, show func(forecast.Finding)) (refused error) {
	for _, out := range cfg.Writes() {
		if err := a.once(func() error { return job.CheckOutput(out.Path.File, a.force) }); err != nil {
			show(forecast.Finding{Topic: "output", Level: "warning", Text: err.Error()})
			refused = cmp.Or(refused, err)
		}
	}
	return refused
}

// plannedRanks is how many ranks to plan for: those asked for, those of the grid, or those
// of this run.
func plannedRanks(asked int, grid []int, here int) int {
	switch {
	case asked > 0:
		return asked
	case here == 1 && grid[0]*grid[1] > 1:
		return grid[0] * grid[1]
	}
	return here
}

// compareWindows says what windows of the model change in the traveltimes.
func compareWindows(ctx context.Context, a *app, f *forecast.Forecast, show func(forecast.Finding)) error {
	return a.once(func() error {
		cost, found, err := f.CompareWindows(ctx, a.report)
		if err != nil {
			return operator.BlameInput(err)
		}
		show(found)
		if cost != nil {
			a.finish("window_error", cost.Largest, "window_rms", cost.RMS, "window_columns", cost.Columns)
		}
		return nil
	})
}

// dotTest measures the adjointness of the run's own operator.
func dotTest(ctx context.Context, a *app, j *job.Job, show func(forecast.Finding)) error {
	if err := j.Build(ctx); err != nil {
		return err
	}
	e, err := j.DotTest(ctx)
	if err != nil {
		return err
	}
	limit := j.DotLimit()
	if !(e <= limit) {
		return status.Numerical(fmt.Errorf("dot test: %s: forward and adjoint differ by %.1e, must be at most %.0e", j.Info, e, limit))
	}
	show(forecast.Finding{Topic: "dot test", Level: "ok", Text: fmt.Sprintf("%s: %.1e (at most %.0e)", j.Info, e, limit)})
	a.finish("dot_error", e)
	if j.Traces == nil {
		return nil
	}
	texts, err := j.PenaltyTexts(ctx)
	for _, text := range texts {
		show(forecast.Finding{Topic: "penalty", Level: "ok", Text: text})
	}
	return err
}
