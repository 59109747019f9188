package main

import (
	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/internal/job"
)

func newTraveltime(a *app) *cobra.Command {
	var gradient bool
	cmd := jobCommand("traveltime CONFIG", "The traveltime tables alone, as a table file",
		`Traveltime computes the one-way times from every source and receiver to every
image point and writes them as a table file to output.file. Such a file can be
looked at, changed, and given back by traveltime.method = "table". What is changed
loses its digest: docs/format.md shows how.`,
		`  lsm traveltime config.toml -o times.h5`,
		func(cmd *cobra.Command, path string) error {
			cfg, err := a.configure(path)
			if err != nil {
				return err
			}
			j, err := a.open(cfg, job.Geometry, cfg.Output.File)
			if err != nil {
				return err
			}
			defer j.Close()
			out := cfg.Output.File.File
			if err := j.WriteTimes(cmd.Context(), out, gradient, a.source(j, "traveltime")); err != nil {
				return err
			}
			a.report.Printf("tables: %s\n", out)
			a.finish("output", out)
			return a.closing(0)
		})
	cmd.Flags().BoolVar(&gradient, "gradient", false, "write the gradients of the times, s/m, as well")
	return a.writes(cmd)
}
