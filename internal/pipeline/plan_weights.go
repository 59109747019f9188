package pipeline

import (
	"github.com/kirchhoff-lsm/lsm/internal/coherence"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// TraceWeights say how much the samples of a survey's traces count: the mute, and what data.weights and
// data.dead make of each trace.
type TraceWeights struct {
	data   config.Data
	survey *survey.Survey
	mute   Mute
}

// FirstIterations is after how many iterations data.weights = "coherence" takes the image for what
// predicts the traces.
const FirstIterations = 3

// Coherent reports whether a solve finds weights for the samples by what its first image predicts.
func Coherent(d config.Data, need Need) bool {
	return d.Weights == "coherence" && (need == NeedTraces || need == NeedPlanning)
}

// CoherenceWindows are those over which the means of these weights are taken.
func CoherenceWindows(g *Geometry, t *Times, threads int) coherence.Windows {
	slowest, _ := t.Speeds()
	return coherence.WindowsFor(1/BandOf(g.Survey.Wavelet).Peak, slowest, g.Survey.DT, threads)
}

// NewTraceWeights returns those of a survey.
func NewTraceWeights(d config.Data, s *survey.Survey) *TraceWeights {
	return &TraceWeights{data: d, survey: s, mute: newMute(d, s)}
}

// Of returns the weight of trace n of the survey, given its samples, and sets mute to the mute's
// weights of these.
func (w *TraceWeights) Of(n int, trace, mute []float32) float64 {
	w.mute.Fill(mute, w.survey.Offset(n), 1)
	switch {
	case survey.Silent(mute), w.data.Dead == "mask" && survey.Silent(trace):
		return 0
	case w.data.Weights == "survey":
		return float64(w.survey.Weight[n])
	}
	return 1
}
