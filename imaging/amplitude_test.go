package imaging

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// stretched is the gather of a reflector with the given amplitudes: a wavelet that becomes
// longer by 1/cos θ and lower by cos θ, as that of a wave does.
func stretched(angles []float64, amplitude func(angle float64) float64, depth float64, nz int) []float32 {
	var out []float32
	for _, a := range angles {
		c := cosine(a)
		for k := range nz {
			x := math.Pow((float64(k)-depth)*c/2, 2)
			out = append(out, float32(amplitude(a)*c*(1-x)*math.Exp(-x/2)))
		}
	}
	return out
}

// The amplitudes are those of the reflector, whatever its depth between the grid's points,
// also where they change their sign.
func TestPickReflector(t *testing.T) {
	angles := []float64{5, 10, 15, 20, 25, 30, 35}
	for _, c := range []struct{ intercept, gradient, depth float64 }{{0.04, -0.2, 30}, {-0.06, -0.13, 30.4}, {0.06, 0.1, 29.55}} {
		gather := stretched(angles, func(a float64) float64 { return c.intercept + c.gradient*math.Pow(math.Sin(a*math.Pi/180), 2) }, c.depth, 60)
		weights := []float64{1, 1, 1, 1, 1, 1, 1}
		r, err := pick(gather, angles, weights, 31, 6)
		if err != nil {
			t.Fatal(err)
		}
		f, err := AngleModel{Terms: 2}.Fit(angles, r, weights)
		if err != nil {
			t.Fatal(err)
		}
		a, b := f.Value[0], f.Value[1]
		if math.Abs(r.Depth-c.depth) > 0.06 || math.Abs(a-c.intercept) > 0.01*math.Abs(c.intercept) || math.Abs(b-c.gradient) > 0.01*math.Abs(c.gradient) {
			t.Errorf("depth %.2f, A %.5f, B %.5f, want %+v", r.Depth, a, b, c)
		}
	}
}

// pick measures the reflector of a gather near a depth.
func pick(gather []float32, angles, weights []float64, near, reach float64) (Reflector, error) {
	g, err := NewGather(gather, angles)
	if err != nil {
		return Reflector{}, err
	}
	return g.Pick(weights, near, reach, reach)
}

// What cannot be measured is an error.
func TestNoReflector(t *testing.T) {
	angles := []float64{5, 15, 25}
	for name, c := range map[string]struct {
		near, reach float64
		nz          int
	}{"top": {5, 4, 60}, "bottom": {55, 4, 60}, "zeros": {30, 4, 60}, "short": {1, 0.1, 2}} {
		if _, err := pick(make([]float32, 3*c.nz), angles, []float64{1, 1, 1}, c.near, c.reach); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A class of no weight changes neither the waveform nor the fit, whatever it holds, and the standard
// errors are those of a regression with weights.
func TestFitWithWeights(t *testing.T) {
	angles := []float64{5, 10, 15, 20, 25, 30, 35}
	gather := stretched(angles, func(a float64) float64 {
		if a > 22 { // the tails of what other classes show, elsewhere
			return 0.3
		}
		return 0.04 - 0.2*math.Pow(math.Sin(a*math.Pi/180), 2)
	}, 30, 60)
	weights := []float64{4, 3, 2, 1, 0, 0, 0}
	r, err := pick(gather, angles, weights, 31, 6)
	if err != nil {
		t.Fatal(err)
	}
	f, err := AngleModel{Terms: 2}.Fit(angles, r, weights)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(f.Value[0]-0.04) > 4e-4 || math.Abs(f.Value[1]+0.2) > 0.004 || f.Angles != 4 || f.Misfit > 1e-4 {
		t.Errorf("A + B sin²θ: %+v, want A 0.04 and B −0.2 of 4 angles", f)
	}
	// Four points at sin²θ = 0, ¼, ½ and ¾, by hand: Σr² = 0.087, the diagonal of (XᵀX)⁻¹ is 0.7 and 3.2. Student's t of 2 degrees
	// of freedom is 4.30265.
	f, err = AngleModel{Terms: 2}.Fit([]float64{0, 30, 45, 60}, Reflector{Amplitudes: []float64{0, -0.2, -1, -1.1}}, []float64{1, 1, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string][2]float64{
		"A": {f.Value[0], 0.04}, "B": {f.Value[1], -1.64}, "misfit": {f.Misfit, 0.14747881},
		"error of A": {f.Error[0], 0.17449928}, "error of B": {f.Error[1], 0.37309516},
		"interval of A": {f.Interval[0], 4.30265273 * 0.17449928},
	} {
		if math.Abs(v[0]-v[1]) > 1e-7 {
			t.Errorf("%s is %.8g, want %.8g", name, v[0], v[1])
		}
	}
	for terms, weights := range map[int][]float64{2: {1, 1, 0, 0, 0, 0, 0}, 3: {1, 1, 1, 0, 0, 0, 0}} {
		if _, err := (AngleModel{Terms: terms}).Fit(angles, r, weights); err == nil {
			t.Errorf("%d angles are fitted by %d terms", terms, terms)
		}
	}
}

// Three terms find A, B and C of a curve that has them.
func TestThreeTerms(t *testing.T) {
	angles, weights := []float64{0, 10, 20, 30, 40}, []float64{1, 2, 2, 1, 0.5}
	var amplitudes []float64
	for _, a := range angles {
		s, tangent := math.Sin(a*math.Pi/180), math.Tan(a*math.Pi/180)
		amplitudes = append(amplitudes, 0.1-0.3*s*s+0.2*(tangent*tangent-s*s))
	}
	f, err := AngleModel{Terms: 3, Alike: 0.3}.Fit(angles, Reflector{Amplitudes: amplitudes}, weights)
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range []float64{0.1, -0.3, 0.2} {
		if math.Abs(f.Value[k]-want) > 1e-9 || math.Abs(f.Interval[k]) > 1e-9 {
			t.Errorf("term %d is %g ± %g, want %g", k, f.Value[k], f.Interval[k], want)
		}
	}
}

// Errors that neighbouring classes share are found to be as alike as they are, and the intervals that know it hold the truth in 95 %. Those
// that take them to be independent do not.
func TestErrorsThatAreAlike(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	angles, weights := []float64{0, 5, 10, 15, 20, 25, 30}, []float64{0.5, 1, 1, 0.8, 0.6, 0.4, 0.2}
	const alike, n = 0.5, 4000
	draws := make([][]float64, n)
	l := NewLikeness(2)
	for i := range draws {
		e := 0.0
		for k := range angles {
			if fresh := rng.NormFloat64(); k == 0 {
				e = fresh
			} else {
				e = alike*e + math.Sqrt(1-alike*alike)*fresh
			}
			draws[i] = append(draws[i], e/math.Sqrt(weights[k]))
		}
		l.Add(angles, draws[i], weights)
	}
	found := l.Model()
	if math.Abs(found.Alike-alike) > 0.051 {
		t.Errorf("errors are alike by %g, want %g", found.Alike, alike)
	}
	for _, c := range []struct {
		model       AngleModel
		least, most float64
	}{{found, 0.93, 0.97}, {AngleModel{Terms: 2}, 0.5, 0.9}} {
		held := 0
		for _, y := range draws {
			f, err := c.model.Fit(angles, Reflector{Amplitudes: y}, weights)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(f.Value[0]) <= f.Interval[0] {
				held++
			}
		}
		if share := float64(held) / n; !(share >= c.least && share <= c.most) {
			t.Errorf("errors taken to be alike by %g: intervals of A hold the truth in %.1f %%, want %g to %g", c.model.Alike, 100*share, 100*c.least, 100*c.most)
		}
	}
}

// Peaks are the largest within reach, and light tells of two which counts.
func TestPeaks(t *testing.T) {
	values := make([]float32, 2*30)
	values[8], values[10], values[30+20] = 2, -3, 1
	g, err := NewGather(values, []float64{0, 20})
	if err != nil {
		t.Fatal(err)
	}
	if found := g.Peaks(nil, 4); !slices.Equal(found, []int{10, 20}) {
		t.Errorf("peaks at %v, want 10 and 20", found)
	}
	light := slices.Repeat([]float32{1}, len(values))
	light[10] = 0.1
	if found := g.Peaks(light, 4); !slices.Equal(found, []int{8, 20}) {
		t.Errorf("peaks at %v, want 8 and 20", found)
	}
}
