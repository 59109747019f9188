package wavelet

import (
	"fmt"
	"maps"
	"math"
	"math/cmplx"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/dsp/window"
	"gonum.org/v1/gonum/floats"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// tapers is how many sine tapers a trace is multiplied by (Riedel and Sidorenko 1995,
// "Minimum bias multiple taper spectral estimation", IEEE Trans. Signal Process. 43). They
// smooth the spectrum over 6/(2 nt dt) Hz and keep strong frequencies out of weak ones.
const tapers = 5

// Spectrum is the mean power spectrum of traces, each scaled to unit energy, so that none
// of them counts more than others. Those far below the others (survey.Levels) do not count.
type Spectrum struct {
	DT     float64 // s
	Traces int     // that were added, without silent ones

	nt, n  int               // samples of a trace and of the transform
	sums   map[int][]float64 // of the power, by the traces' decade
	levels survey.Levels
	fft    *fourier.FFT
	tapers [tapers][]float64
	padded []float64
	out    []complex128
}

// NewSpectrum is the spectrum of no trace yet, for traces of nt samples at dt s.
func NewSpectrum(nt int, dt float64) *Spectrum {
	s := &Spectrum{DT: dt, nt: nt, n: fast(max(2*nt, 1024))}
	s.fft, s.padded = fourier.NewFFT(s.n), make([]float64, s.n)
	s.sums, s.levels, s.out = map[int][]float64{}, survey.Levels{}, make([]complex128, s.n/2+1)
	for k := range s.tapers {
		s.tapers[k] = make([]float64, nt)
		for t := range s.tapers[k] {
			s.tapers[k][t] = math.Sin(math.Pi * float64((k+1)*(t+1)) / float64(nt+1))
		}
	}
	return s
}

// Add adds a trace of finite samples. A silent one is left out.
func (s *Spectrum) Add(trace []float32) {
	energy := 0.0
	for _, v := range trace {
		energy += float64(v) * float64(v)
	}
	decade, ok := survey.Decade(trace)
	if !ok {
		return
	}
	power := s.sums[decade]
	if power == nil {
		power = make([]float64, s.n/2+1)
		s.sums[decade] = power
	}
	for _, taper := range s.tapers {
		for t, v := range trace {
			s.padded[t] = taper[t] * float64(v)
		}
		for i, c := range s.fft.Coefficients(s.out, s.padded) {
			power[i] += (real(c)*real(c) + imag(c)*imag(c)) / energy
		}
	}
	s.levels[decade]++
	s.Traces++
}

// power is the sum of the power of the traces that count.
func (s *Spectrum) power() []float64 {
	all, least := make([]float64, s.n/2+1), s.levels.Least()
	for _, decade := range slices.Sorted(maps.Keys(s.sums)) {
		if decade >= least {
			floats.Add(all, s.sums[decade])
		}
	}
	return all
}

// Amplitudes are the roots of the mean power, from 0 Hz to Nyquist, as values against
// Frequencies. Their scale has no meaning.
func (s *Spectrum) Amplitudes() []float64 {
	a := s.power()
	for i, p := range a {
		a[i] = math.Sqrt(p)
	}
	return a
}

// Frequencies are the frequencies of Amplitudes, Hz.
func (s *Spectrum) Frequencies() []float64 {
	f := make([]float64, s.n/2+1)
	for i := range f {
		f[i] = s.fft.Freq(i) / s.DT
	}
	return f
}

// Of are the amplitudes of a wavelet at the frequencies of the spectrum.
func (s *Spectrum) Of(samples []float64) []float64 {
	fft := s.fft
	n := s.n
	if len(samples) > n {
		panic(fmt.Sprintf("wavelet: %d samples for a transform of %d", len(samples), n))
	}
	padded := make([]float64, n)
	copy(padded, samples)
	a := make([]float64, n/2+1)
	for i, c := range fft.Coefficients(nil, padded) {
		a[i] = cmplx.Abs(c)
	}
	return a
}

// smooth are the amplitudes that a wavelet of n samples can have: the autocorrelation is
// multiplied by a Parzen window that ends at twice the longest lag of such a wavelet, as
// Blackman and Tukey (1958) do. Its transform is nowhere negative, so power stays power.
func (s *Spectrum) smooth(n int) []float64 {
	spectrum := make([]complex128, s.n/2+1)
	for i, p := range s.power() {
		spectrum[i] = complex(p/float64(s.n), 0)
	}
	lags := s.fft.Sequence(nil, spectrum)
	end := float64(min(2*n, s.n/2))
	for i := range lags {
		u := float64(min(i, s.n-i)) / end
		switch {
		case u >= 1:
			lags[i] = 0
		case u > 0.5:
			lags[i] *= 2 * math.Pow(1-u, 3)
		default:
			lags[i] *= 1 - 6*u*u*(1-u)
		}
	}
	a := make([]float64, s.n/2+1)
	for i, c := range s.fft.Coefficients(spectrum, lags) {
		a[i] = math.Sqrt(max(0, real(c)))
	}
	return a
}

// ZeroPhase is the wavelet of n samples, an odd number, that is symmetric about its middle,
// where its time zero is, and has the smoothed amplitudes of the spectrum. Its ends are tapered,
// and its largest sample is 1.
func (s *Spectrum) ZeroPhase(n int) survey.Wavelet {
	half := n / 2
	spectrum := make([]complex128, s.n/2+1)
	for i, a := range s.smooth(n) {
		spectrum[i] = complex(a, 0)
	}
	x := s.fft.Sequence(nil, spectrum)
	w := survey.Wavelet{DT: s.DT, Zero: half}
	for k := -half; k <= half; k++ {
		w.Samples = append(w.Samples, x[(k+s.n)%s.n])
	}
	taper(w.Samples, true, true)
	normalize(w.Samples)
	return w
}

// leastPower is added to the power at all frequencies, relative to the largest, before its
// logarithm is taken: 0.1 %, the prewhitening that is usual in spiking deconvolution.
const leastPower = 1e-3

// MinimumPhase is the wavelet of n samples, the first at time zero, that has the smoothed
// amplitudes of the spectrum and the earliest possible energy. The part of the cepstrum
// at negative times is folded onto positive ones (Oppenheim and Schafer 1989, section
// 12.2). Its end is tapered, and its largest sample is 1 or −1.
func (s *Spectrum) MinimumPhase(n int) survey.Wavelet {
	a := s.smooth(n)
	floor := leastPower * math.Pow(floats.Max(a), 2)
	spectrum := make([]complex128, len(a))
	for i, v := range a {
		spectrum[i] = complex(0.5*math.Log(v*v+floor)/float64(s.n), 0)
	}
	cepstrum := s.fft.Sequence(nil, spectrum)
	for i := 1; i < s.n; i++ {
		switch {
		case 2*i < s.n:
			cepstrum[i] *= 2
		case 2*i > s.n:
			cepstrum[i] = 0
		}
	}
	for i, c := range s.fft.Coefficients(spectrum, cepstrum) {
		spectrum[i] = cmplx.Exp(c)
	}
	w := survey.Wavelet{DT: s.DT, Samples: s.fft.Sequence(nil, spectrum)[:n]}
	taper(w.Samples, false, true)
	normalize(w.Samples)
	return w
}

// taper multiplies a tenth of the samples at either end by a cosine.
func taper(x []float64, begin, end bool) {
	n := max(1, len(x)/10)
	flank := window.Hann(ones(2*n + 1))[:n]
	for i, v := range flank {
		if begin {
			x[i] *= v
		}
		if end {
			x[len(x)-1-i] *= v
		}
	}
}

func ones(n int) []float64 {
	x := make([]float64, n)
	floats.AddConst(1, x)
	return x
}

// normalize makes the largest magnitude 1. It leaves silence as it is.
func normalize(x []float64) {
	if peak := survey.Peak(x); peak > 0 {
		floats.Scale(1/peak, x)
	}
}

// fast is the least number from n on without prime factors above 5.
func fast(n int) int {
	for ; ; n++ {
		m := n
		for _, p := range []int{2, 3, 5} {
			for m%p == 0 {
				m /= p
			}
		}
		if m == 1 && n%2 == 0 {
			return n
		}
	}
}
