package inspect

import (
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/report"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// What the mute silences is neither energy of a shot nor of what an image leaves of it: the direct wave,
// 99 % of the energy here, is no part of the numbers.
func TestShotsAreWeighed(t *testing.T) {
	t.Parallel()
	const nt = 100
	s := &survey.Survey{Dim: 2, NT: nt, DT: 0.01, Sources: []float64{0, 0}, Receivers: []float64{100, 0, 200, 0},
		SourceIndex: []int32{0, 0}, ReceiverIndex: []int32{0, 1}, Weight: []float32{1, 0.5}}
	energy := func(v []float32) (sum float64) {
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		return sum
	}
	for _, c := range []struct {
		data     config.Data
		left     float64
		weighted bool
	}{
		{config.Data{Weights: "none", Dead: "mask"}, 0.9926, false},
		{config.Data{Weights: "none", Dead: "mask", MuteOffsets: []float64{0}, MuteTimes: []float64{0.5}}, 0.26, true},
		{config.Data{Weights: "survey", Dead: "mask", MuteOffsets: []float64{0}, MuteTimes: []float64{0.5}}, 0.26, true},
	} {
		g := report.Gather{NT: nt}
		for range 2 {
			for k := range nt {
				d, r := float32(10), float32(10) // muted, and nothing of it explained
				if k >= 50 {
					d, r = 1, float32(math.Sqrt(0.26))
				}
				g.Data, g.Residual = append(g.Data, d), append(g.Residual, r)
			}
		}
		weigh(&g, pipeline.NewTraceWeights(c.data, s), []int32{0, 1})
		if left := energy(g.Residual) / energy(g.Data); math.Abs(left-c.left) > 1e-3 || g.Weighted != c.weighted {
			t.Errorf("%+v: the residual holds %.4f of the energy (weighted %v), want %.4f", c.data, left, g.Weighted, c.left)
		}
	}
}
