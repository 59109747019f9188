package job

import (
	"context"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// below is the diagonal of S (plan.Surface), nil where it is the identity.
func (j *Job) below(l *dist.Layout) (*dist.Vector, error) {
	if j.Surface == nil || j.s != nil {
		return j.s, nil
	}
	v, err := j.diagonalOf(l, j.Surface.Weight)
	j.s = v
	return v, err
}

// diagonalOf is an image vector of the values of f at every point, the same for each
// class.
func (j *Job) diagonalOf(l *dist.Layout, f func(point int) float64) (*dist.Vector, error) {
	if l.Parts != nil {
		one, err := j.diagonalOf(l.Parts[0], f)
		return &dist.Vector{Layout: l, Parts: slices.Repeat([]*dist.Vector{one}, len(l.Parts))}, err
	}
	v, err := dist.NewVector(j.Device, l)
	if err != nil {
		return nil, err
	}
	w := make([]float32, l.N)
	for n := range w {
		w[n] = float32(f(l.Off + n))
	}
	return v, device.Upload(v.Buf, w)
}

// leastStart is the least weight of S at which the start model is not left at zero.
const leastStart = 1e-3

// keepBelow changes variables to x, the image being S x.
func (j *Job) keepBelow(_ context.Context, f *formulation) error {
	s, err := j.below(f.problem.Domain())
	if err != nil || s == nil {
		return err
	}
	if f.start != nil {
		inverse, err := j.diagonalOf(s.Layout, func(point int) float64 {
			if w := j.Surface.Weight(point); w >= leastStart {
				return 1 / w
			}
			return 0
		})
		if err != nil {
			return err
		}
		defer inverse.Free()
		if err := dist.Multiply(f.start, inverse); err != nil {
			return err
		}
	}
	return f.change(s)
}

// cutAbove multiplies an image by S, in place.
func (j *Job) cutAbove(m *dist.Vector) error {
	s, err := j.below(m.Layout)
	if err != nil || s == nil {
		return err
	}
	return dist.Multiply(m, s)
}
