package statics

import (
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/dsp/fourier"
)

// exact is the fraction of a sample below which a move is one of whole samples.
const exact = 1e-6

// Split divides a move by a number of samples into a whole number and a fraction in
// [-0.5, 0.5].
func Split(samples float64) (whole, fraction float64) {
	whole = math.Round(samples)
	if fraction = samples - whole; math.Abs(fraction) < exact {
		fraction = 0
	}
	return whole, fraction
}

// Mover moves traces by fractions of a sample. Moves by whole samples are copies;
// fractions are a change of phase: the spectrum of the trace, filled up with at least
// as many zeros, times exp(-2πi f fraction). A signal without energy at the Nyquist
// frequency that begins and ends near zero is moved to rounding.
type Mover struct {
	fft  *fourier.FFT
	in   []float64
	spec []complex128
	out  []float32
}

// Move is the trace that comes fraction samples later. The result may be v, or belongs to
// the mover until the next call.
func (m *Mover) Move(v []float32, fraction float64) []float32 {
	if fraction == 0 || len(v) == 0 {
		return v
	}
	n := 64
	for n < 2*len(v) {
		n *= 2
	}
	if m.fft == nil || m.fft.Len() != n {
		m.fft, m.in, m.spec = fourier.NewFFT(n), make([]float64, n), make([]complex128, n/2+1)
	}
	for i, x := range v {
		m.in[i] = float64(x)
	}
	clear(m.in[len(v):])
	spec := m.fft.Coefficients(m.spec, m.in)
	for k := range spec {
		if k == n/2 { // both signs of the Nyquist frequency at once
			spec[k] *= complex(math.Cos(math.Pi*fraction), 0)
			continue
		}
		spec[k] *= cmplx.Rect(1, -2*math.Pi*float64(k)/float64(n)*fraction)
	}
	m.fft.Sequence(m.in, spec)
	m.out = append(m.out[:0], v...)
	for i := range m.out {
		m.out[i] = float32(m.in[i] / float64(n))
	}
	return m.out
}

// Place copies src into the window dst that begins shift samples later, and sets the rest of it to 0. The
// two may overlap.
func Place(dst, src []float32, shift int) {
	switch {
	case shift >= len(src) || -shift >= len(dst):
		clear(dst)
	case shift >= 0:
		n := copy(dst, src[shift:])
		clear(dst[n:])
	default:
		n := copy(dst[-shift:], src)
		clear(dst[:-shift])
		clear(dst[min(len(dst), n-shift):])
	}
}

// Shift moves a trace by a number of samples in its place; what leaves its window is lost.
func (m *Mover) Shift(trace []float32, samples float64) {
	whole, fraction := Split(samples)
	Place(trace, m.Move(trace, fraction), -int(whole))
}
