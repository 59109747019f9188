package formulation

import (
	"context"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// scales are the scales of the operator and the data against which weights are measured.
type scales struct {
	migrated *dist.Vector // Aᵀb
	singular float64      // about the largest singular value of A
	image    float64      // the largest magnitude in Aᵀb: with a sparsity of it and more the image is zero
	together float64      // the longest vector of the classes of Aᵀb at a point, where that counts
}

// measure finds the scales of a problem. It costs an adjoint and up to ten applications
// of AᵀA; close frees the migrated image.
func (f *Formulation) measure(ctx context.Context) (m scales, err error) {
	if m.migrated, err = dist.NewVector(f.Device, f.Problem.Domain()); err != nil {
		return m, err
	}
	if err = f.Problem.Migrate(ctx, m.migrated); err != nil {
		return m, err
	}
	lambda, err := solver.LargestEigenvalue(ctx, f.Problem, m.migrated)
	if err != nil {
		return m, err
	}
	m.singular = math.Sqrt(lambda)
	if m.image, err = f.most(m.migrated, math.Abs); err == nil && dual(f.Config) && f.Config.GroupSparsity > 0 {
		m.together, err = f.longest(m.migrated)
	}
	return m, err
}

func (m *scales) close() {
	if m.migrated != nil {
		m.migrated.Free()
		m.migrated = nil
	}
}

// again runs a step that applies the operator, twice if need be.
func (s *Setting) again(step func() error) error {
	if s.Again == nil {
		return step()
	}
	return s.Again(func(bool) error { return step() })
}

// most is the largest value that a function has of an element of an image, or a stack of
// them, over all ranks, and 0 at least. NaN stays.
func (s *Setting) most(x *dist.Vector, f func(float64) float64) (float64, error) {
	peak := []float64{0}
	var err error
	for _, p := range x.Rows() {
		if err == nil {
			err = each(nil, p, func(_ int, v float64) float64 {
				peak[0] = max(peak[0], f(v))
				return 0
			})
		}
	}
	if err := comm.Together(s.World, err); err != nil {
		return 0, err
	}
	err = x.Rows()[0].Layout.Shards.Host().AllReduce(peak, comm.Max)
	return peak[0], err
}

// Penalised reports whether a weight in units of solver.penalty_scale is used.
func Penalised(c config.Solver) bool {
	f := &Formulation{Setting: &Setting{Config: c}}
	return c.Damping > 0 || len(f.penalised(scales{})) > 0
}

// dual reports whether the method uses solver.total_variation and solver.group_sparsity.
func dual(c config.Solver) bool {
	return solver.Takes(c.Method, func(m solver.Info) bool { return m.Dual })
}

// penalty is a weight that is used.
type penalty struct {
	name   string
	weight float64
	to     *float64 // where it goes, in units of data² per image
	scale  float64  // of relative weights
	what   string   // the scale is
}

// penalised are the penalties that the method has and the configuration uses.
func (f *Formulation) penalised(m scales) (list []penalty) {
	c, to := f.Config, &f.penalties
	sparse := solver.Takes(c.Method, func(m solver.Info) bool { return m.Sparse })
	const largest = "largest value of the migrated image"
	for _, p := range []struct {
		taken bool
		penalty
	}{
		{sparse, penalty{"sparsity", c.Sparsity, &to.sparsity, m.image, largest}},
		{dual(c), penalty{"total variation", c.TotalVariation, &to.variation, m.image, largest}},
		{dual(c), penalty{"sparsity over classes", c.GroupSparsity, &to.groups, m.together, "largest length over the classes of a point of the migrated images"}},
	} {
		if p.taken && p.weight > 0 {
			list = append(list, p.penalty)
		}
	}
	return list
}

// penaltyTexts say how damping and penalties, if used, compare with the scales.
func (f *Formulation) penaltyTexts(m scales) (texts []string) {
	c := f.Config
	if c.Damping > 0 {
		texts = append(texts, "damping: "+penaltyText(c.PenaltyScale, c.Damping, m.singular, "largest singular value of the operator"))
	}
	for _, p := range f.penalised(m) {
		texts = append(texts, p.name+": "+penaltyText(c.PenaltyScale, p.weight, p.scale, p.what))
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

// PenaltyTexts compare damping and penalties with the scales of the problem,
// at the price of up to ten iterations.
func PenaltyTexts(ctx context.Context, s *Setting) ([]string, error) {
	f, err := weighted(ctx, s)
	if err != nil {
		return nil, err
	}
	m, err := f.measure(ctx)
	defer m.close()
	return f.penaltyTexts(m), err
}
