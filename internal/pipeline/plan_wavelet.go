package pipeline

import (
	"math"
	"math/bits"
	"math/cmplx"
	"sync"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Band is the frequency content of a wavelet, in Hz.
type Band struct {
	Peak float64 // largest amplitude
	High float64 // 99 % of the energy lies below
}

// BandOf measures the wavelet's spectrum, zero-padded to at least 1024 samples.
func BandOf(w survey.Wavelet) Band {
	n := max(1024, 2*len(w.Samples))
	padded := make([]float64, n)
	copy(padded, w.Samples)
	fft := fourier.NewFFT(n)
	total, largest := 0.0, 0.0
	b := Band{High: math.NaN()}
	energy := make([]float64, n/2+1)
	for i, c := range fft.Coefficients(nil, padded) {
		energy[i] = real(c)*real(c) + imag(c)*imag(c)
		total += energy[i]
		if energy[i] > largest {
			largest, b.Peak = energy[i], fft.Freq(i)/w.DT
		}
	}
	sum := 0.0
	for i, e := range energy {
		if sum += e; sum >= 0.99*total {
			b.High = fft.Freq(i) / w.DT
			break
		}
	}
	return b
}

// Whitener filters with zero phase: spectra are divided by √(|W|² + e² max|W|²), W that
// of the wavelet which the operator convolves with.
type Whitener struct {
	n    int       // length of the transform
	gain []float64 // by frequency, divided by n
}

// newWhitener makes the filter for traces of nt samples. The transform is long enough
// that no lag within a trace wraps around.
func newWhitener(w survey.Wavelet, nt int, e float64) *Whitener {
	f := &Whitener{n: 1 << bits.Len(uint(2*(nt+len(w.Samples))))}
	padded := make([]float64, f.n)
	copy(padded, w.Samples)
	spectrum := fourier.NewFFT(f.n).Coefficients(nil, padded)
	largest := 0.0
	for _, c := range spectrum {
		largest = max(largest, cmplx.Abs(c))
	}
	for _, c := range spectrum {
		f.gain = append(f.gain, 1/math.Hypot(cmplx.Abs(c), e*largest)/float64(f.n))
	}
	return f
}

// filter returns a function that filters n samples in place. Each goroutine needs its own.
func (f *Whitener) filter() func(x []float64) {
	fft, spectrum := fourier.NewFFT(f.n), make([]complex128, len(f.gain))
	return func(x []float64) {
		fft.Coefficients(spectrum, x)
		for i, g := range f.gain {
			spectrum[i] *= complex(g, 0)
		}
		fft.Sequence(x, spectrum)
	}
}

// WhitenLoss is the norm of the samples that the whitened wavelet may lose when it is cut to a
// support, relative to the norm of the whole.
const WhitenLoss = 1e-4

// wavelet is the filtered wavelet on the shortest support, of lags within a trace of nt
// samples, that leaves half of WhitenLoss's energy out at either end.
func (f *Whitener) wavelet(w survey.Wavelet, nt int) survey.Wavelet {
	x := make([]float64, f.n)
	for i, v := range w.Samples {
		x[(i-w.Zero+f.n)%f.n] = v
	}
	f.filter()(x)
	lag := func(k int) float64 { return x[(k+f.n)%f.n] }
	energy := 0.0
	for _, v := range x {
		energy += v * v
	}
	spare := 0.5 * WhitenLoss * WhitenLoss * energy
	first, last := 1-nt, nt-1
	for lost := lag(first) * lag(first); first < 0 && lost <= spare; lost += lag(first) * lag(first) {
		first++
	}
	for lost := lag(last) * lag(last); last > 0 && lost <= spare; lost += lag(last) * lag(last) {
		last--
	}
	out := survey.Wavelet{DT: w.DT, Zero: -first}
	for k := first; k <= last; k++ {
		out.Samples = append(out.Samples, lag(k))
	}
	return out
}

// TapsOf makes a problem that says by which taps kirchhoff.wavelet_filter makes of a wavelet what traces
// are convolved with.
func TapsOf(c config.Kirchhoff, g *Geometry, w survey.Wavelet) *kirchhoff.Problem {
	return &kirchhoff.Problem{Grid: g.Image, NT: g.Survey.NT, DT: g.Survey.DT, Wavelet: w, WaveletFilter: kirchhoff.FilterNamed(c.WaveletFilter)}
}

// whitenWavelet makes the wavelet of the run with data.whiten: it filters the wavelet that the operator
// would convolve with, kirchhoff.wavelet_filter included.
func whitenWavelet(cfg *config.Config, g *Geometry) (*Whitener, survey.Wavelet) {
	s := g.Survey
	w := TapsOf(cfg.Kirchhoff, g, s.Wavelet).Taps()
	white := newWhitener(w, s.NT, cfg.Data.Whiten)
	return white, white.wavelet(w, s.NT)
}

// Traces filters traces [n, nt] in place, each thread some of them. A nil Whitener leaves
// them as they are.
func (f *Whitener) Traces(traces []float32, nt, threads int) {
	if f == nil {
		return
	}
	var all sync.WaitGroup
	for t := range threads {
		all.Add(1)
		go func() {
			defer all.Done()
			filter, padded := f.filter(), make([]float64, f.n)
			for i := t * nt; i < len(traces); i += threads * nt {
				trace := traces[i : i+nt]
				for k, v := range trace {
					padded[k] = float64(v)
				}
				clear(padded[nt:])
				filter(padded)
				for k := range trace {
					trace[k] = float32(padded[k])
				}
			}
		}()
	}
	all.Wait()
}
