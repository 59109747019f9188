package pipeline

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/dist"

	"github.com/kirchhoff-lsm/lsm/internal/wavelet"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// FitWavelet finds the wavelet, of the length and time zero of a given one, with which an image on the
// job's grid predicts the weighted traces d best, with a ridge relative to the mean of the diagonal of
// the normal equations. The plan is one of spikes. It is collective.
func (op *Operator) FitWavelet(ctx context.Context, d *dist.Vector, image PointReader, given survey.Wavelet, ridge float64) (*wavelet.Fit, error) {
	x, err := op.readBelowSurface(image)
	if err != nil {
		return nil, err
	}
	s, err := op.setting(d)
	if err != nil {
		return nil, err
	}
	if d, err = s.WeightedData(); err != nil {
		return nil, err
	}
	w := &dist.Work{Ctx: ctx}
	var spikes *dist.Vector
	w.New(op.process.Device, op.lifted.Range(), &spikes)
	w.Apply(op.lifted, spikes, x)
	if w.Err != nil {
		return nil, numericalFailure(w.Err)
	}
	zero, taps := kirchhoff.LinearTaps(TapsOf(op.plan.Config.Kirchhoff, op.plan.Geometry, given))
	of := wavelet.Signature{Spikes: spikes, Data: d, Weights: s.Weights, NT: op.plan.Geometry.Survey.NT, Threads: op.process.Host.Threads(), Taps: taps, Zero: zero}
	fit, err := of.Fit(given, ridge)
	return fit, numericalFailure(comm.Together(op.process.Ranks.World, err))
}
