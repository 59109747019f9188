package kirchhoff

import (
	"fmt"
	"math"
	"math/bits"
	"math/cmplx"
	"slices"

	"github.com/kirchhoff-lsm/lsm/survey"
	"gonum.org/v1/gonum/dsp/fourier"
)

// WaveletFilter says how the wavelet is filtered before traces are convolved with it.
type WaveletFilter int

// The filters.
const (
	// NoFilter leaves the wavelet as it is.
	NoFilter WaveletFilter = iota
	// HalfDerivatives filters by (i2πf)^(n/2) with n horizontal axes: the half derivative in 2-D, the
	// derivative in 3-D. A sum along traveltime curves integrates half a time over each axis, so that
	// a reflector then has the wavelet's shape and polarity, in the image and in the traces.
	HalfDerivatives
	// PyLopsFilter is the filter of PyLops: √(i2πf) in 2-D and −i2πf, which turns the polarity, in 3-D,
	// circular over the wavelet's own length. At the Nyquist frequency of an even length it drops
	// the imaginary part, as an inverse real transform does.
	PyLopsFilter
)

var filterNames = []string{NoFilter: "off", HalfDerivatives: "on", PyLopsFilter: "pylops"}

// String is the name of the filter: "off", "on" or "pylops".
func (f WaveletFilter) String() string { return filterNames[f] }

// FilterNamed is the filter of a name that String gives. Another name is a fault of the program
// and panics.
func FilterNamed(name string) WaveletFilter {
	i := slices.Index(filterNames, name)
	if i < 0 {
		panic(fmt.Sprintf("kirchhoff: no wavelet filter is called %q", name))
	}
	return WaveletFilter(i)
}

// tapsLoss is the norm of the samples that HalfDerivatives may leave out at the ends of the taps, relative
// to the norm of the whole. The half derivative of a wavelet has no end by itself.
const tapsLoss = 2e-4

// Taps returns what traces are convolved with and where its time zero is: the survey's wavelet,
// filtered. With HalfDerivatives it is longer than the wavelet and holds no lag beyond a record.
// Taps uses only the Grid's axes, NT, DT, Wavelet and WaveletFilter.
func (p *Problem) Taps() survey.Wavelet {
	w := survey.Wavelet{Samples: slices.Clone(p.Wavelet.Samples), Zero: p.Wavelet.Zero, DT: p.DT}
	switch p.WaveletFilter {
	case HalfDerivatives:
		return trimWavelet(survey.Wavelet{Samples: convolveImpulse(impulseOf(p), w, 1-p.NT, p.NT-1), Zero: p.NT - 1, DT: p.DT})
	case PyLopsFilter:
		filterCircular(w.Samples, p.Grid.Dim(), p.DT)
	}
	return w
}

// ringing is how many samples before another wavelet LinearTaps begin: what a filter that ends at the
// Nyquist frequency puts before it.
const ringing = 32

// LinearTaps returns the taps of other wavelets with the length and time zero of p's, as a linear
// function of their samples, and which of the taps is time zero. With HalfDerivatives there are as many
// as any such wavelet needs: from before its first sample to the end of the record.
func LinearTaps(p *Problem) (zero int, taps func(samples []float64) []float64) {
	if p.WaveletFilter != HalfDerivatives {
		return p.Wavelet.Zero, func(samples []float64) []float64 {
			q := *p
			q.Wavelet.Samples = samples
			return q.Taps().Samples
		}
	}
	zero, impulse := min(p.Wavelet.Zero+ringing, p.NT-1), impulseOf(p)
	return zero, func(samples []float64) []float64 {
		return convolveImpulse(impulse, survey.Wavelet{Samples: samples, Zero: p.Wavelet.Zero}, -zero, p.NT-1)
	}
}

// impulseOf returns what (i2πf)^(n/2), up to the Nyquist frequency, makes of a spike: element k belongs to
// lag k, or to the negative lag k − len. Its period is several records, since the half derivative
// falls off with the lag to the power −3/2.
func impulseOf(p *Problem) []float64 {
	return impulse(p, func(w float64) complex128 {
		return cmplx.Pow(complex(0, w), complex(0.5*float64(p.Grid.Dim()-1), 0))
	})
}

// impulse returns what a filter with a response at frequencies ω, in radians a second, makes of a spike,
// see impulseOf.
func impulse(p *Problem, response func(w float64) complex128) []float64 {
	n := 1 << bits.Len(uint(8*(2*p.NT+len(p.Wavelet.Samples))))
	spectrum := make([]complex128, n/2+1)
	for i := range spectrum {
		spectrum[i] = response(2*math.Pi*float64(i)/(float64(n)*p.DT)) / complex(float64(n), 0)
	}
	spectrum[n/2] = complex(real(spectrum[n/2]), 0)
	return fourier.NewFFT(n).Sequence(nil, spectrum)
}

// convolveImpulse convolves a wavelet with an impulse response, for the lags from first to last.
func convolveImpulse(impulse []float64, w survey.Wavelet, first, last int) []float64 {
	out := make([]float64, last-first+1)
	for j, v := range w.Samples {
		if v == 0 {
			continue
		}
		for k := range out {
			out[k] += v * impulse[(first+k-j+w.Zero)&(len(impulse)-1)]
		}
	}
	return out
}

// trimWavelet leaves out the ends of a wavelet, half of the energy of tapsLoss at either.
func trimWavelet(w survey.Wavelet) survey.Wavelet {
	spare := 0.0
	for _, v := range w.Samples {
		spare += 0.5 * tapsLoss * tapsLoss * v * v
	}
	lo, hi := 0, len(w.Samples)
	for lost := w.Samples[lo] * w.Samples[lo]; lo < hi-1 && lost <= spare; lost += w.Samples[lo] * w.Samples[lo] {
		lo++
	}
	for lost := w.Samples[hi-1] * w.Samples[hi-1]; lo < hi-1 && lost <= spare; lost += w.Samples[hi-1] * w.Samples[hi-1] {
		hi--
	}
	lo, hi = min(lo, w.Zero), max(hi, w.Zero+1) // time zero stays within
	return survey.Wavelet{Samples: w.Samples[lo:hi], Zero: w.Zero - lo, DT: w.DT}
}

// filterCircular is PyLops' filter, in place.
func filterCircular(h []float64, dim int, dt float64) {
	n := len(h)
	if n < 2 {
		h[0] = 0 // one sample has no frequency but zero
		return
	}
	fft := fourier.NewFFT(n)
	spectrum := fft.Coefficients(nil, h)
	for i := range spectrum {
		s := complex(0, 2*math.Pi*float64(i)/(float64(n)*dt))
		if dim == 2 {
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
}
