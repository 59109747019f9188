package quality

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/floats"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// spectrumTraces is about how many traces the mean spectrum is made from.
const spectrumTraces = 500

// spectrum is the mean amplitude spectrum of traces, beside that of the wavelet.
type spectrum struct {
	fft     *fourier.FFT
	dt      float64   // s
	wavelet []float64 // amplitudes, by frequency
	power   []float64 // sum over the traces, each scaled to unit energy
	n       int       // traces
	in      []float64
	out     []complex128
}

func newSpectrum(w survey.Wavelet, nt int, dt float64) *spectrum {
	n := 1024
	for n < max(nt, len(w.Samples)) {
		n *= 2
	}
	s := &spectrum{fft: fourier.NewFFT(n), dt: dt, in: make([]float64, n), power: make([]float64, n/2+1), out: make([]complex128, n/2+1)}
	copy(s.in, w.Samples)
	s.wavelet = make([]float64, n/2+1)
	for i, c := range s.fft.Coefficients(s.out, s.in) {
		s.wavelet[i] = math.Hypot(real(c), imag(c))
	}
	return s
}

// add takes a trace into account.
func (s *spectrum) add(v []float32) {
	e := energy(v)
	if !(e > 0) {
		return
	}
	clear(s.in)
	for i, x := range v {
		s.in[i] = float64(x)
	}
	for i, c := range s.fft.Coefficients(s.out, s.in) {
		s.power[i] += (real(c)*real(c) + imag(c)*imag(c)) / e
	}
	s.n++
}

// data is the mean amplitude spectrum of the traces, smoothed over nine frequencies of a
// transform of 1024 samples.
func (s *spectrum) data() []float64 {
	reach := 4 * s.fft.Len() / 1024
	out := make([]float64, len(s.power))
	for i := range s.power {
		near := s.power[max(0, i-reach):min(len(s.power), i+reach+1)]
		out[i] = math.Sqrt(floats.Sum(near) / float64(len(near)))
	}
	return out
}

// peakOf is the frequency of the greatest amplitude, Hz.
func (s *spectrum) peakOf(amplitudes []float64) float64 {
	return s.fft.Freq(floats.MaxIdx(amplitudes)) / s.dt
}

// highOf is the frequency below which 99 % of the energy lies, Hz.
func (s *spectrum) highOf(amplitudes []float64) float64 {
	total, sum := floats.Dot(amplitudes, amplitudes), 0.0
	for i, a := range amplitudes {
		if sum += a * a; sum >= 0.99*total {
			return s.fft.Freq(i) / s.dt
		}
	}
	return 0.5 / s.dt
}

// overlap is the normalised product of the two spectra, 0 to 1.
func (s *spectrum) overlap() float64 {
	d := s.data()
	norm := floats.Norm(d, 2) * floats.Norm(s.wavelet, 2)
	if !(norm > 0) {
		return 0
	}
	return floats.Dot(d, s.wavelet) / norm
}
