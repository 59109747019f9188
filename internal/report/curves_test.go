package report

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// A sine along depth has its peak where it belongs, and its band around it.
func TestMeanSpectrum(t *testing.T) {
	const n, step, cycles = 200, 0.01, 12.0 // 12 cycles/km of samples at 10 m
	v := make([]float32, 3*n)
	for i := range v {
		v[i] = float32(math.Sin(2 * math.Pi * cycles * step * float64(i%n)))
	}
	s := meanSpectrum(v, n, step)
	at := 0
	for i, a := range s.amp {
		if a > s.amp[at] {
			at = i
		}
	}
	resolution := 1 / (n * step)
	if math.Abs(s.freq[at]-cycles) > resolution/2 {
		t.Errorf("peak at %g, want %g cycles/km", s.freq[at], cycles)
	}
	if lo, hi := s.band(); !(lo < cycles && cycles < hi) || hi-lo > 3*resolution {
		t.Errorf("band from %g to %g", lo, hi)
	}
	if last := s.freq[len(s.freq)-1]; math.Abs(last-0.5/step) > 1e-9 {
		t.Errorf("ends at %g, want the Nyquist wavenumber %g", last, 0.5/step)
	}
	if db := s.decibels(s.most()); db[at] != 0 || db[len(db)-1] > -30 {
		t.Errorf("%g dB at the peak, %g dB far from it", db[at], db[len(db)-1])
	}
	if s := meanSpectrum(v[:1], 1, step); s.most() != 0 {
		t.Error("a single sample has a spectrum")
	}
}

// Of more columns than are taken the mean is that of evenly spread ones.
func TestMeanSpectrumOfMany(t *testing.T) {
	const n = 4
	v := make([]float32, n*(spectrumColumns+7))
	for i := range v {
		v[i] = float32(1 + i%n)
	}
	few, many := meanSpectrum(v[:n], n, 1), meanSpectrum(v, n, 1)
	for i := range few.amp {
		if math.Abs(few.amp[i]-many.amp[i]) > 1e-9*few.most() {
			t.Fatalf("frequency %d: %g of one column, %g of many equal ones", i, few.amp[i], many.amp[i])
		}
	}
}

// The table of iterations has the first and the last, and no more than fit.
func TestSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, k := rapid.IntRange(1, 5000).Draw(t, "n"), rapid.IntRange(2, 40).Draw(t, "k")
		got := spread(n, k)
		if len(got) != min(n, k) || got[0] != 0 || got[len(got)-1] != n-1 {
			t.Fatalf("%v of %d", got, n)
		}
		for i := 1; i < len(got); i++ {
			if got[i] <= got[i-1] {
				t.Fatalf("%v of %d", got, n)
			}
		}
	})
}
