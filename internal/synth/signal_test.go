package synth

import (
	"math"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"pgregory.net/rapid"
)

// amplitude is the modulus of the wavelet's Fourier sum at frequency f.
func amplitude(w []float64, dt, f float64) float64 {
	re, im := 0.0, 0.0
	for i, v := range w {
		s, c := math.Sincos(2 * math.Pi * f * float64(i) * dt)
		re, im = re+v*c, im+v*s
	}
	return math.Hypot(re, im)
}

func TestRicker(t *testing.T) {
	for _, peak := range []float64{5, 13, 20, 30} {
		dt := niceInterval(peak)
		w := Ricker(peak, dt)
		if w.Samples[w.Zero] != 1 || len(w.Samples) != 2*w.Zero+1 {
			t.Errorf("%g Hz: %g at sample %d of %d", peak, w.Samples[w.Zero], w.Zero, len(w.Samples))
		}
		for i := range w.Zero {
			if w.Samples[i] != w.Samples[len(w.Samples)-1-i] {
				t.Errorf("%g Hz: sample %d differs from its mirror", peak, i)
			}
		}
		if e := math.Abs(w.Samples[0]); e > 1e-7 {
			t.Errorf("%g Hz: ends at %g", peak, e)
		}
		best, at := 0.0, 0.0
		for f := 0.2; f < 4*peak; f += 0.01 {
			if a := amplitude(w.Samples, dt, f); a > best {
				best, at = a, f
			}
		}
		if math.Abs(at-peak) > 0.02 {
			t.Errorf("spectrum peaks at %g Hz, want %g", at, peak)
		}
		// (f/p)² exp(1 - (f/p)²) of the peak: 3 % at the highest frequency.
		if r := amplitude(w.Samples, dt, highest*peak) / best; math.Abs(r-6.25*math.Exp(-5.25)) > 1e-3 {
			t.Errorf("%g Hz: amplitude at %g peaks is %g of the peak's", peak, highest, r)
		}
	}
}

func TestNiceInterval(t *testing.T) {
	for peak, want := range map[float64]float64{5: 0.02, 10: 0.01, 13: 0.004, 20: 0.004, 25: 0.004, 30: 0.002, 60: 0.001} {
		if got := niceInterval(peak); got != want {
			t.Errorf("interval for %g Hz is %g s, want %g", peak, got, want)
		}
	}
}

func TestSmooth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.IntRange(1, 12), 2, 3).Draw(t, "shape")
		g := grid.Grid{Shape: shape}
		for range shape {
			g.Origin = append(g.Origin, 0)
			g.Spacing = append(g.Spacing, rapid.Float64Range(1, 20).Draw(t, "spacing"))
		}
		radius := rapid.Float64Range(-1, 100).Draw(t, "radius")
		v := make([]float64, g.Len())
		before := 0.0
		for i := range v {
			v[i] = rapid.Float64Range(1000, 6000).Draw(t, "v")
			before += 1 / v[i]
		}
		s := Smooth(g, v, radius)
		after := 0.0
		for i, x := range s {
			after += 1 / x
			if x < slices.Min(v)*(1-1e-12) || x > slices.Max(v)*(1+1e-12) {
				t.Fatalf("point %d is %g, outside the range of the model", i, x)
			}
		}
		if math.Abs(after-before) > 1e-12*before {
			t.Fatalf("mean slowness changes by %g", after/before-1)
		}
		for i, x := range Smooth(g, constant(g, 2345), radius) {
			if math.Abs(x-2345) > 1e-9 {
				t.Fatalf("a constant of 2345 becomes %g at %d", x, i)
			}
		}
	})
}

// The radius is the standard deviation in metres on every axis, whatever the
// spacing: the second moment of a smoothed spike of slowness is radius².
func TestSmoothRadius(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{20, 5}, Shape: []int{81, 321}}
	v := constant(g, 2000)
	v[40*321+160] = 1000
	s := Smooth(g, v, 60)
	p := make([]float64, 2)
	sum, xx, zz := 0.0, 0.0, 0.0
	for i, x := range s {
		w := 1/x - 1.0/2000
		g.Point(p, i)
		sum, xx, zz = sum+w, xx+w*(p[0]-800)*(p[0]-800), zz+w*(p[1]-800)*(p[1]-800)
	}
	// The kernel ends at four deviations, which costs 0.1 % of the moment.
	if a, b := math.Sqrt(xx/sum), math.Sqrt(zz/sum); math.Abs(a-60) > 0.2 || math.Abs(b-60) > 0.2 {
		t.Errorf("deviations are %g and %g m, want 60", a, b)
	}
	if c := Smooth(g, v, 0); !slices.Equal(c, v) {
		t.Error("radius 0 changes the model")
	}
}

func TestReflectivity(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{2, 6}}
	v := []float64{2000, 2000, 2000, 2500, 2500, 2500, 3000, 3000, 3000, 3000, 3000, 3000}
	r := Reflectivity(g, v)
	// (2500-2000)/(2500+2000), in the small-contrast form ½ ln(2500/2000).
	half := float32(0.25 * math.Log(1.25))
	if want := []float32{0, 0, half, half, 0, 0, 0, 0, 0, 0, 0, 0}; !slices.Equal(r, want) {
		t.Errorf("reflectivity is %v, want %v", r, want)
	}
	if exact := 500.0 / 4500; math.Abs(2*float64(half)-exact) > 0.005 {
		t.Errorf("coefficient is %g, exactly it is %g", 2*half, exact)
	}
}

func TestAddNoise(t *testing.T) {
	clean := make([]float32, 100001)
	for i := range clean {
		clean[i] = float32(math.Sin(float64(i) / 7))
	}
	noisy := slices.Clone(clean)
	sigma, err := AddNoise(noisy, 4, 17)
	if err != nil {
		t.Fatal(err)
	}
	var s1, s2, s4, signal float64
	for i, v := range noisy {
		d := float64(v) - float64(clean[i])
		s1, s2, s4 = s1+d, s2+d*d, s4+d*d*d*d
		signal += float64(clean[i]) * float64(clean[i])
	}
	n := float64(len(clean))
	if snr := math.Sqrt(signal / s2); math.Abs(snr-4) > 0.05 {
		t.Errorf("signal-to-noise ratio is %g, want 4", snr)
	}
	if math.Abs(sigma-math.Sqrt(signal/n)/4) > 1e-12 {
		t.Errorf("sigma is %g", sigma)
	}
	// Five standard errors of the mean and of the kurtosis of a normal variate.
	if math.Abs(s1/n) > 5*sigma/math.Sqrt(n) || math.Abs(n*s4/(s2*s2)-3) > 5*math.Sqrt(24/n) {
		t.Errorf("mean %g, kurtosis %g: not normal", s1/n, n*s4/(s2*s2))
	}
	again, other := slices.Clone(clean), slices.Clone(clean)
	AddNoise(again, 4, 17)
	AddNoise(other, 4, 18)
	if !slices.Equal(again, noisy) || slices.Equal(other, noisy) {
		t.Error("the seed does not decide the noise")
	}
	if _, err := AddNoise(clean, 0, 1); err == nil {
		t.Error("a ratio of 0 is accepted")
	}
	same := slices.Clone(clean)
	if s, err := AddNoise(same, math.Inf(1), 1); err != nil || s != 0 || !slices.Equal(same, clean) {
		t.Errorf("an infinite ratio adds noise (%v)", err)
	}
	zero := make([]float32, 5)
	if s, err := AddNoise(zero, 2, 1); err != nil || s != 0 || slices.Max(zero) != 0 {
		t.Errorf("data of zeros get noise (%v)", err)
	}
}
