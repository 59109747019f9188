package synth

import (
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Smoothing keeps an axis that is the same everywhere, whichever end of it is named, and lets
// no axis count where the medium is isotropic.
func TestSmoothTilted(t *testing.T) {
	for _, c := range []struct {
		g       grid.Grid
		azimuth float64
	}{
		{grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{30, 20}}, 0},
		{grid.Grid{Origin: []float64{0, 0, 0}, Spacing: []float64{10, 10, 10}, Shape: []int{12, 9, 10}}, 70},
	} {
		n := c.g.Len()
		a := traveltime.Anisotropy{Epsilon: make([]float64, n), Delta: make([]float64, n), Tilt: make([]float64, n)}
		if c.azimuth != 0 {
			a.Azimuth = make([]float64, n)
		}
		for i := range n {
			if i < n/2 { // the other half is isotropic
				a.Epsilon[i], a.Delta[i], a.Tilt[i] = 0.2, 0.1, -35
				if i%2 == 1 {
					a.Tilt[i] = 180 - 35
				}
				if c.azimuth != 0 {
					a.Azimuth[i] = c.azimuth
				}
			}
		}
		s := smoothTilted(c.g, a, 20)
		if mid := s.Epsilon[n/2]; !(mid > 0.02 && mid < 0.18) {
			t.Errorf("%d-D: epsilon is %g at the contact", c.g.Dim(), mid)
		}
		want := axisAt(-35, c.azimuth)
		for i, tilt := range s.Tilt {
			got := axisAt(tilt, at(s.Azimuth, i))
			along := math.Abs(got[0]*want[0] + got[1]*want[1] + got[2]*want[2])
			if s.Epsilon[i] > 1e-12 && along < 1-1e-9 {
				t.Fatalf("%d-D, point %d: axis of tilt %g, want -35 degrees", c.g.Dim(), i, tilt)
			}
		}
	}
}

// The sheet of thrust leans along its beds, and what lies around it is isotropic.
func TestThrust(t *testing.T) {
	c := build(t, "thrust", Options{})
	tilted := 0
	for i, e := range c.Tilted.Epsilon {
		switch {
		case e == 0 && c.Tilted.Delta[i] == 0:
		case e == sheetEpsilon && c.Tilted.Tilt[i] == -sheetDip && c.Velocity[i] < 3050:
			tilted++
		default:
			t.Fatalf("point %d: epsilon %g, tilt %g, velocity %g", i, e, c.Tilted.Tilt[i], c.Velocity[i])
		}
	}
	if share := float64(tilted) / float64(c.Grid.Len()); share < 0.1 || share > 0.3 {
		t.Errorf("the sheet fills %.0f %% of the model", 100*share)
	}
}
