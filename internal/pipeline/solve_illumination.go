package pipeline

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/internal/formulation"
)

// weighClasses makes the image of a result the mean of its classes by their illumination,
// with image.gather_normalize, and keeps their illumination. Migrated classes are first divided by it.
func (op *Operator) weighClasses(ctx context.Context, r *Result, migrated bool) error {
	if !op.plan.Classes.Normalized() {
		return nil
	}
	defer op.process.Ranks.Report.Time("illumination")()
	s, err := op.setting(nil)
	if err != nil {
		return err
	}
	var light *formulation.Illumination
	err = op.process.Again(func(bool) error {
		light, err = s.Illumination(ctx)
		return op.process.Ranks.Together(err)
	})
	if err != nil {
		return err
	}
	if migrated {
		err = light.Normalize(r.Classes)
	}
	if err == nil {
		r.Image, err = light.Mean(r.Classes)
	}
	if err == nil {
		r.Light, err = light.Shares()
	}
	return op.process.Ranks.Together(err)
}
