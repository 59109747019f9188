package job

import (
	"errors"
	"fmt"

	"github.com/google/renameio/v2"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Source says which program and command make an output.
type Source struct {
	Command, Version, Commit string
	Force                    bool // an existing output may be overwritten
}

// CheckOutput makes sure, before anything is computed, that path can be written.
func CheckOutput(path string, force bool) error { return FileError(h5.CheckOutput(path, force)) }

// FileError gives the error of a file its exit status.
func FileError(err error) error {
	switch {
	case err == nil || status.Code(err) != status.Other:
		return err
	case errors.Is(err, h5.ErrResource):
		return status.Resource(err)
	case errors.Is(err, h5.ErrOutput):
		return status.Usage(err)
	case errors.Is(err, h5.ErrInput):
		return status.Input(err)
	}
	return err
}

// WriteResult publishes the image of a least-squares run with its history.
func (j *Job) WriteResult(path string, r *Result, src Source) error {
	defer j.report.Time("write")()
	err := h5.WriteImage(path, &h5.Image{
		Grid: j.Image, Data: r.Image,
		ResidualNorm: r.History.Residual, GradientNorm: r.History.Gradient,
		Config: j.Config.TOML(),
	}, h5.WriteOptions{Force: src.Force, Attrs: j.provenance(src, string(r.Reason)).Attrs()})
	if err == nil {
		j.forget() // the checkpoints have served
	}
	return FileError(err)
}

// WriteAdjoint publishes a plain Kirchhoff image.
func (j *Job) WriteAdjoint(path string, image []float32, src Source) error {
	defer j.report.Time("write")()
	return FileError(h5.WriteImage(path, &h5.Image{
		Grid: j.Image, Data: image, Config: j.Config.TOML(),
	}, h5.WriteOptions{Force: src.Force, Attrs: j.Attrs(src)}))
}

// Attrs is the provenance of an output as file attributes.
func (j *Job) Attrs(src Source) []h5.Attr { return j.provenance(src, "").Attrs() }

func (j *Job) provenance(src Source, reason string) provenance.Record {
	r := provenance.New(src.Command)
	r.Version, r.Commit = src.Version, src.Commit
	r.Ranks, r.Communicator = 1, "self"
	r.Threads = j.Device.Threads()
	r.Engine = j.Engine
	r.Inputs = j.inputs
	r.Reason = reason
	return r
}

// remember hashes an input file as it was read, for the output's provenance and
// the checkpoint's plan.
func (j *Job) remember(role string, path config.Path) error {
	defer j.report.Time("hash inputs")()
	in, err := provenance.Hash(role, path.File)
	if err != nil {
		return status.Input(err)
	}
	in.Path = path.Text
	j.inputs = append(j.inputs, in)
	return nil
}

// WriteText publishes a small text file whole or not at all.
func WriteText(path, text string) error {
	if err := renameio.WriteFile(path, []byte(text), 0o644); err != nil {
		return status.Resource(fmt.Errorf("%s: %w", path, err))
	}
	return nil
}
