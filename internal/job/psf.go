package job

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// PSF applies AᵀA to an image of ones on a lattice of points and zeros elsewhere: whole
// on rank 0 and nil on the others.
func (j *Job) PSF(ctx context.Context, op *Operator) ([]float32, error) {
	m, err := dist.NewVector(j.Device, op.Domain())
	if err != nil {
		return nil, err
	}
	defer m.Free()
	d, err := dist.NewVector(j.Device, op.Range())
	if err != nil {
		return nil, err
	}
	defer d.Free()
	if err := device.Upload(m.Buf, j.lattice(m.Layout)); err != nil {
		return nil, err
	}
	if err := op.Apply(ctx, d, m); err != nil {
		return nil, err
	}
	if err := op.ApplyAdjoint(ctx, m, d); err != nil {
		return nil, err
	}
	return j.Whole(m)
}

// lattice is this rank's share of the image of points.
func (j *Job) lattice(l *dist.Layout) []float32 {
	step, shape := j.PSFSpacing(), j.Image.Shape
	x := make([]float32, l.N)
	for i := range x {
		x[i] = 1
		at := l.Off + i
		for a := len(shape) - 1; a >= 0; a-- {
			if at%shape[a]%step[a] != min(step[a], shape[a])/2 {
				x[i] = 0
			}
			at /= shape[a]
		}
	}
	return x
}
