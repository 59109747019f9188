package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/internal/job"
)

func newMigrate(a *app) *cobra.Command {
	return traced(a, writes(a, jobCommand("migrate CONFIG", "The adjoint alone: the plain Kirchhoff image",
		func(ctx context.Context, path string) error {
			return a.produce(path, job.Traces, "image", func(j *job.Job, out string) (int64, error) { return migrate(ctx, a, j, out) })
		})))
}

func migrate(ctx context.Context, a *app, j *job.Job, out string) (predicted int64, err error) {
	j.WarnOfDoubts()
	op, err := j.Build(ctx)
	if err != nil {
		return 0, err
	}
	defer op.Engine.Close()
	a.report.Infof("%s", op.Info)
	d, err := j.Data(op)
	if err != nil {
		return 0, err
	}
	migrated, err := j.Migrate(ctx, op, d)
	if err != nil {
		return 0, err
	}
	return j.Memory().Total(), j.WriteAdjoint(out, migrated, a.source("migrate"))
}
