package pipeline

import (
	"github.com/kirchhoff-lsm/lsm/imaging"
)

// band is that of solver.band on the columns of this rank; nil: none.
func newBand(op *Operator) (*imaging.Band, error) {
	if !Banded(op.Plan.Config.Solver, op.Plan.Geometry.Image) {
		return nil, nil
	}
	times, err := op.Plan.Times.VerticalTimes(op.Plan.Geometry.Image, op.Share.Own, op.Plan.Inputs.ReadSlabs)
	if err != nil {
		return nil, err
	}
	nz := op.Plan.Geometry.Image.Shape[op.Plan.Geometry.Image.Dim()-1]
	return imaging.NewBand(op.Here.Device, Pulse(op.Plan.Geometry.Survey.Wavelet), times, len(times)/nz, nz, op.Here.Host.Threads())
}
