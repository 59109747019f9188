package main

import (
	"fmt"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

func newCheck(a *app) *cobra.Command {
	var dotTest bool
	var ranks int
	cmd := jobCommand("check CONFIG", "Everything that can be found wrong without computing",
		`Check reads the configuration and the files that it names, and says what it
finds: geometry, sampling, aliasing, the length of the records, memory, time. Nothing
is written. With --dot-test it also builds the operator and measures whether its
two directions are adjoint, and what solver.damping and solver.sparsity amount to.
With --ranks, or where comm.grid names their number, it says what each of so many
ranks would hold and do.`,
		`  lsm check config.toml --dot-test
  lsm check config.toml --ranks 64`,
		func(cmd *cobra.Command, path string) error {
			cfg, err := a.configure(path)
			if err != nil {
				return err
			}
			here := *cfg
			if a.world.Size() == 1 { // whatever the grid of the run to come
				here.Comm.Grid = []int{0, 1}
			}
			j, err := a.open(&here, job.Traces, cfg.Output.File, cfg.Output.Adjoint, cfg.Output.Residual)
			if err != nil {
				return err
			}
			defer j.Close()
			plan, err := j.Plan(cfg.Comm.Grid, plannedRanks(ranks, cfg.Comm.Grid, a.world.Size()))
			if err != nil {
				return err
			}
			if err := j.LoadStart(); err != nil {
				return err
			}
			warnings := 0
			show := func(f job.Finding) {
				if f.Level == "warning" {
					warnings++
				}
				a.report.Printf("%-8s %-16s %s\n", f.Level, f.Topic, f.Text)
				a.report.Event("finding", "level", f.Level, "topic", f.Topic, "text", f.Text)
			}
			for _, f := range j.Check(plan) {
				show(f)
			}
			if err := plan.Memory.Check(); err != nil {
				return err
			}
			d, err := j.EstimateDuration(cmd.Context(), plan)
			if err != nil {
				return err
			}
			show(job.Finding{Topic: "time", Level: "ok", Text: d.String()})
			if dotTest {
				if err := a.dotTest(cmd, j, show); err != nil {
					return err
				}
			}
			a.report.Printf("%s\n", english.Plural(warnings, "warning", ""))
			a.finish("warnings", warnings)
			return nil
		})
	cmd.Flags().IntVar(&ranks, "ranks", 0, "plan for so many `RANKS`")
	cmd.Flags().BoolVar(&dotTest, "dot-test", false, "build the operator and run the dot test")
	return cmd
}

// plannedRanks is how many ranks the run to come has: as asked, as its grid says,
// or as this one.
func plannedRanks(asked int, grid []int, here int) int {
	switch {
	case asked > 0:
		return asked
	case here == 1 && grid[0]*grid[1] > 1:
		return grid[0] * grid[1]
	}
	return here
}

// dotTest measures the adjointness of the run's own operator.
func (a *app) dotTest(cmd *cobra.Command, j *job.Job, show func(job.Finding)) error {
	op, err := j.Build(cmd.Context())
	if err != nil {
		return err
	}
	defer op.Engine.Close()
	e, err := j.DotTest(cmd.Context(), op)
	if err != nil {
		return err
	}
	limit := j.DotLimit()
	if !(e <= limit) {
		return status.Numerical(fmt.Errorf("dot test: %s: forward and adjoint differ by %.1e, must be at most %.0e", op.Info, e, limit))
	}
	show(job.Finding{Topic: "dot test", Level: "ok", Text: fmt.Sprintf("%s: %.1e (at most %.0e)", op.Info, e, limit)})
	a.finish("dot_error", e)
	texts, err := j.PenaltyTexts(cmd.Context(), op)
	for _, text := range texts {
		show(job.Finding{Topic: "penalty", Level: "ok", Text: text})
	}
	return err
}
