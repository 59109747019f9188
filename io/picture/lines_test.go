package picture

import (
	"math"
	"strings"
	"testing"
)

func TestLines(t *testing.T) {
	f, err := Lines("size", "time", Options{Title: "sums"}, Line{"a", []float64{10, 12}, []float64{5, 50}}, Line{"b", []float64{10, 11}, []float64{7, 8}})
	if err != nil {
		t.Fatal(err)
	}
	p := f.rows[0][0]
	if len(p.curves) != 2 || p.x.frac(10) != 0 || p.x.frac(12) != 1 || p.y.frac(50) >= p.y.frac(5) {
		t.Errorf("x from %g to %g, y from %g to %g", p.x.from, p.x.to, p.y.from, p.y.to)
	}
	decoded(t, f)
	one, err := Lines("", "", Options{}, Line{"a", []float64{3}, []float64{2}})
	if err != nil {
		t.Fatal(err)
	}
	decoded(t, one)
	for want, l := range map[string]Line{
		"1 by 2 points": {"a", []float64{1}, []float64{1, 2}},
		"0 by 0 points": {},
		"y is 0":        {"a", []float64{1}, []float64{0}},
		"y is NaN":      {"a", []float64{1}, []float64{math.NaN()}},
	} {
		if _, err := Lines("", "", Options{}, l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one with %q", err, want)
		}
	}
}
