package plan

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/internal/coherence"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Weights say how much the samples of a survey's traces count: the mute, and what data.weights and
// data.dead make of each trace.
type Weights struct {
	data   config.Data
	survey *survey.Survey
	mute   Mute
	least  int // decade of the weakest trace that is balanced, see survey.Levels
}

// FirstIterations is after how many iterations data.weights = "coherence" takes the image for what
// predicts the traces.
const FirstIterations = 3

// Coherent reports whether a solve finds weights for the samples by what its first image predicts.
func Coherent(p *Plan) bool {
	return p.Config.Data.Weights == "coherence" && (p.Need == Traces || p.Need == Planning)
}

// CoherenceWindows are those over which the means of these weights are taken.
func CoherenceWindows(p *Plan) coherence.Windows {
	slowest, _ := Speeds(p)
	return coherence.WindowsFor(1/BandOf(p.Survey.Wavelet).Peak, slowest, p.Survey.DT, p.Threads)
}

// levelTraces is how many traces, spread over the survey, show its level.
const levelTraces = 256

// NewWeights returns those of a survey. read fills dst, [len(traces), NT], with listed traces; it is
// called where data.weights balances traces, which must not raise those that are as good as dead.
func NewWeights(d config.Data, s *survey.Survey, read func(dst []float32, traces []int32) error) (*Weights, error) {
	w := &Weights{data: d, survey: s, mute: newMute(d, s), least: math.MinInt}
	if d.Weights != "rms" {
		return w, nil
	}
	n := min(levelTraces, s.NumTraces())
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i * s.NumTraces() / n)
	}
	samples := make([]float32, n*s.NT)
	if err := read(samples, list); err != nil {
		return nil, err
	}
	mute, levels := make([]float32, s.NT), survey.Levels{}
	for i, trace := range list {
		w.mute.Fill(mute, s.Offset(int(trace)), 1)
		energy, share := w.energy(samples[i*s.NT:(i+1)*s.NT], mute)
		if d, ok := survey.DecadeOf(math.Sqrt(energy / share)); ok {
			levels[d]++
		}
	}
	w.least = levels.Least()
	return w, nil
}

// energy is that of a muted trace, and that of its mute's weights.
func (w *Weights) energy(trace, mute []float32) (energy, share float64) {
	for k, x := range trace {
		v, w := float64(x), float64(mute[k])
		energy += w * w * v * v
		share += w * w
	}
	return energy, share
}

// Of returns the weight of trace n of the survey, given its samples, up to a factor that all traces
// share with data.weights = "rms", and sets mute to the mute's weights of these.
func (w *Weights) Of(n int, trace, mute []float32) float64 {
	w.mute.Fill(mute, w.survey.Offset(n), 1)
	energy, share := w.energy(trace, mute)
	switch {
	case share == 0, w.data.Dead == "mask" && survey.Silent(trace):
		return 0
	case w.data.Weights == "survey":
		return float64(w.survey.Weight[n])
	case w.data.Weights == "rms":
		if d, ok := survey.DecadeOf(math.Sqrt(energy / share)); !ok || d < w.least {
			return 0
		}
		return math.Sqrt(share / energy)
	}
	return 1
}
