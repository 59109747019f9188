package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

func newModel(a *app) *cobra.Command {
	cmd := jobCommand("model CONFIG --reflectivity FILE", "The forward alone: demigrate an image into a survey",
		`Model predicts the traces of the survey's geometry for a given image
(demigration) and writes them as a survey file to output.file. The survey of the
configuration gives sources, receivers, sampling and wavelet; it needs no data.`,
		`  lsm model config.toml --reflectivity image.h5 -o predicted.h5`,
		func(cmd *cobra.Command, path string) error {
			cfg, err := a.configure(path)
			if err != nil {
				return err
			}
			if a.reflectivity == "" {
				return status.Usage(errors.New("model: --reflectivity is empty, want the path of an image file"))
			}
			j, err := a.open(cfg, job.Geometry, cfg.Output.File)
			if err != nil {
				return err
			}
			defer j.Close()
			image, err := j.ReadImage("reflectivity", config.Path{Text: a.reflectivity, File: a.reflectivity})
			if err != nil {
				return err
			}
			op, err := j.Build(cmd.Context())
			if err != nil {
				return err
			}
			defer op.Engine.Close()
			a.report.Infof("%s", op.Info)
			out := cfg.Output.File.File
			if err := j.WritePredicted(cmd.Context(), out, op, image, a.source(j, "model")); err != nil {
				return err
			}
			a.report.Printf("survey: %s\n", out)
			a.finish("output", out)
			return a.closing(j.Memory().Total())
		})
	cmd.Flags().StringVar(&a.reflectivity, "reflectivity", "", "image `FILE` to demigrate: /image or /reflectivity on the image grid")
	if err := cmd.MarkFlagRequired("reflectivity"); err != nil {
		panic(err)
	}
	return a.writes(cmd)
}
