package job

import (
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/internal/operator"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
)

// band is that of solver.band on the columns of this rank; nil: none.
func band(op *operator.Operator) (*imaging.Band, error) {
	if !plan.Banded(op.Plan) {
		return nil, nil
	}
	times, err := plan.VerticalTimes(op.Plan, op.Share.Own, op.Plan.Inputs.ReadSlabs)
	if err != nil {
		return nil, err
	}
	nz := op.Plan.Image.Shape[op.Plan.Image.Dim()-1]
	return imaging.NewBand(op.Here.Device, plan.Pulse(op.Plan), times, len(times)/nz, nz, op.Here.Host.Threads())
}
