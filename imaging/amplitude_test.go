package imaging

import (
	"math"
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
		r, err := PickReflector(gather, angles, nil, 31, 6)
		if err != nil {
			t.Fatal(err)
		}
		f, err := FitAngles(angles, r.Amplitudes, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, b := f.Intercept, f.Gradient
		if math.Abs(r.Depth-c.depth) > 0.06 || math.Abs(a-c.intercept) > 0.01*math.Abs(c.intercept) || math.Abs(b-c.gradient) > 0.01*math.Abs(c.gradient) {
			t.Errorf("depth %.2f, A %.5f, B %.5f, want %+v", r.Depth, a, b, c)
		}
		if !(r.Explained > 0.99) {
			t.Errorf("one waveform explains %g of the energy", r.Explained)
		}
	}
}

// What cannot be measured is an error.
func TestNoReflector(t *testing.T) {
	angles := []float64{5, 15, 25}
	for name, c := range map[string]struct {
		near, reach float64
		nz          int
	}{"top": {5, 4, 60}, "bottom": {55, 4, 60}, "zeros": {30, 4, 60}, "short": {1, 0.1, 2}} {
		if _, err := PickReflector(make([]float32, 3*c.nz), angles, nil, c.near, c.reach); err == nil {
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
	r, err := PickReflector(gather, angles, weights, 31, 6)
	if err != nil {
		t.Fatal(err)
	}
	f, err := FitAngles(angles, r.Amplitudes, weights)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(f.Intercept-0.04) > 4e-4 || math.Abs(f.Gradient+0.2) > 0.004 || f.Angles != 4 || f.Misfit > 1e-4 {
		t.Errorf("A + B sin²θ: %+v, want A 0.04 and B −0.2 of 4 angles", f)
	}
	// Four points at sin²θ = 0, ¼, ½ and ¾, by hand: Σr² = 0.087, the diagonal of (XᵀX)⁻¹ is 0.7 and 3.2.
	f, err = FitAngles([]float64{0, 30, 45, 60}, []float64{0, -0.2, -1, -1.1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string][2]float64{
		"A": {f.Intercept, 0.04}, "B": {f.Gradient, -1.64}, "misfit": {f.Misfit, 0.14747881},
		"error of A": {f.InterceptError, 0.17449928}, "error of B": {f.GradientError, 0.37309516},
	} {
		if math.Abs(v[0]-v[1]) > 1e-7 {
			t.Errorf("%s is %.8g, want %.8g", name, v[0], v[1])
		}
	}
	if _, err := FitAngles(angles, r.Amplitudes, []float64{1, 1, 0, 0, 0, 0, 0}); err == nil {
		t.Error("two angles are fitted")
	}
}
