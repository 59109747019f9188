package traveltime_test

import (
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// A medium has a velocity anywhere: between points, and beyond the model.
func TestMediumAt(t *testing.T) {
	g := grid.Grid{Origin: []float64{100, 0}, Spacing: []float64{50, 10}, Shape: []int{2, 3}}
	model := traveltime.Medium{Grid: g, Values: []float64{1000, 2000, 4000, 3000, 4000, 6000}}
	for _, c := range []struct {
		m    traveltime.Medium
		x    []float64
		want float64
	}{
		{model, []float64{100, 0}, 1000},
		{model, []float64{150, 15}, 5000},
		{model, []float64{125, 5}, 2500},
		{model, []float64{0, -30}, 1000},
		{model, []float64{700, 90}, 6000},
		{traveltime.Medium{Constant: 1800}, []float64{700, 90}, 1800},
	} {
		if got := c.m.At(c.x); got != c.want {
			t.Errorf("%g m/s at %v, want %g", got, c.x, c.want)
		}
	}
}
