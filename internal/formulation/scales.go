package formulation

import (
	"context"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// scales are the scales of the operator and the data against which weights are measured.
type scales struct {
	migrated *dist.Vector // Aᵀb
	singular float64      // about the largest singular value of A
}

// measure finds the scales of a problem. It costs an adjoint and three applications of
// AᵀA; close frees the migrated image.
func (f *Formulation) measure(ctx context.Context) (m scales, err error) {
	if m.migrated, err = dist.NewVector(f.Setting.Device, f.Problem.Domain()); err != nil {
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
	return m, nil
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

// maxOverRanks is the largest value that a function has of an element of an image, or a stack of
// them, over all ranks, and 0 at least. NaN stays.
func (s *Setting) maxOverRanks(x *dist.Vector, f func(float64) float64) (float64, error) {
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

// dampingText says how damping, if used, compares with the largest singular value of the operator, 0 for
// one that is not known; "" without damping.
func (f *Formulation) dampingText(singular float64) string {
	const what = "largest singular value of the operator"
	weight := f.Setting.Config.Damping
	switch {
	case weight == 0:
		return ""
	case f.Setting.Config.PenaltyScale == "relative":
		return fmt.Sprintf("damping: weight %.4g, %g times the %s, about %.4g", weight*singular, weight, what, singular)
	case singular > 0:
		return fmt.Sprintf("damping: weight %g is %.3g times the %s, about %.4g: 1 %% of it would be %.3g", weight, weight/singular, what, singular, singular/100)
	}
	return fmt.Sprintf(`damping: weight %g, absolute; it counts beside the %s, which lsm check --dot-test shows; solver.penalty_scale = "relative" measures by it`, weight, what)
}

// DampingText compares damping with the largest singular value of the operator, at the price of
// about four iterations.
func DampingText(ctx context.Context, s *Setting) (string, error) {
	f, err := weighted(ctx, s)
	if err != nil {
		return "", err
	}
	m, err := f.measure(ctx)
	defer m.close()
	return f.dampingText(m.singular), err
}
