package job

import (
	"context"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// scales are the operator's and the data's, by which weights are measured.
type scales struct {
	migrated *dist.Vector // Aᵀb
	singular float64      // about the largest singular value of A
	image    float64      // the largest magnitude in Aᵀb: with a sparsity of it and more the image is zero
}

// measure finds the scales of a formulation whose traces are held. It costs an adjoint
// and up to ten applications of AᵀA; close frees the migrated image.
func (j *Job) measure(ctx context.Context, f *formulation) (s scales, err error) {
	if s.migrated, err = dist.NewVector(j.Device, f.problem.Domain()); err != nil {
		return s, err
	}
	if _, err = f.problem.Gradient(ctx, s.migrated, nil); err != nil {
		return s, err
	}
	lambda, err := solver.LargestEigenvalue(ctx, f.problem, s.migrated)
	if err != nil {
		return s, err
	}
	s.singular = math.Sqrt(lambda)
	s.image, err = j.largest(s.migrated)
	return s, err
}

func (s *scales) close() {
	if s.migrated != nil {
		s.migrated.Free()
	}
}

// largest is the largest magnitude in an image, or a stack of them, over all ranks.
func (j *Job) largest(x *dist.Vector) (float64, error) {
	const most = 1 << 16 // elements on the host at a time
	peak := []float64{0}
	err := func() error {
		for _, p := range parts(x) {
			for lo := 0; lo < p.Layout.N; lo += most {
				v := make([]float64, min(most, p.Layout.N-lo))
				if err := device.Download(v, p.Buf.Slice(lo, len(v))); err != nil {
					return err
				}
				for _, e := range v {
					peak[0] = max(peak[0], math.Abs(e))
				}
			}
		}
		return nil
	}()
	if err := comm.Together(j.World, err); err != nil {
		return 0, err
	}
	err = j.blocks.Host().AllReduce(peak, comm.Max)
	return peak[0], err
}

// relativePenalty reports whether damping and sparsity are relative to the problem's scales.
func (j *Job) relativePenalty() bool {
	s := j.Config.Solver
	return s.PenaltyScale == "relative" && (s.Damping > 0 || j.Sparse())
}

// penalties turns solver.damping and solver.sparsity into the problem's own units and
// says what they are there.
func (j *Job) penalties(s scales) (damping, sparsity float64) {
	for _, text := range j.penaltyTexts(s) {
		j.Report.Infof("%s", text)
	}
	c := j.Config.Solver
	if c.PenaltyScale == "relative" {
		return c.Damping * s.singular, c.Sparsity * s.image
	}
	return c.Damping, c.Sparsity
}

// penaltyTexts say how damping and sparsity, where they are used, compare with the scales.
func (j *Job) penaltyTexts(s scales) (texts []string) {
	c := j.Config.Solver
	if c.Damping > 0 {
		texts = append(texts, "damping: "+penaltyText(c.PenaltyScale, c.Damping, s.singular, "largest singular value of the operator"))
	}
	if j.Sparse() {
		texts = append(texts, "sparsity: "+penaltyText(c.PenaltyScale, c.Sparsity, s.image, "largest value of the migrated image"))
	}
	return texts
}

// penaltyText says how a weight compares with its scale, 0 for one that is not known.
func penaltyText(kind string, weight, scale float64, what string) string {
	switch {
	case kind == "relative":
		return fmt.Sprintf("weight %.4g, %g times the %s, about %.4g", weight*scale, weight, what, scale)
	case scale > 0:
		return fmt.Sprintf("weight %g is %.3g times the %s, about %.4g: 1 %% of it would be %.3g", weight, weight/scale, what, scale, scale/100)
	}
	return fmt.Sprintf(`weight %g, absolute; it counts beside the %s, which lsm check --dot-test shows; solver.penalty_scale = "relative" measures by it`, weight, what)
}

// PenaltyTexts compare solver.damping and solver.sparsity with the scales of the problem,
// at the price of up to ten iterations; nil where neither is used, or where traces are
// streamed.
func (j *Job) PenaltyTexts(ctx context.Context, op *Operator) (texts []string, err error) {
	if j.Held.Stream || j.Config.Solver.Damping == 0 && !j.Sparse() {
		return nil, nil
	}
	d, err := j.Data(op)
	if err != nil {
		return nil, err
	}
	f, err := j.weightedProblem(op, d)
	if err != nil {
		return nil, err
	}
	if err := j.keepBelow(ctx, f); err != nil {
		return nil, err
	}
	s, err := j.measure(ctx, f)
	defer s.close()
	if err != nil {
		return nil, err
	}
	return j.penaltyTexts(s), nil
}
