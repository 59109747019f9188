package grid

import (
	"strings"
	"testing"
)

// Grids of different domains are never equal or inside each other, and texts have their units.
func TestDomain(t *testing.T) {
	depth := Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 0.004}, Shape: []int{401, 501}}
	time := depth
	time.Domain = Time
	if depth.Equal(time) || time.Equal(depth) || !time.Equal(time) || time.Inside(depth) || depth.Inside(time) {
		t.Error("grids of different domains pass for each other")
	}
	for _, c := range []struct{ got, want string }{
		{time.String(), "401×501 points, 10 m×0.004 s"},
		{time.Extent(), "x [0, 4000] m × time [0, 2] s"},
		{time.Place([]float64{120, 0.4}), "(120 m, 0.4 s)"},
		{depth.Extent(), "x [0, 4000] × z [0, 2] m"},
		{depth.Place([]float64{120, 0.4}), "(120, 0.4 m)"},
		{Grid{Origin: []float64{0, 0, 0}, Spacing: []float64{1, 2, 0.002}, Shape: []int{2, 2, 2}, Domain: Time}.String(), "2×2×2 points, 1×2 m×0.002 s"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	time.Spacing = []float64{10, 0}
	if err := time.Validate(); err == nil || !strings.Contains(err.Error(), "spacing along time is 0 s") {
		t.Errorf("error %v", err)
	}
	for _, d := range []Domain{Depth, Time} {
		if got, err := ParseDomain(d.String()); got != d || err != nil {
			t.Errorf("%s becomes %v (%v)", d, got, err)
		}
	}
	if _, err := ParseDomain("z"); err == nil {
		t.Error("a domain z is accepted")
	}
}
