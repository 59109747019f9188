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

// Whatever the range, ticks lie inside the frame, ascend, and are neither too
// few nor too many.
func TestTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scale{log: rapid.Bool().Draw(t, "log")}
		if s.log {
			s.lo = tickBelow(math.Pow(10, rapid.Float64Range(-14, 3).Draw(t, "low"))) // as convergence charts have it
			s.hi = s.lo * math.Pow(10, rapid.Float64Range(0.31, 15).Draw(t, "decades"))
		} else {
			s.lo = rapid.Float64Range(-100, 100).Draw(t, "low")
			s.hi = s.lo + math.Pow(10, rapid.Float64Range(-2, 6).Draw(t, "span"))
		}
		c := newChart("x", "y")
		got := c.ticks(s, 6, func(f float64) float64 { return c.Left + f*(c.Right-c.Left) })
		if len(got) < 1 || len(got) > 14 {
			t.Fatalf("%d ticks from %g to %g", len(got), s.lo, s.hi)
		}
		for i, k := range got {
			if k.At < c.Left-0.1 || k.At > c.Right+0.1 || i > 0 && k.At <= got[i-1].At {
				t.Fatalf("ticks %v from %g to %g", got, s.lo, s.hi)
			}
		}
	})
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
