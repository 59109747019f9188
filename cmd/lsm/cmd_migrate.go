package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
)

func newMigrate(a *app) *cobra.Command {
	return traced(a, writes(a, jobCommand("migrate CONFIG", "The adjoint alone: the plain Kirchhoff image",
		`Migrate applies the adjoint of the modelling operator to the survey's traces:
plain Kirchhoff migration, in a fraction of the time of a least-squares run. The
image goes to output.file.`,
		`  lsm migrate config.toml -o adjoint.h5`,
		a.produce(plan.Traces, "image", func(ctx context.Context, j *job.Job, out string) error {
			return migrate(ctx, a, j, out)
		}))))
}

func migrate(ctx context.Context, a *app, j *job.Job, out string) error {
	j.WarnOfDoubts()
	if err := j.Build(ctx); err != nil {
		return err
	}
	a.report.Infof("%s", j.Info)
	d, err := j.Data()
	if err != nil {
		return err
	}
	migrated, err := j.Migrate(ctx, d)
	if err != nil {
		return err
	}
	return j.WriteAdjoint(out, migrated, a.source("migrate"))
}
