package migrate

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
)

func newTraveltime(a *cli.App) *cobra.Command {
	var gradient bool
	cmd := cli.Writes(a, cli.JobCommand("traveltime CONFIG", "The traveltime tables alone, as a table file",
		`Traveltime computes the one-way times from every source and receiver to every
image point and writes them as a table file to output.file. You can look at such a
file, change it, and use it with traveltime.method = "table". Of several arrivals it
holds amplitudes, gradients and turns of phase too. Remove the digest of a
dataset that you change: docs/format.md shows how.`,
		`  lsm traveltime config.toml -o times.h5`,
		a.Produce(pipeline.NeedGeometry, "tables", func(ctx context.Context, j *pipeline.Job, out string) error {
			return j.WriteTimes(ctx, out, gradient, a.Source("traveltime"))
		})))
	cmd.Flags().BoolVar(&gradient, "gradient", false, "also write the gradients of the times, s/m")
	return cmd
}
