package inspect

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/wavelet"
	"github.com/kirchhoff-lsm/lsm/io/picture"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// WaveletText says what a wavelet is like.
func WaveletText(w survey.Wavelet) string {
	s := wavelet.NewSpectrum(len(w.Samples), w.DT)
	b := s.Compare(w.Samples, len(w.Samples)).Wavelet
	return fmt.Sprintf("%s of %s ms, %s ms before time zero; peak %s Hz, 90 %% of the energy from %s to %s Hz; largest sample %.3g",
		readable.Count(len(w.Samples), "sample"), readable.Time(1e3*w.DT), readable.Time(1e3*float64(w.Zero)*w.DT),
		readable.Frequency(b.Peak), readable.Frequency(b.Low), readable.Frequency(b.High), Largest(w.Samples))
}

// Largest is the sample of the largest magnitude, with its sign.
func Largest(samples []float64) (v float64) {
	for _, x := range samples {
		if math.Abs(x) > math.Abs(v) {
			v = x
		}
	}
	return v
}

// WaveletFigure draws a wavelet, and below it the amplitudes of its spectrum with others beside
// them, each relative to its largest.
func WaveletFigure(w survey.Wavelet, opt picture.Options, spectra ...picture.Line) (*picture.Figure, error) {
	signature := picture.Line{Name: "wavelet"}
	for j, v := range w.Samples {
		signature.X = append(signature.X, 1e3*float64(j-w.Zero)*w.DT)
		signature.Y = append(signature.Y, v)
	}
	above, err := picture.Spectra("time (ms)", "amplitude", opt, signature)
	if err != nil {
		return nil, err
	}
	s := wavelet.NewSpectrum(len(w.Samples), w.DT)
	lines := append([]picture.Line{{Name: "wavelet", X: s.Frequencies(), Y: s.Of(w.Samples)}}, spectra...)
	for i, l := range lines {
		most := 0.0
		for _, v := range l.Y {
			most = max(most, v)
		}
		if most == 0 {
			most = 1
		}
		scaled := make([]float64, len(l.Y))
		for k, v := range l.Y {
			scaled[k] = v / most
		}
		lines[i].Y = scaled
	}
	below, err := picture.Spectra("frequency (Hz)", "relative amplitude", picture.Options{}, lines...)
	if err != nil {
		return nil, err
	}
	return picture.Stack(above, below), nil
}
