package plan

import (
	"math"
	"math/bits"
	"math/cmplx"
	"sync"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Whitener filters with zero phase: spectra are divided by √(|W|² + e² max|W|²), W that
// of the wavelet which the operator convolves with. Each goroutine needs its own.
type Whitener struct {
	fft      *fourier.FFT
	gain     []float64    // over the length of the transform; shared
	padded   []float64    // scratch
	spectrum []complex128 // scratch
}

// newWhitener makes the filter for traces of nt samples. The transform is long enough
// that no lag within a trace wraps around.
func newWhitener(w survey.Wavelet, nt int, e float64) *Whitener {
	n := 1 << bits.Len(uint(2*(nt+len(w.Samples))))
	f := &Whitener{fft: fourier.NewFFT(n), padded: make([]float64, n)}
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

func (f *Whitener) clone() *Whitener {
	n := len(f.padded)
	return &Whitener{fourier.NewFFT(n), f.gain, make([]float64, n), make([]complex128, len(f.gain))}
}

// apply filters what stands in padded.
func (f *Whitener) apply() {
	f.fft.Coefficients(f.spectrum, f.padded)
	for i, g := range f.gain {
		f.spectrum[i] *= complex(g, 0)
	}
	f.fft.Sequence(f.padded, f.spectrum)
}

// trace filters a trace in place.
func (f *Whitener) trace(x []float32) {
	for i, v := range x {
		f.padded[i] = float64(v)
	}
	clear(f.padded[len(x):])
	f.apply()
	for i := range x {
		x[i] = float32(f.padded[i])
	}
}

// WhitenLoss is the norm, relative to the whole, of what the whitened wavelet may
// lose by being cut to a support.
const WhitenLoss = 1e-4

// wavelet is the filtered wavelet on the shortest support, of lags within a trace of nt
// samples, that leaves half of WhitenLoss's energy out at either end.
func (f *Whitener) wavelet(w survey.Wavelet, nt int) survey.Wavelet {
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

// whiten makes the wavelet of the run with data.whiten: that which the operator would
// convolve with, kirchhoff.wavelet_filter included, filtered.
func (p *Plan) whiten() {
	s, e := p.Survey, p.Config.Data.Whiten
	if p.Need != Traces || e == 0 {
		return
	}
	k := &kirchhoff.Problem{Grid: p.Image, DT: s.DT, Wavelet: s.Wavelet, WaveletFilter: p.Config.Kirchhoff.WaveletFilter}
	w := survey.Wavelet{Samples: k.Taps(), DT: s.DT, Zero: s.Wavelet.Zero}
	p.White = newWhitener(w, s.NT, e)
	p.Wavelet = p.White.wavelet(w, s.NT)
}

// Traces filters traces [n, nt] in place, each thread some of them. A nil Whitener leaves
// them as they are.
func (f *Whitener) Traces(traces []float32, nt, threads int) {
	if f == nil {
		return
	}
	n := len(traces) / nt
	var all sync.WaitGroup
	for t := range threads {
		all.Add(1)
		go func() {
			defer all.Done()
			own := f.clone()
			for i := t; i < n; i += threads {
				own.trace(traces[i*nt : (i+1)*nt])
			}
		}()
	}
	all.Wait()
}
