package operator

import (
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/wavelet"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// newSignature is the start of the wavelets that are estimated, for an operator of spikes: one for
// all traces, or one for each row of the survey's sources.
func (op *Operator) newSignature(spikes dist.Operator) *wavelet.Signature {
	wavelets, of := []survey.Wavelet{op.Wavelet}, make([]int32, op.Share.Traces())
	if op.Config.Solver.WaveletBy == "source" {
		wavelets = make([]survey.Wavelet, op.Survey.NumSources())
		for i := range wavelets {
			wavelets[i] = op.Wavelet
		}
		for i, trace := range op.Shots.List(op.Share.First, op.Share.Last) {
			source, _ := op.Survey.Pair(int(trace))
			of[i] = int32(source)
		}
	}
	zero, taps := kirchhoff.LinearTaps(plan.Taps(op.Plan, op.Wavelet))
	return wavelet.NewSignature(op.World, spikes, op.Survey.NT, of, op.Host.Threads(), taps, zero, wavelets)
}
