package synth

import (
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// The intercept is the contrast of impedances, and the gradient that of a table computed by
// hand from the formula.
func TestShuey(t *testing.T) {
	for _, i := range interfaces() {
		a, b := i.Above.VP*i.Above.Density, i.Below.VP*i.Below.Density
		if want := (b - a) / (b + a); math.Abs(i.Intercept()-want) > 1e-4 {
			t.Errorf("%g m: intercept %g, the impedances' contrast is %g", i.Depth, i.Intercept(), want)
		}
	}
	// ΔVP/VP = 0.1, VS/VP = 0.5, Δρ/ρ = 0.2, ΔVS/VS = 0.4: 0.05 − 0.5 (0.2 + 0.8)
	i := Interface{100, Rock{1900, 800, 1.8}, Rock{2100, 1200, 2.2}}
	if a, b := i.Intercept(), i.Gradient(); math.Abs(a-0.15) > 1e-12 || math.Abs(b+0.45) > 1e-12 {
		t.Errorf("intercept %g, gradient %g, want 0.15, -0.45", a, b)
	}
}

// A reflection arrives as from the mirror image: over an interface at 300 m, 800 m away,
// after 1000 m, at an angle whose sine is 0.8.
func TestReflections(t *testing.T) {
	i := Interface{300, Rock{1900, 800, 1.8}, Rock{2100, 1200, 2.2}}
	s := &survey.Survey{Dim: 2, Sources: []float64{0, 0}, Receivers: []float64{800, 0}, SourceIndex: []int32{0}, ReceiverIndex: []int32{0},
		NT: 200, DT: 0.004, T0: 0.1}
	got := reflections(s, []Interface{i}, 2000, 20)
	at := int(math.Round((0.5 - s.T0) / s.DT))
	want := (0.15 - 0.45*0.64) / math.Sqrt(1000)
	if math.Abs(float64(got[at])-want) > 1e-6*math.Abs(want) {
		t.Errorf("sample %d is %g, want %g", at, got[at], want)
	}
	for k, v := range got {
		if math.Abs(float64(v)) > math.Abs(want)*(1+1e-6) || math.Abs(float64(k-at))*s.DT > 0.08 && math.Abs(float64(v)) > 1e-8 {
			t.Fatalf("sample %d is %g, the reflection of sample %d is %g", k, v, at, want)
		}
	}
}
