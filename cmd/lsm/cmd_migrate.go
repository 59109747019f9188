package main

import (
	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/internal/job"
)

func newMigrate(a *app) *cobra.Command {
	return a.traced(a.writes(jobCommand("migrate CONFIG", "The adjoint alone: the plain Kirchhoff image",
		`Migrate applies the adjoint of the modelling operator to the survey's traces:
plain Kirchhoff migration, in a fraction of the time of a least-squares run. The
image goes to output.file.`,
		`  lsm migrate config.toml -o adjoint.h5`,
		func(cmd *cobra.Command, path string) error {
			cfg, err := a.configure(path)
			if err != nil {
				return err
			}
			j, err := a.open(cfg, job.Traces, cfg.Output.File)
			if err != nil {
				return err
			}
			defer j.Close()
			j.WarnOfDoubts()
			op, err := j.Build(cmd.Context())
			if err != nil {
				return err
			}
			defer op.Engine.Close()
			a.report.Infof("%s", op.Info)
			d, err := j.Data(op)
			if err != nil {
				return err
			}
			migrated, err := j.Migrate(cmd.Context(), op, d)
			if err != nil {
				return err
			}
			out := cfg.Output.File.File
			if err := j.WriteAdjoint(out, migrated, a.source(j, "migrate")); err != nil {
				return err
			}
			a.report.Printf("image: %s\n", out)
			a.finish("output", out)
			return a.closing(j.Memory().Total())
		})))
}
