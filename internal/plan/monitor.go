package plan

import (
	"fmt"
	"math"
	"math/cmplx"
	"sync"

	"github.com/kirchhoff-lsm/lsm/internal/inputs"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Beside returns the plan of the baseline p together with that of the repeat survey m, which
// must be made of p.Config.AtMonitor. Both have one image. Dynamic weights are stabilised by
// the largest distances of both surveys, so that a trace counts alike in either.
func Beside(p, m *Plan) (*Plan, error) {
	if !m.Image.Equal(p.Image) {
		panic("plan: baseline and monitor have images of their own")
	}
	if CommonMidpoints(p.Survey, m.Survey)[0] == 0 {
		b, r := midpoints(p.Survey), midpoints(m.Survey)
		err := fmt.Errorf("%s: the midpoints of its traces lie from %s to %s m, those of %s from %s to %s m: the two surveys have no ground in common",
			m.Config.Survey.File.File, inputs.Point(r[0]), inputs.Point(r[1]), p.Config.Survey.File.File, inputs.Point(b[0]), inputs.Point(b[1]))
		return nil, status.Hint(status.Input(err), "give both surveys the same units and the same origin")
	}
	b, r := *p, *m
	most := sync.OnceValue(func() [2]float64 {
		x, y := p.farthest(), m.farthest()
		return [2]float64{max(x[0], y[0]), max(x[1], y[1])}
	})
	b.farthest, r.farthest = most, most
	b.Monitor = &r
	return &b, nil
}

// WithMonitor returns a plan with another plan of its repeat survey.
func WithMonitor(p, m *Plan) *Plan {
	q := *p
	q.Monitor = m
	return &q
}

// CheckMonitor makes sure that a repeat survey can be planned beside the baseline.
func CheckMonitor(baseline, monitor *inputs.Inputs, file string) error {
	if b, m := baseline.Survey.Dim, monitor.Survey.Dim; b != m {
		return status.Input(fmt.Errorf("%s: positions have %d columns, those of the baseline %d", file, m, b))
	}
	if b, m := baseline.Survey.Frame, monitor.Survey.Frame; !b.Equal(m) {
		return status.Hint(status.Input(fmt.Errorf("%s: lies in another frame than the baseline: %s, not %s", file, m, b)), inputs.FrameHint)
	}
	if surveyDigest(baseline) == surveyDigest(monitor) {
		return status.Input(fmt.Errorf("%s: has the same bytes as the baseline: want a repeat survey", file))
	}
	return nil
}

func surveyDigest(in *inputs.Inputs) string {
	for _, d := range in.Digests {
		if d.Role == "survey" {
			return d.SHA256
		}
	}
	return ""
}

// checkTeams refuses ranks whose parts of the image depend on their traces: those of baseline
// and monitor would be others.
func checkTeams(p *Plan, grid [2]int) error {
	if slabs, _ := p.slabs(); p.Monitor == nil || len(p.Config.Kirchhoff.Aperture) == 0 || mostTeams(grid[0], slabs) == 1 {
		return nil
	}
	return status.Hint(status.Usage(fmt.Errorf("kirchhoff.aperture: with survey.monitor.file it is not offered on %d ranks over shots", grid[0])),
		"lay them out over image blocks, as in comm.grid = [1, 0]")
}

// midpoints are the least and the largest horizontal coordinates of the midpoints of traces, m.
func midpoints(s *survey.Survey) (box [2][]float64) {
	for a := range s.Dim - 1 {
		lo, hi := math.Inf(1), math.Inf(-1)
		for i := range s.NumTraces() {
			src, rec := s.Pair(i)
			x := (s.Source(src)[a] + s.Receiver(rec)[a]) / 2
			lo, hi = min(lo, x), max(hi, x)
		}
		box[0], box[1] = append(box[0], lo), append(box[1], hi)
	}
	return box
}

// CommonMidpoints returns the shares of the midpoints of two surveys' traces that lie among
// those of the other, in the range of each horizontal coordinate.
func CommonMidpoints(s, t *survey.Survey) (share [2]float64) {
	boxes := [2][2][]float64{midpoints(t), midpoints(s)}
	for k, of := range []*survey.Survey{s, t} {
		inside := 0
		for i := range of.NumTraces() {
			src, rec := of.Pair(i)
			in := 1
			for a := range of.Dim - 1 {
				x := (of.Source(src)[a] + of.Receiver(rec)[a]) / 2
				if x < boxes[k][0][a] || x > boxes[k][1][a] {
					in = 0
				}
			}
			inside += in
		}
		share[k] = float64(inside) / float64(max(1, of.NumTraces()))
	}
	return share
}

// CompareWavelets compares two wavelets at the frequencies below both Nyquist frequencies:
// alike is the correlation of their amplitudes, and turn the constant phase, in degrees, by
// which w lags behind v (the angle of the sum of W conj(V)).
func CompareWavelets(v, w survey.Wavelet) (alike, turn float64) {
	const steps = 256
	var sum complex128
	var both, one, other float64
	high := 0.5 / max(v.DT, w.DT)
	for k := range steps {
		a, b := spectrumAt(v, high*float64(k)/steps), spectrumAt(w, high*float64(k)/steps)
		sum += b * cmplx.Conj(a)
		both += cmplx.Abs(a) * cmplx.Abs(b)
		one += real(a * cmplx.Conj(a))
		other += real(b * cmplx.Conj(b))
	}
	return both / math.Sqrt(one*other), 180 / math.Pi * cmplx.Phase(sum)
}

// spectrumAt is the spectrum of a wavelet at a frequency, Hz.
func spectrumAt(w survey.Wavelet, f float64) (sum complex128) {
	for i, x := range w.Samples {
		sum += cmplx.Rect(x, -2*math.Pi*f*w.DT*float64(i-w.Zero))
	}
	return sum
}
