package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
)

func newTraveltime(a *app) *cobra.Command {
	var gradient bool
	cmd := writes(a, jobCommand("traveltime CONFIG", "The traveltime tables alone, as a table file",
		func(ctx context.Context, path string) error {
			return a.produce(path, plan.Geometry, "tables", func(j *job.Job, out string) (int64, error) {
				return 0, j.WriteTimes(ctx, out, gradient, a.source("traveltime"))
			})
		}))
	cmd.Flags().BoolVar(&gradient, "gradient", false, "also write the gradients of the times, s/m")
	return cmd
}
