package migrate

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
)

func newMigrate(a *cli.App) *cobra.Command {
	return cli.Traced(a, cli.Writes(a, cli.JobCommand("migrate CONFIG", "Kirchhoff migration: the adjoint of the operator alone",
		`Migrate applies the adjoint of the modelling operator to the traces of the survey. This is
plain Kirchhoff migration and takes a fraction of the time of lsm run. It writes the image to
output.file.`,
		`  lsm migrate config.toml -o adjoint.h5`,
		a.Produce(pipeline.NeedTracesOnce, "image", func(ctx context.Context, j *pipeline.Job, out string) error {
			return migrate(ctx, a, j, out)
		}))))
}

func migrate(ctx context.Context, a *cli.App, j *pipeline.Job, out string) error {
	j.WarnOfDoubts()
	op, err := j.Build(ctx)
	if err != nil {
		return err
	}
	a.Report.Infof("%s", op.Info)
	d, err := j.Data()
	if err != nil {
		return err
	}
	migrated, err := op.Migrate(ctx, d)
	if err != nil {
		return err
	}
	if err := j.WriteAdjoint(out, migrated, a.Source("migrate")); err != nil {
		return err
	}
	tellHalves(a, j, migrated)
	return nil
}
