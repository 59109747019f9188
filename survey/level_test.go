package survey

import (
	"math"
	"testing"
)

// Traces far below the others are told, however many there are, and whatever a few strong ones do.
func TestLevels(t *testing.T) {
	l := Levels{}
	add := func(rms float32, n int) {
		for range n {
			if d, ok := Decade([]float32{rms, -rms}); ok {
				l[d]++
			}
		}
	}
	add(6e-3, 60)
	add(1e-38, 400) // of rounding
	add(0, 100)
	add(1e9, 3) // spikes
	for rms, counts := range map[float32]bool{6e-3: true, 3e-6: true, 2e-7: true, 1.5e-8: true, 5e-9: false, 1e-20: false, 1e-38: false, 1e-45: false} {
		if d, ok := Decade([]float32{rms}); !ok || (d >= l.Least()) != counts {
			t.Errorf("%g: counts %v, want %v", rms, d >= l.Least(), counts)
		}
	}
	for _, trace := range [][]float64{{0, 0}, {math.NaN()}, {math.Inf(1)}, {}} {
		if d, ok := Decade(trace); ok {
			t.Errorf("%v has the level %d", trace, d)
		}
	}
	if d := (Levels{}).Least(); d != math.MinInt {
		t.Errorf("without traces %d", d)
	}
}
