package job

import (
	"math"
	"math/bits"
	"math/cmplx"
	"sync"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// whitener filters with zero phase: spectra are divided by √(|W|² + e² max|W|²), W that
// of the wavelet which the operator convolves with. Each goroutine needs its own.
type whitener struct {
	fft      *fourier.FFT
	gain     []float64    // over the length of the transform; shared
	padded   []float64    // scratch
	spectrum []complex128 // scratch
}

// newWhitener makes the filter for traces of nt samples. The transform is long enough
// that no lag within a trace wraps around.
func newWhitener(w survey.Wavelet, nt int, e float64) *whitener {
	n := 1 << bits.Len(uint(2*(nt+len(w.Samples))))
	f := &whitener{fft: fourier.NewFFT(n), padded: make([]float64, n)}
	copy(f.padded, w.Samples)
	f.spectrum = f.fft.Coefficients(nil, f.padded)
	f.gain = make([]float64, len(f.spectrum))
	largest := 0.0
	for _, c := range f.spectrum {
		largest = max(largest, cmplx.Abs(c))
	}
	for i, c := range f.spectrum {
		f.gain[i] = 1 / math.Hypot(cmplx.Abs(c), e*largest) / float64(n)
	}
	return f
}

func (f *whitener) clone() *whitener {
	n := len(f.padded)
	return &whitener{fourier.NewFFT(n), f.gain, make([]float64, n), make([]complex128, len(f.gain))}
}

// apply filters what stands in padded.
func (f *whitener) apply() {
	f.fft.Coefficients(f.spectrum, f.padded)
	for i, g := range f.gain {
		f.spectrum[i] *= complex(g, 0)
	}
	f.fft.Sequence(f.padded, f.spectrum)
}

// trace filters a trace in place.
func (f *whitener) trace(x []float32) {
	for i, v := range x {
		f.padded[i] = float64(v)
	}
	clear(f.padded[len(x):])
	f.apply()
	for i := range x {
		x[i] = float32(f.padded[i])
	}
}

// whitenLoss is the norm, relative to the whole, of what the whitened wavelet may
// lose by being cut to a support.
const whitenLoss = 1e-4

// wavelet is the filtered wavelet on the shortest support, of lags within a trace of nt
// samples, that leaves half of whitenLoss's energy out at either end.
func (f *whitener) wavelet(w survey.Wavelet, nt int) survey.Wavelet {
	n := len(f.padded)
	clear(f.padded)
	for i, v := range w.Samples {
		f.padded[(i-w.Zero+n)%n] = v
	}
	f.apply()
	lag := func(k int) float64 { return f.padded[(k+n)%n] }
	energy := 0.0
	for _, v := range f.padded {
		energy += v * v
	}
	spare := 0.5 * whitenLoss * whitenLoss * energy
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

// whitenWavelet makes the wavelet of the run with data.whiten: that which the operator
// would convolve with, kirchhoff.wavelet_filter included, filtered.
func (j *Job) whitenWavelet(need Need) error {
	s := j.Survey
	j.Wavelet = s.Wavelet
	e := j.Config.Data.Whiten
	if need != Traces || e == 0 {
		return nil
	}
	p := &kirchhoff.Problem{Grid: j.Image, DT: s.DT, Wavelet: s.Wavelet, WaveletFilter: j.Config.Kirchhoff.WaveletFilter}
	w := survey.Wavelet{Samples: p.Taps(), DT: s.DT, Zero: s.Wavelet.Zero}
	j.white = newWhitener(w, s.NT, e)
	j.Wavelet = j.white.wavelet(w, s.NT)
	return nil
}

// whitenTraces filters traces [n, NT] in place, if the run does so.
func (j *Job) whitenTraces(traces []float32) {
	if j.white == nil {
		return
	}
	defer j.report.Time("whiten")()
	j.whitenAhead(traces)
}

// whitenAhead is whitenTraces beside other work.
func (j *Job) whitenAhead(traces []float32) {
	if j.white == nil {
		return
	}
	nt, threads := j.Survey.NT, j.Host.Threads()
	n := len(traces) / nt
	var all sync.WaitGroup
	for t := range threads {
		all.Add(1)
		go func() {
			defer all.Done()
			f := j.white.clone()
			for i := t; i < n; i += threads {
				f.trace(traces[i*nt : (i+1)*nt])
			}
		}()
	}
	all.Wait()
}
