package job

import (
	"context"
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/inputs"
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
	err = dist.ScatterEach(m, gatherElements, func(first int, part device.Buf) error {
		v := make([]float32, part.Len())
		if err := r.Read(v, first); err != nil {
			return err
		}
		return device.Upload(part, v)
	})
	if err != nil {
		return nil, inputs.FileError(err)
	}
	return j.forward(ctx, op, m)
}

// HasGathers reports whether the job makes images by class.
func (j *Job) HasGathers() bool { return j.Classes.N > 0 }

// parts are the images of a vector: one for each class, or itself.
func parts(x *dist.Vector) []*dist.Vector {
	if x.Parts != nil {
		return x.Parts
	}
	return []*dist.Vector{x}
}

// stack is the sum over classes times a factor; an image of all is itself.
func (j *Job) stack(x *dist.Vector, factor float64) (*dist.Vector, error) {
	if x.Parts == nil {
		return x, nil
	}
	sum, err := dist.NewVector(j.Device, x.Parts[0].Layout)
	if err != nil {
		return nil, err
	}
	for _, part := range x.Parts {
		if err := dist.Axpby(factor, part, 1, sum); err != nil {
			return nil, err
		}
	}
	return sum, nil
}
