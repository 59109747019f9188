package kirchhoff

import (
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/dsp/fourier"
)

// taps returns the wavelet h that traces are convolved with: the survey's, or
// with WaveletFilter its derivative of order 1/2 (2-D) or 1 with the sign
// reversed (3-D), circular over its own length. At the Nyquist frequency of an
// even length the imaginary part is dropped, as an inverse real transform does.
func (p *Problem) taps() []float64 {
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

// Taps is the wavelet that traces are convolved with, WaveletFilter included: it asks
// for the Grid's axes, DT, Wavelet and WaveletFilter alone.
func (p *Problem) Taps() []float64 { return p.taps() }

// convolver convolves traces with h through Fourier transforms padded so that
// nothing wraps around. Each goroutine needs its own.
type convolver struct {
	fft      *fourier.FFT
	zero     int
	response []complex128 // of h, divided by the length of the transform
	trace    []float64    // scratch
	spectrum []complex128 // scratch
}

func newConvolver(h []float64, zero, nt int) *convolver {
	n := smooth(nt + len(h) - 1)
	c := &convolver{fft: fourier.NewFFT(n), zero: zero, trace: make([]float64, n)}
	copy(c.trace, h)
	c.response = c.fft.Coefficients(nil, c.trace)
	for i := range c.response {
		c.response[i] /= complex(float64(n), 0)
	}
	c.spectrum = make([]complex128, len(c.response))
	return c
}

// convolve adds Σ_j h[j] u[n − j + zero] to y[n].
func (c *convolver) convolve(y, u []float64) {
	clear(c.trace[copy(c.trace, u):])
	c.fft.Coefficients(c.spectrum, c.trace)
	for i, r := range c.response {
		c.spectrum[i] *= r
	}
	c.fft.Sequence(c.trace, c.spectrum)
	for n := range y {
		y[n] += c.trace[n+c.zero]
	}
}

// correlate sets e[n] = Σ_j h[j] d[n + j − zero], the transpose of convolve.
func (c *convolver) correlate(e, d []float64) {
	clear(c.trace[copy(c.trace, d):])
	c.fft.Coefficients(c.spectrum, c.trace)
	for i, r := range c.response {
		c.spectrum[i] *= cmplx.Conj(r)
	}
	c.fft.Sequence(c.trace, c.spectrum)
	for n := range e {
		at := n - c.zero
		if at < 0 {
			at += len(c.trace)
		}
		e[n] = c.trace[at]
	}
}

// smooth is the least length ≥ n with no prime factor above 5, on which the
// transform is fast (a prime length costs a hundred times as much).
func smooth(n int) int {
	for ; ; n++ {
		m := n
		for _, f := range [3]int{2, 3, 5} {
			for m%f == 0 {
				m /= f
			}
		}
		if m == 1 {
			return n
		}
	}
}
