package pipeline

import (
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/grid"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// amplitudes is the spectrum of a wavelet at multiples of 1 Hz below Nyquist.
func amplitudes(w survey.Wavelet) (a []float64) {
	n := int(math.Round(1 / w.DT))
	for len(w.Samples) > n {
		n *= 2
	}
	padded := make([]float64, n)
	copy(padded, w.Samples)
	step := int(math.Round(float64(n) * w.DT))
	for i, c := range fourier.NewFFT(n).Coefficients(nil, padded) {
		if i%step == 0 {
			a = append(a, cmplx.Abs(c))
		}
	}
	return a
}

// reflecting is a problem of 20 Hz whose data come from a few reflecting points, with
// arrivals far from the ends of the record.
func reflecting(t *testing.T) (*problem, []float32) {
	g := grid.Grid{Origin: []float64{0, 100}, Spacing: []float64{25, 25}, Shape: []int{9, 5}}
	s := &survey.Survey{Dim: 2, Fixed: true, NT: 300, DT: 0.004, T0: -0.4, Wavelet: ricker(20, 0.004)}
	for i := range 12 {
		s.Sources = append(s.Sources, 20*float64(i), 90)
		s.Receivers = append(s.Receivers, 20*float64(i)-10, 95)
	}
	p := newProblem(t, grid.Grid{Origin: []float64{-50, 0}, Spacing: []float64{10, 10}, Shape: []int{36, 24}}, s)
	p.grid = g
	image := noise(g.Len(), 4)
	data := p.model(t, image, "reference", onGrid(g)...)
	made := *p.survey
	made.Data = data
	p.record(t, &made)
	return p, image
}

// The whitened wavelet has the spectrum that it says, flatter than the wavelet's, and
// in the operator it predicts the whitened data.
func TestWhitening(t *testing.T) {
	p, image := reflecting(t)
	const e = 0.1
	for _, filter := range []string{"false", "true"} {
		set := append(onGrid(p.grid), "data.whiten=0.1", "kirchhoff.wavelet_filter="+filter)
		data := p.model(t, image, "reference", append(onGrid(p.grid), "kirchhoff.wavelet_filter="+filter)...)
		made := *p.survey
		made.Data = data
		p.record(t, &made)
		j, _ := p.ready(t, "reference", set...)
		d, err := j.Data()
		must(t, err)
		predicted, err := j.op.Model(t.Context(), ReadPoints(image))
		must(t, err)
		near(t, "whitened data", download(t, d.Buf), download(t, predicted.Buf), 1e-3)
		plain := p.open(t, NeedTraces, progress.Discard(), "reference", set[:len(set)-2]...)
		if filter == "true" {
			continue
		}
		before, after := amplitudes(plain.plan.Wavelet), amplitudes(j.plan.Wavelet)
		top := slices.Max(before)
		for f, w := range before {
			if want := w / math.Hypot(w, e*top); math.Abs(after[f]-want) > 2e-3 {
				t.Errorf("%d Hz: amplitude %g, want %g", f, after[f], want)
			}
		}
		flat := func(a []float64) float64 { return slices.Min(a[8:45]) / slices.Max(a[8:45]) }
		if a, b := flat(before), flat(after); a > 0.25 || b < 0.6 {
			t.Errorf("from 8 to 44 Hz the least amplitude is %.2f of the largest, whitened %.2f", a, b)
		}
	}
}

// Whitened or not, consistent data have one image, which whitening finds sooner.
func TestWhitenedSolve(t *testing.T) {
	p, image := reflecting(t)
	set := append(onGrid(p.grid), "solver.orthogonalize=200")
	off := func(set ...string) float64 {
		r := p.solve(t, "reference", set...)
		left := slices.Clone(r.Image)
		for i := range left {
			left[i] -= image[i]
		}
		return norm(left) / norm(image)
	}
	for iterations, least := range map[string]float64{"12": 1, "60": 1e-5} {
		n := "solver.iterations=" + iterations
		plain, white := off(append(set, n)...), off(append(set, n, "data.whiten=0.1")...)
		t.Logf("%s iterations: error %.2e, whitened %.2e", iterations, plain, white)
		if white > least || plain > least {
			t.Errorf("%s iterations: error %g, whitened %g, at most %g", iterations, plain, white, least)
		}
		if iterations == "12" && white > plain {
			t.Errorf("12 iterations: error %g, whitened %g", plain, white)
		}
	}
}

// What modelling predicts is not whitened.
func TestModelIsNotWhitened(t *testing.T) {
	p := line(t)
	model := func(set ...string) []float32 {
		j := p.open(t, NeedGeometry, progress.Discard(), "cpu", set...)
		build(t, j)
		d, err := j.op.Model(t.Context(), ReadPoints(noise(p.grid.Len(), 2)))
		must(t, err)
		out := make([]float32, d.Buf.Len())
		must(t, device.Download(out, d.Buf))
		return out
	}
	equal(t, "model", model("data.whiten=0.5"), model())
}
