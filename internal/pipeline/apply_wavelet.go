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
func FitWavelet(ctx context.Context, j *Job, d *dist.Vector, image PointReader, given survey.Wavelet, ridge float64) (*wavelet.Fit, error) {
	x, err := j.below(image)
	if err != nil {
		return nil, err
	}
	s, err := j.setting(d)
	if err != nil {
		return nil, err
	}
	if d, err = s.WeightedData(); err != nil {
		return nil, err
	}
	w := &dist.Work{Ctx: ctx}
	var spikes *dist.Vector
	w.New(j.here.Device, j.op.lifted.Range(), &spikes)
	w.Apply(j.op.lifted, spikes, x)
	if w.Err != nil {
		return nil, numericalFailure(w.Err)
	}
	zero, taps := kirchhoff.LinearTaps(TapsOf(j.plan.Config.Kirchhoff, j.plan.Geometry, given))
	of := wavelet.Signature{Spikes: spikes, Data: d, Weights: s.Weights, NT: j.plan.Geometry.Survey.NT, Threads: j.here.Host.Threads(), Taps: taps, Zero: zero}
	fit, err := of.Fit(given, ridge)
	return fit, numericalFailure(comm.Together(j.Ranks.World, err))
}
