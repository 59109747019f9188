package pipeline

import (
	"github.com/kirchhoff-lsm/lsm/imaging"
)

// band is that of solver.band on the columns of this rank; nil: none.
func newBand(op *Operator) (*imaging.Band, error) {
	if !Banded(op.Plan) {
		return nil, nil
	}
	times, err := VerticalTimes(op.Plan, op.Share.Own, op.Plan.Inputs.ReadSlabs)
	if err != nil {
		return nil, err
	}
	nz := op.Plan.Image.Shape[op.Plan.Image.Dim()-1]
	return imaging.NewBand(op.Here.Device, Pulse(op.Plan), times, len(times)/nz, nz, op.Here.Host.Threads())
}
