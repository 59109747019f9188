package migrate

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
)

func newTraveltime(a *cli.App) *cobra.Command {
	var gradient bool
	cmd := cli.Writes(a, cli.JobCommand("traveltime CONFIG", "Write the traveltimes to a table file",
		`Traveltime computes the one-way times from each source and receiver to each image point and
writes them to output.file as a table file. With several arrivals the file also holds their
amplitudes, gradients and phase shifts. You can inspect or change the tables and use them with
traveltime.method = "table". If you change a dataset, remove its digest; docs/format.md shows
how.`,
		`  lsm traveltime config.toml -o times.h5`,
		a.Produce(pipeline.NeedGeometry, "tables", func(ctx context.Context, j *pipeline.Job, out string) error {
			return j.WriteTimes(ctx, out, gradient, a.Source("traveltime"))
		})))
	cmd.Flags().BoolVar(&gradient, "gradient", false, "also write the gradients of the times, s/m")
	return cmd
}
