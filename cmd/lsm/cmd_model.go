package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
)

func newModel(a *app) *cobra.Command {
	cmd := writes(a, jobCommand("model CONFIG --reflectivity FILE", "The forward alone: demigrate an image into a survey",
		`Model predicts the traces of the survey's geometry for a given image
(demigration) and writes them as a survey file to output.file. The survey of the
configuration gives sources, receivers, sampling and wavelet; it needs no data.`,
		`  lsm model config.toml --reflectivity image.h5 -o predicted.h5`,
		a.produce(plan.Geometry, "survey", func(ctx context.Context, j *job.Job, out string) error {
			return model(ctx, a, j, out)
		})))
	cmd.Flags().StringVar(&a.reflectivity, "reflectivity", "", "image `FILE` to demigrate: /image or /reflectivity on the image grid")
	require(cmd, "reflectivity")
	notEmpty(cmd, "reflectivity", "an image file")
	return cmd
}

func model(ctx context.Context, a *app, j *job.Job, out string) error {
	image, err := j.OpenImage("reflectivity", config.Path{Text: a.reflectivity, File: a.reflectivity})
	if err != nil {
		return err
	}
	if s := j.Config.Survey; j.Config.Solver.EstimatesWavelet() {
		a.report.Warn(fmt.Sprintf("solver.wavelet = \"estimate\": traces are predicted with the wavelet of %s, not with one found beside an image, which survey.wavelet_file would name", s.WaveletFile()))
	}
	if err := j.Build(ctx); err != nil {
		return err
	}
	a.report.Infof("%s", j.Info)
	return j.WritePredicted(ctx, out, image.Read, a.source("model"))
}
