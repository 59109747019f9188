package pipeline

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/floats"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/wavelet"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// turned is a wavelet with its phase turned by degrees.
func turned(w survey.Wavelet, degrees float64) survey.Wavelet {
	fft := fourier.NewFFT(len(w.Samples))
	c := fft.Coefficients(nil, w.Samples)
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	for i := range c {
		c[i] *= complex(cos, sin) / complex(float64(len(w.Samples)), 0)
	}
	w.Samples = fft.Sequence(nil, c)
	return w
}

// Given the image, least squares find a Ricker that is turned by 50 degrees, from one that is not, and of
// another length and time zero.
func TestFitWavelet(t *testing.T) {
	truly := turned(ricker(20, 0.004), 50)
	n, zero := len(truly.Samples), truly.Zero
	guess := wavelet.Resized(ricker(30, 0.004), n, zero)
	mute := []string{"data.mute_offsets=0,600", "data.mute_times=0.1,0.3"}
	for name, c := range map[string]struct {
		set   []string
		given survey.Wavelet
	}{
		"plain":    {nil, guess},
		"filtered": {[]string{"kirchhoff.wavelet_filter=true"}, guess},
		"muted":    {mute, guess},
		"longer":   {[]string{"kirchhoff.wavelet_filter=true"}, wavelet.Resized(guess, n+8, zero+5)},
	} {
		p, truth := reflectors(t)
		s := *p.survey
		s.Wavelet = truly
		p.record(t, &s)
		s.Data = p.model(t, truth, "cpu", c.set...)
		s.Wavelet = guess
		p.record(t, &s)
		j := p.open(t, NeedTraces, progress.Discard(), "cpu", c.set...)
		j.plan = j.plan.OfSpikes()
		_, err := j.Build(t.Context())
		must(t, err)
		d, err := j.Data()
		must(t, err)
		f, err := j.op.FitWavelet(t.Context(), d, ReadPoints(truth), c.given, 1e-6)
		must(t, err)
		got := f.Wavelet.Samples
		want := wavelet.Resized(truly, len(c.given.Samples), c.given.Zero).Samples
		if c.set != nil && name != "muted" { // the filter leaves the mean of the wavelet out
			got, want = slices.Clone(got), slices.Clone(want)
			floats.AddConst(-floats.Sum(got)/float64(len(got)), got)
			floats.AddConst(-floats.Sum(want)/float64(len(want)), want)
		}
		if e := floats.Distance(got, want, 2) / floats.Norm(want, 2); !(e < 0.01) || !(f.Share() < 0.01) {
			t.Errorf("%s: the wavelet is off by %.4f, the misfit %.4f of that of the guess", name, e, f.Share())
		}
	}
}
