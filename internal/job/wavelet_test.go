package job

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/floats"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/operator"
	"github.com/kirchhoff-lsm/lsm/internal/wavelet"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

const estimated = "solver.wavelet=estimate"

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

// likeness is the largest correlation of two wavelets' samples, 1 where they differ by a factor.
func likeness(a, b []float64) float64 {
	return floats.Dot(a, b) / (floats.Norm(a, 2) * floats.Norm(b, 2))
}

// signature is a Ricker of the length of one of 20 Hz.
func signature(peak float64) survey.Wavelet {
	longest := ricker(20, 0.004)
	return wavelet.Resized(ricker(peak, 0.004), len(longest.Samples), longest.Zero)
}

// guessed is reflectors, whose traces are made with one wavelet, in a survey that has another.
func guessed(t *testing.T, truly, guess survey.Wavelet, set ...string) (*problem, []float32) {
	p, truth := reflectors(t)
	s := *p.survey
	s.Wavelet = truly
	p.record(t, &s)
	s.Data = p.model(t, truth, "cpu", set...)
	s.Wavelet = guess
	p.record(t, &s)
	return p, truth
}

// An operator whose wavelet may change is the one whose wavelet is given, and its directions are
// adjoint. A filtered one differs by the ends of the taps, of which a given wavelet has fewer.
func TestEstimatedOperator(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		for name, set := range map[string][]string{
			"plain":    nil,
			"filtered": {"kirchhoff.wavelet_filter=true", "kirchhoff.dynamic=true"},
			"muted":    {"data.mute_offsets=0,200", "data.mute_times=0.05,0.1", "data.weights=rms"},
			"source":   {"solver.wavelet_by=source"},
		} {
			p := line(t)
			fixed := slices.DeleteFunc(slices.Clone(set), func(s string) bool { return s == "solver.wavelet_by=source" })
			set = append([]string{estimated}, set...)
			tolerance := 2e-6
			if name == "filtered" {
				tolerance = 2e-5
			}
			near(t, name+": image", p.migrate(t, engine, set...), p.migrate(t, engine, fixed...), tolerance)
			image := noise(p.grid.Len(), 3)
			near(t, name+": traces", p.model(t, image, engine, set...), p.model(t, image, engine, fixed...), tolerance)
			j, _ := p.ready(t, engine, set...)
			if e, err := j.DotTest(context.Background()); err != nil || !(e <= j.DotLimit()) {
				t.Errorf("%s: dot test %.2g (%v)", name, e, err)
			}
		}
	})
}

// Given the image, least squares find a Ricker that is turned by 50 degrees, from one that is not.
func TestFitWavelet(t *testing.T) {
	truly := turned(signature(20), 50)
	for name, set := range map[string][]string{
		"plain":    nil,
		"filtered": {"kirchhoff.wavelet_filter=true"},
		"muted":    {"data.mute_offsets=0,600", "data.mute_times=0.1,0.3", "data.weights=rms"},
	} {
		p, truth := guessed(t, truly, signature(30), set...)
		j, _ := p.ready(t, "cpu", append([]string{estimated}, set...)...)
		d, err := j.Data()
		must(t, err)
		f, err := FitWavelet(context.Background(), j, d, operator.Points(truth), 1e-6)
		must(t, err)
		got := f.Wavelets[0].Samples
		want := truly.Samples
		if name == "filtered" { // which leaves the mean of the wavelet out
			got, want = slices.Clone(got), slices.Clone(want)
			floats.AddConst(-floats.Sum(got)/float64(len(got)), got)
			floats.AddConst(-floats.Sum(want)/float64(len(want)), want)
		}
		if e := floats.Distance(got, want, 2) / floats.Norm(want, 2); !(e < 0.01) || !(f.Share() < 0.01) {
			t.Errorf("%s: the wavelet is off by %.4f, the misfit %.4f of that of the guess", name, e, f.Share())
		}
	}
}

// falls checks that norms never rise, but for rounding.
func falls(t *testing.T, what string, norms []float64) {
	t.Helper()
	for i := 1; i < len(norms); i++ {
		if !(norms[i] <= norms[i-1]*(1+1e-6)) {
			t.Errorf("%s: norm %d is %.9g, the one before %.9g", what, i, norms[i], norms[i-1])
		}
	}
}

// From a wrong wavelet, image and wavelet are found together: what is minimised falls in every
// step, further than with the wrong wavelet, and the wavelet becomes like the true one with the
// norm of the start. The image takes a constant phase that the start lacks: amplitudes are found
// all the same. The file of the image holds the wavelet.
func TestEstimateWavelet(t *testing.T) {
	truly, guess := signature(20), signature(30)
	p, _ := guessed(t, turned(truly, 40), guess)
	s, r := wavelet.NewSpectrum(len(truly.Samples), truly.DT), p.solve(t, "cpu", estimated, "solver.iterations=12", "solver.wavelet_updates=3")
	if like := likeness(s.Of(r.Wavelets[0].Samples), s.Of(truly.Samples)); !(like > 0.98) {
		t.Errorf("of a turned wavelet the amplitudes are found to %.3f, want above 0.98", like)
	}
	eachEngine(t, func(t *testing.T, engine string) {
		p, _ := guessed(t, truly, guess)
		set := []string{"solver.iterations=12"}
		fixed := p.solve(t, engine, set...)
		set = append(set, estimated, "solver.wavelet_updates=3")
		j, op := p.ready(t, engine, set...)
		r, err := j.solve(context.Background(), op, false)
		must(t, err)
		h := r.History
		falls(t, "residual", h.Residual)
		if len(h.Residual) != 13 || len(h.Gradient) != 13 {
			t.Fatalf("the history has %d and %d entries, want 13", len(h.Residual), len(h.Gradient))
		}
		if a, b := h.Residual[12], fixed.History.Residual[12]; !(a < 0.6*b) {
			t.Errorf("the residual is %.4g, with the wrong wavelet %.4g", a, b)
		}
		w := r.Wavelets[0]
		if before, after := likeness(guess.Samples, truly.Samples), likeness(w.Samples, truly.Samples); !(before < 0.85 && after > 0.98) {
			t.Errorf("the wavelet is like the true one by %.3f, the guess by %.3f", after, before)
		}
		if a, b := floats.Norm(w.Samples, 2), floats.Norm(guess.Samples, 2); math.Abs(a-b) > 1e-9*b || w.Zero != guess.Zero {
			t.Errorf("norm %g, zero %d, want %g and %d", a, w.Zero, b, guess.Zero)
		}
		must(t, j.WriteResult(p.path("estimated.h5"), r.Result, Source{Command: "run"}))
		stored, err := h5.ReadWavelet(p.path("estimated.h5"))
		must(t, err)
		equal(t, "stored wavelet", stored.Samples, w.Samples)
		if engine == "cpu" { // a run with the stored wavelet predicts what this one does
			got := p.misfit(t, r.Image, engine, "survey.wavelet_file="+p.path("estimated.h5"))
			if !(math.Abs(got-h.Residual[12]) <= 1e-4*h.Residual[12]) {
				t.Errorf("with the stored wavelet the residual is %.6g, in the history %.6g", got, h.Residual[12])
			}
		}
	})
}

// With damping the sum of misfit and penalty falls, also for wavelets by source and of another
// length.
func TestEstimateWaveletDamped(t *testing.T) {
	p, _ := guessed(t, turned(signature(20), 40), signature(26))
	for name, set := range map[string][]string{
		"damped":  {"solver.damping=20"},
		"source":  {"solver.wavelet_by=source", "solver.damping=20"},
		"shorter": {"solver.wavelet_length=0.06"},
		"muted":   {"data.mute_offsets=0,600", "data.mute_times=0.1,0.3", "data.weights=rms", "solver.damping=20"},
	} {
		r := p.solve(t, "cpu", append([]string{estimated, "solver.iterations=8"}, set...)...)
		falls(t, name, r.History.Total)
		wavelets, samples := 1, len(p.survey.Wavelet.Samples)
		switch name {
		case "source":
			wavelets = 9
		case "shorter":
			samples = 16
		}
		if len(r.Wavelets) != wavelets || len(r.Wavelets[0].Samples) != samples {
			t.Errorf("%s: %d wavelets of %d samples, want %d of %d", name, len(r.Wavelets), len(r.Wavelets[0].Samples), wavelets, samples)
		}
		if name != "source" {
			continue
		}
		if slices.Equal(r.Wavelets[0].Samples, r.Wavelets[8].Samples) {
			t.Error("two sources have one wavelet")
		}
		j, _ := p.ready(t, "cpu", append([]string{estimated}, set...)...)
		must(t, j.WriteResult(p.path("sources.h5"), r.Result, Source{Command: "run"}))
		must(t, UseWavelets(j, p.path("sources.h5")))
		d, err := j.Model(context.Background(), operator.Points(r.Image))
		must(t, err)
		rest := make([]float32, len(p.survey.Data))
		must(t, device.Download(rest, d.Buf))
		for i, v := range p.survey.Data {
			rest[i] -= v
		}
		if want := r.History.Residual[8]; !(math.Abs(norm(rest)-want) <= 1e-4*want) {
			t.Errorf("with the wavelets of the file the residual is %.6g, in the history %.6g", norm(rest), want)
		}
	}
}

// Image, history and wavelets have the same bits on any number of ranks.
func TestEstimateWaveletOnRanks(t *testing.T) {
	for name, c := range map[string]struct {
		make func(*testing.T) *problem
		set  []string
	}{
		"survey":   {wide, []string{"kirchhoff.wavelet_filter=true", "data.weights=rms"}},
		"source":   {wide, []string{"solver.wavelet_by=source", "solver.damping=0.3"}},
		"aperture": {streamer, []string{"solver.wavelet_by=source", "kirchhoff.aperture=100"}},
	} {
		p := c.make(t)
		set := append([]string{estimated, "solver.iterations=4", "solver.wavelet_updates=2"}, c.set...)
		want := p.solveOn(t, 1, append(set, "machine.threads=1")...)
		for ranks, grid := range map[int]string{2: "[2, 1]", 3: "[1, 3]", 4: "[2, 2]"} {
			got := p.solveOn(t, ranks, append(set, "comm.grid="+grid, "machine.threads=2")...)
			sameResult(t, name+" on "+grid, got, want)
			for i, w := range want.Wavelets {
				equal(t, name+" on "+grid+": wavelet", got.Wavelets[i].Samples, w.Samples)
			}
		}
	}
}

// A signal ends the solve, since there is no checkpoint to go on from.
func TestEstimateWaveletInterrupted(t *testing.T) {
	p := line(t)
	err := p.stopAfter(t, 2, "cpu", false, estimated, "solver.iterations=9")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want an interruption", err)
	}
}
