package quality

import (
	"math"
	"slices"
	"testing"
)

// ricker has its peak, 1, at sample 50; f is in cycles a sample.
func ricker(f float64) []float32 {
	v := make([]float32, 101)
	for i := range v {
		a := math.Pow(math.Pi*f*float64(i-50), 2)
		v[i] = float32((1 - 2*a) * math.Exp(-a))
	}
	return v
}

// TestSpikes finds a single sample and leaves wavelets alone, up to half the Nyquist
// frequency at their peak.
func TestSpikes(t *testing.T) {
	for _, f := range []float64{0.02, 0.1, 0.2, 0.25} {
		v := ricker(f)
		if n := spikes(v, Measure(v).RMS); n != 0 {
			t.Errorf("peak at %g cycles a sample: %d spikes", f, n)
		}
		v[20] = 8
		if n := spikes(v, Measure(v).RMS); n != 1 {
			t.Errorf("peak at %g cycles a sample: %d spikes, want 1", f, n)
		}
	}
}

// TestAlike compares a wavelet with itself, later and reversed.
func TestAlike(t *testing.T) {
	v := ricker(0.05)
	later := append(make([]float32, 4), v[:97]...)
	if l := alike(later, v, 8); l.sign() != 1 || l.lag != 4 || l.most < 0.999 {
		t.Errorf("later: %+v", l)
	}
	for i := range later {
		later[i] *= -3
	}
	for name, l := range map[string]likeness{"whole": alike(later, v, 8), "strongest": strongest(later, v, 12, 8)} {
		if l.sign() != -1 || l.lag != 4 {
			t.Errorf("%s, reversed: %+v", name, l)
		}
	}
	if l := alike(v, make([]float32, 101), 8); l.sign() != 0 {
		t.Errorf("a dead trace: %+v", l)
	}
}

// TestReversed finds the members of a sequence that are opposite to the others.
func TestReversed(t *testing.T) {
	for name, c := range map[string]struct {
		signs string // "0" for members that nothing is known of
		want  []int
	}{
		"none":            {"++++++++++", nil},
		"one":             {"+++++-++++", []int{5}},
		"two together":    {"+++++--+++++", []int{5, 6}},
		"the first":       {"-+++++++", []int{0}},
		"near the first":  {"+--++++++", []int{1, 2}},
		"the last":        {"+++++++-", []int{7}},
		"another half":    {"++++++------", nil}, // as of converted waves
		"across a gap":    {"+++0-+++", []int{4}},
		"a short chain":   {"+-", nil},
		"nothing is told": {"00000000", nil},
	} {
		links, from := make([]int, len(c.signs)), make([]int, len(c.signs))
		last := -1
		for i, s := range c.signs {
			if s == '0' {
				continue
			}
			if last >= 0 {
				links[i], from[i] = 1, last
				if byte(s) != c.signs[last] {
					links[i] = -1
				}
			}
			last = i
		}
		var got []int
		for i, is := range reversed(links, from) {
			if is {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestGaps(t *testing.T) {
	regular := []float64{0, 10, 20, 30, 60, 70, 80}
	if list := gapsOf(regular); len(list) != 1 || list[0] != (gap{30, 60, 2}) {
		t.Errorf("regular: %v", list)
	}
	if list := gapsOf([]float64{0, 10, 25, 30, 48, 50, 70, 80, 99}); list != nil {
		t.Errorf("irregular: %v", list)
	}
	if list := gapsOf([]float64{0, 10, 50}); list != nil {
		t.Errorf("too few: %v", list)
	}
}

func TestEvenness(t *testing.T) {
	if e := evenness([]int{5, 5, 5, 5}); math.Abs(e-1) > 1e-12 {
		t.Errorf("equal counts: %g", e)
	}
	if e := evenness([]int{20, 0, 0, 0}); e != 0 {
		t.Errorf("one bin: %g", e)
	}
}
