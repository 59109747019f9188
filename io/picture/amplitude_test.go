package picture

import (
	"math"
	"testing"
)

// One dot and one curve a reflector, and a key with room of its own.
func TestAmplitudeVersusAngle(t *testing.T) {
	angles := []float64{5, 15, 25, 35}
	r := Reflector{Name: "600 m", Angles: angles, Amplitudes: []float64{0.04, 0.03, 0.02, 0}, Curve: func(a float64) float64 { return 0.04 - 0.1*math.Pow(math.Sin(a*math.Pi/180), 2) }}
	deep := r
	deep.Name = "900 m"
	f, err := AmplitudeVersusAngle(Options{Title: "image"}, "A + B sin²θ", r, deep)
	if err != nil {
		t.Fatal(err)
	}
	p := f.rows[0][0]
	var names []string
	for _, e := range p.key {
		names = append(names, e.name)
	}
	if len(names) != 3 || names[0] != "600 m" || names[1] != "900 m" || names[2] != "A + B sin²θ" {
		t.Errorf("the key has %q", names)
	}
	if p.y.from < 0.04 || p.y.to > 0.04-0.1*0.33 || !(p.x.from < 5 && p.x.to > 35) {
		t.Errorf("axes from %g to %g and %g to %g", p.x.from, p.x.to, p.y.from, p.y.to)
	}
	r.Amplitudes = []float64{0, 0, math.NaN(), 0}
	for _, bad := range [][]Reflector{nil, {{Name: "none"}}, {r}} {
		if _, err := AmplitudeVersusAngle(Options{}, "", bad...); err == nil {
			t.Errorf("no error for %+v", bad)
		}
	}
}
