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

// Axes at 85 and -85 degrees lie 10 degrees apart: all between them lie within 5 degrees of the horizontal,
// whatever the mean.
func TestMeansOfAxes(t *testing.T) {
	t.Parallel()
	coarse := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{20, 20}, Shape: []int{10, 3}}
	fine, _, err := Resample(coarse, make([]float64, coarse.Len()), 5)
	if err != nil {
		t.Fatal(err)
	}
	a := traveltime.Anisotropy{Epsilon: make([]float64, coarse.Len()), Tilt: make([]float64, coarse.Len())}
	for i := range a.Tilt {
		if a.Epsilon[i], a.Tilt[i] = 0.2, 85; i >= 5*3 {
			a.Tilt[i] = -85
		}
	}
	for name, tilts := range map[string][]float64{"smoothed": smoothTilted(coarse, a, 40).Tilt, "resampled": ResampleTilted(coarse, a, fine).Tilt} {
		for i, x := range tilts {
			if !(math.Abs(x) > 84.999 && math.Abs(x) <= 90) {
				t.Errorf("%s, point %d: %g degrees", name, i, x)
			}
		}
	}
}

func TestMeanAxes(t *testing.T) {
	t.Parallel()
	middle := func(v []float64) []float64 { return []float64{(v[0] + v[1]) / 2} }
	for _, c := range []struct{ tilts, azimuths, want []float64 }{ // want: tilt and azimuth
		{[]float64{20, 30}, nil, []float64{25}},
		{[]float64{-20, 10}, nil, []float64{-5}},
		{[]float64{170, 10}, nil, []float64{0}},
		{[]float64{30, 30}, []float64{350, 10}, nil}, // x below
		{[]float64{30, -30}, []float64{40, 220}, []float64{30, 40}},
		{[]float64{85, 85}, []float64{0, 180}, []float64{90, 0}},
	} {
		tilts, azimuths := MeanAxes(c.tilts, c.azimuths, nil, middle)
		switch {
		case c.want == nil && (math.Abs(azimuths[0]) > 1e-9 || !(tilts[0] > 29 && tilts[0] < 30)):
			t.Errorf("%v towards %v: %g towards %g, want a little less than 30 towards 0", c.tilts, c.azimuths, tilts[0], azimuths[0])
		case c.want != nil && math.Abs(tilts[0]-c.want[0]) > 1e-9, len(c.want) == 2 && math.Abs(azimuths[0]-c.want[1]) > 1e-9 && math.Abs(math.Abs(azimuths[0])-180) > 1e-9:
			t.Errorf("%v towards %v: %g towards %v, want %v", c.tilts, c.azimuths, tilts[0], azimuths, c.want)
		}
	}
	for _, c := range [][3]float64{{350, 10, 0}, {80, 100, 90}, {-170, 170, 180}, {0, 180, 0}, {100, -80, -80}} {
		if got := MeanDirections(c[:2], middle)[0]; math.Abs(math.Remainder(got-c[2], 360)) > 1e-6 {
			t.Errorf("directions %v: %g, want %g", c[:2], got, c[2])
		}
	}
}
