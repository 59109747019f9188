package pipeline

import (
	"math"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Buried sources and receivers on the sea floor are not part of the surface.
func TestBuriedPlaces(t *testing.T) {
	columns := grid.Grid{Origin: []float64{0}, Spacing: []float64{10}, Shape: []int{41}}
	for name, c := range map[string]struct{ source, receiver func(x float64) float64 }{
		"buried shots": {func(x float64) float64 { return 0.1*x + 25 }, func(x float64) float64 { return 0.1 * x }},
		"sea floor":    {func(x float64) float64 { return 0.1 * x }, func(x float64) float64 { return 300 + 0.5*x }},
	} {
		s := &survey.Survey{Dim: 2, Fixed: true}
		for i := range 20 {
			s.Sources = append(s.Sources, 20*float64(i)+10, c.source(20*float64(i)+10))
			s.Receivers = append(s.Receivers, 20*float64(i), c.receiver(20*float64(i)))
		}
		for i, z := range topography(s.Distinct(true), columns, 10) {
			x := columns.Coord(0, i)
			if x > 10 && x < 380 && math.Abs(z-0.1*x) > 1e-9 {
				t.Errorf("%s: surface at %g m where x = %g m, want %g", name, z, x, 0.1*x)
			}
		}
	}
}

// In 3-D the surface is exact at stations and close to a slope between them.
func TestSurfaceBetweenLines(t *testing.T) {
	columns := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{61, 61}}
	slope := func(x, y float64) float64 { return 50 + 0.1*x - 0.05*y }
	s := &survey.Survey{Dim: 3, Fixed: true}
	for line := range 5 { // 150 m apart, stations 20 m apart
		for i := range 31 {
			x, y := 20*float64(i), 150*float64(line)
			s.Receivers = append(s.Receivers, x, y, slope(x, y))
		}
	}
	s.Sources = []float64{300, 75, slope(300, 75) + 15} // buried
	z := topography(s.Distinct(true), columns, 10)
	at := make([]float64, 2)
	worst, exact := 0.0, 0
	for n, got := range z {
		columns.Point(at, n)
		e := math.Abs(got - slope(at[0], at[1]))
		worst = max(worst, e)
		if math.Mod(at[0], 20) == 0 && math.Mod(at[1], 150) == 0 {
			exact++
			if e > 1e-9 {
				t.Errorf("%g m off at the station at %v", e, at)
			}
		}
	}
	t.Logf("largest error %.2f m", worst)
	if exact != 31*5 || worst > 2 {
		t.Errorf("largest error %g m, at most 2; %d stations", worst, exact)
	}
	if lo, hi := slices.Min(z), slices.Max(z); lo < slope(0, 600)-1e-9 || hi > slope(600, 0)+1e-9 {
		t.Errorf("surface from %g to %g m", lo, hi)
	}
}
