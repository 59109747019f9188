package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

func newCheck(a *app) *cobra.Command {
	var dotTest bool
	cmd := jobCommand("check CONFIG", "Everything that can be found wrong without computing",
		`Check reads the configuration and the files that it names, and says what it
finds: geometry, sampling, aliasing, the length of the records, memory, time. Nothing
is written. With --dot-test it also builds the operator and measures whether its
two directions are adjoint.`,
		`  lsm check config.toml --dot-test`,
		func(cmd *cobra.Command, path string) error {
			cfg, err := a.configure(path)
			if err != nil {
				return err
			}
			j, err := a.open(cfg, job.Traces, cfg.Output.File, cfg.Output.Adjoint)
			if err != nil {
				return err
			}
			defer j.Close()
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
			for _, f := range j.Check() {
				show(f)
			}
			if err := j.CheckMemory(); err != nil {
				return err
			}
			d, err := j.EstimateDuration(cmd.Context())
			if err != nil {
				return err
			}
			show(job.Finding{Topic: "time", Level: "ok", Text: d.String()})
			if dotTest {
				if err := a.dotTest(cmd, j, show); err != nil {
					return err
				}
			}
			a.report.Printf("%d warnings\n", warnings)
			a.finish("warnings", warnings)
			return nil
		})
	cmd.Flags().BoolVar(&dotTest, "dot-test", false, "build the operator and run the dot test")
	return cmd
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
	return nil
}
