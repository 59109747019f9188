package kirchhoff

import "github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"

// filter is one direction of the convolution with the wavelet, as a sum over taps:
// y[n] = Σ_j taps[j] x[n + j + first].
type filter struct {
	taps  []float32
	first int // ≤ 0 where the sum starts before its sample
}

// newFilters returns the convolution with h, d[n] = Σ_j h[j] u[n − j + zero], and
// its transpose. Lags beyond a record of nt samples reach nothing and are left out,
// as are zeros at both ends.
func newFilters(h []float64, zero, nt int) (convolve, correlate *filter) {
	lo, hi := max(0, zero-nt+1), min(len(h), zero+nt)
	for lo < hi-1 && h[lo] == 0 {
		lo++
	}
	for lo < hi-1 && h[hi-1] == 0 {
		hi--
	}
	if lo >= hi { // the whole wavelet lies out of reach
		return &filter{taps: []float32{0}}, &filter{taps: []float32{0}}
	}
	taps := make([]float32, hi-lo)
	reversed := make([]float32, hi-lo)
	for j := range taps {
		taps[j] = float32(h[lo+j])
		reversed[len(taps)-1-j] = taps[j]
	}
	return &filter{taps: reversed, first: zero - (hi - 1)}, &filter{taps: taps, first: lo - zero}
}

// padded is a trace with zeros at both ends, as far as a filter reaches.
type padded struct {
	all   []float32 // what the filter reads: from the first tap of the first sample
	trace []float32 // the samples, within all
}

func (f *filter) padded(nt int) padded {
	before := max(0, -f.first)
	all := make([]float32, before+max(0, f.first)+nt+len(f.taps)+2*simd.TileSize)
	return padded{all: all[before+f.first:], trace: all[before : before+nt]}
}

// apply filters a trace into y, or adds.
func (f *filter) apply(isa simd.ISA, y []float32, x padded, add bool) {
	isa.Filter(y, x.all, f.taps, add)
}
