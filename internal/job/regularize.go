package job

import (
	"context"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/imaging"
)

// addRows adds the rows of solver.damping and solver.regularization, and finds the weight
// of the sparsity.
func (j *Job) addRows(ctx context.Context, f *formulation) error {
	var s scales
	defer s.close()
	if j.relativePenalty() || j.Regularizes() {
		end := j.Report.Time("scales")
		var err error
		s, err = j.measure(context.WithoutCancel(ctx), f)
		end()
		if err != nil {
			return err
		}
	}
	var rows []dist.Operator
	f.damping, f.sparsity = j.penalties(s)
	if d := f.damping; d > 0 {
		rows = append(rows, dist.Scale(d, dist.Identity(f.problem.Domain())))
		f.rows += d * d
	}
	if j.Regularizes() {
		r, err := j.regularization(s, f)
		if err != nil {
			return err
		}
		rows = append(rows, r)
	}
	var err error
	f.problem, err = f.problem.AddRows(rows...)
	return err
}

// regularization is the row r √λ R of the problem: R with derivatives in grid steps, λ
// the largest eigenvalue of AᵀA.
func (j *Job) regularization(s scales, f *formulation) (dist.Operator, error) {
	defer j.Report.Time("regularization")()
	cfg := j.Config.Solver
	r, err := j.roughness(cfg.Regularization, s.migrated)
	if err != nil {
		return nil, err
	}
	weight := cfg.RegWeight * s.singular
	j.Report.Infof("regularization: %s with weight %.4g, %g times the largest singular value of the operator, about %.4g",
		cfg.Regularization, weight, cfg.RegWeight, s.singular)
	f.rows += rowsDiagonal(cfg.Regularization, j.Image.Dim(), weight)
	return dist.Scale(weight, r), nil
}

// roughness is R, for the dips of a migrated image where it needs them: the same in
// every class.
func (j *Job) roughness(kind string, migrated *dist.Vector) (dist.Operator, error) {
	stack, err := j.stack(migrated, 1)
	if err != nil {
		return nil, err
	}
	r, err := j.roughnessOf(kind, stack)
	if n := j.Classes.N; err == nil && n > 0 {
		r = dist.BlockDiag(slices.Repeat([]dist.Operator{r}, n)...)
	}
	return r, err
}

func (j *Job) roughnessOf(kind string, migrated *dist.Vector) (dist.Operator, error) {
	l := migrated.Layout
	switch kind {
	case "gradient":
		return dist.Gradient(l)
	case "laplacian":
		return dist.Laplacian(l)
	}
	directions, err := j.layers(migrated)
	if err != nil {
		return nil, err
	}
	return dist.Steered(directions...)
}

// layers are the directions of the layers of an image, which rank 0 estimates.
func (j *Job) layers(image *dist.Vector) ([][]*dist.Vector, error) {
	defer j.Report.Time("dips")()
	whole, err := j.wholeImage(image)
	if err != nil {
		return nil, err
	}
	dim := j.Image.Dim()
	found := make([][][]float32, dim-1)
	if j.Root() {
		found = imaging.Layers(j.Image.Shape, whole, j.Host.Threads())
	}
	out := make([][]*dist.Vector, dim-1)
	for k := range out {
		for a := range dim {
			var component []float32
			if j.Root() {
				component = found[k][a]
			}
			v, err := j.spreadImage(component, image.Layout)
			if err != nil {
				return nil, err
			}
			out[k] = append(out[k], v)
		}
	}
	return out, nil
}

// spreadImage gives every rank its share of an image that rank 0 has.
func (j *Job) spreadImage(image []float32, l *dist.Layout) (*dist.Vector, error) {
	v, err := dist.NewVector(j.Device, l)
	if err != nil {
		return nil, err
	}
	return v, dist.ScatterEach(v, gatherElements, func(first int, part device.Buf) error {
		return device.Upload(part, image[first:first+part.Len()])
	})
}
