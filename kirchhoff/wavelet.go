package kirchhoff

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// Filter is one direction of the convolution with the wavelet, as a sum over taps:
// y[n] = Σ_j Taps[j] x[n + j + First].
type Filter struct {
	Taps  []float32
	First int
}

// tail bounds the samples left out at either end, as a fraction of the wavelet's largest
// sample: their sum is at most a hundredth of the resolution of float32. Wavelets are often
// stored with long ends of almost zero.
const tail = 1e-9

// newFilters returns the convolution with h, d[n] = Σ_j h[j] u[n − j + zero], and
// its transpose, which have the same taps in reverse order. Left out are lags
// beyond a record of nt samples, which reach nothing, and negligible ends.
//
// Sums over taps run at 8 to 30 multiplications a nanosecond, so up to several
// thousand taps they take less time than Fourier transforms would.
func newFilters(h []float64, zero, nt int) (convolve, correlate *Filter) {
	lo, hi := max(0, zero-nt+1), min(len(h), zero+nt)
	largest := 0.0
	for _, v := range h[lo:hi] {
		largest = max(largest, math.Abs(v))
	}
	for sum := math.Abs(h[lo]); lo < hi-1 && sum <= tail*largest; sum += math.Abs(h[lo]) {
		lo++
	}
	for sum := math.Abs(h[hi-1]); lo < hi-1 && sum <= tail*largest; sum += math.Abs(h[hi-1]) {
		hi--
	}
	taps := make([]float32, hi-lo)
	reversed := make([]float32, hi-lo)
	for j := range taps {
		taps[j] = float32(h[lo+j])
		reversed[len(taps)-1-j] = taps[j]
	}
	return &Filter{Taps: reversed, First: zero - (hi - 1)}, &Filter{Taps: taps, First: lo - zero}
}

// response is the filter from samples to data: sample n gets Σ_i h[n − i + zero] u[i].
type response struct {
	h    []float64
	zero int
}

func responseOf(p *Problem) response {
	taps := p.Taps()
	return response{taps.Samples, taps.Zero}
}

// filters returns the convolution and its transpose for records of nt samples.
func (r response) filters(nt int) (convolve, correlate *Filter) { return newFilters(r.h, r.zero, nt) }

// convolve adds what the trace u becomes to y.
func (r response) convolve(y, u []float64) {
	for n := range y {
		at := n + r.zero
		for j := max(0, at-len(u)+1); j < min(len(r.h), at+1); j++ {
			y[n] += r.h[j] * u[at-j]
		}
	}
}

// correlate sets e to what the transpose of convolve makes of d.
func (r response) correlate(e, d []float64) {
	clear(e)
	for i := range e {
		for n := max(0, i-r.zero); n < len(d) && n-i+r.zero < len(r.h); n++ {
			e[i] += r.h[n-i+r.zero] * d[n]
		}
	}
}

// padded is a trace with zeros at both ends, as far as a filter reaches.
type padded struct {
	all   []float32 // what the filter reads: from the first tap of the first sample
	trace []float32 // the samples, within all
}

func (f *Filter) padded(m *memory, nt int) padded {
	before := max(0, -f.First)
	all := onHeap[float32](m, before+max(0, f.First)+nt+len(f.Taps)+3*simd.TileSize)
	if m.counting {
		return padded{}
	}
	return padded{all: all[before+f.First:], trace: all[before : before+nt]}
}

// apply filters a trace into y, or adds.
func (f *Filter) apply(isa simd.ISA, y []float32, x padded, add bool) {
	isa.Filter(y, x.all, f.Taps, add)
}
