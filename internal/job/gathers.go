package job

import (
	"context"
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// ModelGathers applies the forward to the images by class of an image file, on the
// job's grid and of its classes, and returns the predicted traces.
func (j *Job) ModelGathers(ctx context.Context, op *Operator, path string) (*dist.Vector, error) {
	var r *h5.GatherReader
	err := j.AtRoot(func() (err error) {
		if r, err = h5.OpenGathers(path); err != nil {
			return err
		}
		want := j.Classes.Gathers()
		if r == nil || !r.Grid().Equal(j.Image) || !slices.Equal(r.Centers, want.Centers) || !slices.Equal(r.Limits, want.Limits) {
			return status.Input(fmt.Errorf("%s: has no /gathers of the run's grid and classes", path))
		}
		return nil
	})
	if r != nil {
		defer r.Close()
	}
	if err != nil {
		return nil, err
	}
	m, err := dist.NewVector(j.Device, op.Domain())
	if err != nil {
		return nil, err
	}
	if err := j.Scatter(m, func(first int, part []float32) error { return r.Read(part, first) }); err != nil {
		return nil, err
	}
	return j.forward(ctx, op, m)
}

// HasGathers reports whether the job makes images by class.
func (j *Job) HasGathers() bool { return j.Classes.N > 0 }
