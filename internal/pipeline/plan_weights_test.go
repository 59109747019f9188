package pipeline

import (
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Dead traces have the weight 0, and the others that of the survey, or 1.
func TestWeights(t *testing.T) {
	t.Parallel()
	const nt = 4
	s := &survey.Survey{Dim: 2, NT: nt, DT: 0.004, Sources: []float64{0, 0}}
	sizes := []float32{2, 0.5, 1e-3, 1e-9, 1e-38, 0, 4, 2, 2, 1}
	for i, size := range sizes {
		s.Receivers = append(s.Receivers, float64(10*i), 0)
		s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, 0), append(s.ReceiverIndex, int32(i))
		s.Weight = append(s.Weight, float32(i))
		for range nt {
			s.Data = append(s.Data, size)
		}
	}
	for kind, want := range map[string][]float64{
		"none": {1, 1, 1, 1, 1, 0, 1, 1, 1, 1}, "survey": {0, 1, 2, 3, 4, 0, 6, 7, 8, 9},
	} {
		w := NewTraceWeights(config.Data{Weights: kind, Dead: "mask"}, s)
		mute := make([]float32, nt)
		for i := range sizes {
			if got := w.Of(i, s.Data[i*nt:(i+1)*nt], mute); math.Abs(got-want[i]) > 1e-6*want[i] || mute[0] != 1 {
				t.Errorf("%s: trace %d of %g has the weight %g, want %g", kind, i, sizes[i], got, want[i])
			}
		}
	}
}
