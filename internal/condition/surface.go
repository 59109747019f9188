package condition

import (
	"context"
	"math"

	"github.com/kirchhoff-lsm/lsm/internal/statics"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// surface divides traces by what their sources and receivers multiply all their traces by. Traces that are as good as
// dead do not count.
type surface struct {
	survey           *survey.Survey
	rms              []float64 // of each trace of the survey
	source, receiver []float64
}

func (s *surface) measure(g *Gather) []float64 {
	for i, faint := range g.faint() {
		if faint {
			continue
		}
		sum := 0.0
		for _, v := range g.trace(i) {
			sum += float64(v) * float64(v)
		}
		s.rms[g.Traces[i]] = math.Sqrt(sum / float64(g.NT))
	}
	return nil
}

func (s *surface) learn(ctx context.Context, _ []float64) (err error) {
	s.source, s.receiver, err = statics.Amplitudes(ctx, s.survey, s.rms)
	return err
}

func (s *surface) apply(g *Gather) error {
	for i, n := range g.Traces {
		from, to := g.Pair(int(n))
		by := float32(1 / (s.source[from] * s.receiver[to]))
		for k := range g.trace(i) {
			g.trace(i)[k] *= by
		}
	}
	return nil
}
