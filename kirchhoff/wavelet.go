package kirchhoff

import (
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/dsp/fourier"
)

// Taps returns the wavelet h that traces are convolved with: the survey's, or with
// WaveletFilter its derivative of order 1/2 (2-D) or 1 with the sign reversed (3-D),
// circular over its own length. At the Nyquist frequency of an even length the imaginary
// part is dropped, as an inverse real transform does. It uses only the Grid's axes, DT,
// Wavelet and WaveletFilter.
func (p *Problem) Taps() []float64 {
	h := append([]float64(nil), p.Wavelet.Samples...)
	if !p.WaveletFilter || len(h) < 2 {
		if p.WaveletFilter {
			h[0] = 0 // one sample has no frequency but zero
		}
		return h
	}
	n := len(h)
	fft := fourier.NewFFT(n)
	spectrum := fft.Coefficients(nil, h)
	for i := range spectrum {
		s := complex(0, 2*math.Pi*float64(i)/(float64(n)*p.DT))
		if p.Grid.Dim() == 2 {
			spectrum[i] *= cmplx.Sqrt(s)
		} else {
			spectrum[i] *= -s
		}
	}
	if n%2 == 0 {
		spectrum[n/2] = complex(real(spectrum[n/2]), 0)
	}
	fft.Sequence(h, spectrum)
	for i := range h {
		h[i] /= float64(n) // gonum's transform pair multiplies by n
	}
	return h
}

// convolve adds Σ_j h[j] u[n − j + zero] to y[n].
func convolve(y, u, h []float64, zero int) {
	for n := range y {
		for j := max(0, n+zero-len(u)+1); j < min(len(h), n+zero+1); j++ {
			y[n] += h[j] * u[n-j+zero]
		}
	}
}

// correlate sets e[n] = Σ_j h[j] d[n + j − zero], the transpose of convolve.
func correlate(e, d, h []float64, zero int) {
	clear(e)
	for n := range e {
		for j := max(0, zero-n); j < min(len(h), len(d)-n+zero); j++ {
			e[n] += h[j] * d[n+j-zero]
		}
	}
}
