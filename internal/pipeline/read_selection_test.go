package pipeline

import (
	"math"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// Azimuths of rays from the origin, by the compass.
func TestAzimuth(t *testing.T) {
	s := survey.Survey{
		Dim: 3, Fixed: true, Sources: []float64{0, 0, 0},
		Receivers: []float64{0, 5, 0, 5, 5, 0, 5, 0, 0, 5, -5, 0, 0, -5, 0, -5, -5, 0, 0, 0, 0},
	}
	for i, want := range []float64{0, 45, 90, 135, 0, 45, math.NaN()} {
		if got := s.Azimuth(i); !(math.Abs(got-want) < 1e-12) && !math.IsNaN(want) {
			t.Errorf("receiver %d has azimuth %g, want %g degrees", i, got, want)
		}
	}
	for _, c := range []struct {
		limit []float64
		want  []int
	}{
		{[]float64{0, 45}, []int{0, 1, 4, 5, 6}},
		{[]float64{-45, 0}, []int{0, 3, 4, 6}},
		{[]float64{130, 190}, []int{0, 3, 4, 6}},
		{[]float64{310, 320}, []int{3, 6}},
		{[]float64{-360, 360}, []int{0, 1, 2, 3, 4, 5, 6}},
		{[]float64{100, 120}, []int{6}},
	} {
		var got []int
		for i := range 7 {
			if withinAzimuth(s.Azimuth(i), c.limit) {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v degrees leave %v, want %v", c.limit, got, c.want)
		}
	}
}
