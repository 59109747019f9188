package migrate

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
)

func newModel(a *cli.App) *cobra.Command {
	cmd := cli.Writes(a, cli.JobCommand("model CONFIG --reflectivity FILE", "Predict traces from an image (demigration)",
		`Model predicts the traces that an image gives (demigration) and writes them as a survey file
to output.file. Sources, receivers, sampling and wavelet come from the survey of the
configuration, which needs no traces.`,
		`  lsm model config.toml --reflectivity image.h5 -o predicted.h5`,
		a.Produce(pipeline.NeedGeometry, "survey", func(ctx context.Context, j *pipeline.Job, out string) error {
			return model(ctx, a, j, out)
		})))
	cmd.Flags().StringVar(&a.Reflectivity, "reflectivity", "", "image `FILE` to demigrate: /image or /reflectivity on the image grid")
	cli.Require(cmd, "reflectivity")
	cli.NotEmpty(cmd, "reflectivity", "an image file")
	return cmd
}

func model(ctx context.Context, a *cli.App, j *pipeline.Job, out string) error {
	image, err := j.OpenImage("reflectivity", config.Path{Text: a.Reflectivity, File: a.Reflectivity})
	if err != nil {
		return err
	}
	op, err := j.Build(ctx)
	if err != nil {
		return err
	}
	a.Report.Infof("%s", op.Info)
	return j.WritePredicted(ctx, out, image.ReadReflectivity, a.Source("model"))
}
