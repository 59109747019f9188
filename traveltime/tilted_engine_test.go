package traveltime

import (
	"math"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// tiltedTimes are the engine's times of one place with so many lanes.
func tiltedTimes(t testing.TB, g grid.Grid, at law, source []float64, lanes int) (time []float64) {
	t.Helper()
	e, err := newEikonalIn(tiltedMedium(g, at), g)
	if err != nil {
		t.Fatal(err)
	}
	e.widths = []int{lanes}
	return solved(t, e, source, Options{}).Time
}

// The fast engine agrees with the reference, and vectors of different widths give the same bits.
func TestTiltedEngine(t *testing.T) {
	for _, c := range []struct {
		name   string
		source []float64
		shape  []int
		at     law
	}{
		{"nearly isotropic", []float64{834.5, 233.3}, []int{91, 81}, func(x []float64) (v0, epsilon, delta, tilt, azimuth float64) {
			return 1500 + 0.6*x[1], 1e-9, 0, 0, 0
		}},
		{"homogeneous", []float64{834.5, 233.3}, []int{91, 81}, func(x []float64) (v0, epsilon, delta, tilt, azimuth float64) {
			return 2000, 0.3, 0, 45, 0
		}},
		{"varied", []float64{834.5, 233.3}, []int{91, 81}, func(x []float64) (v0, epsilon, delta, tilt, azimuth float64) {
			return 1500 + 0.6*x[1] + 150*math.Sin(x[0]/250)*math.Sin(x[1]/250), 0.15 + 0.05*math.Sin(x[0]/400), 0.05 + 0.05*math.Sin(x[1]/300), 40 * math.Sin(x[0]/700+x[1]/900), 0
		}},
		{"homogeneous 3-D", []float64{303, 211, 133}, []int{27, 25, 23}, func(x []float64) (v0, epsilon, delta, tilt, azimuth float64) {
			return 2000, 0.3, 0.05, 45, 30
		}},
		{"varied 3-D", []float64{303, 211, 133}, []int{27, 25, 23}, func(x []float64) (v0, epsilon, delta, tilt, azimuth float64) {
			return 1500 + 0.6*x[2] + 0.2*x[0], 0.2, 0.05, 30 + x[0]/40, x[1] / 20
		}},
	} {
		g := even(20, c.shape...)
		at := func(x []float64) tilted {
			v0, e, d, ti, az := c.at(x)
			return newTilted(v0, e, d, axisOfTilt(len(x), ti, az))
		}
		s := newTiltedReference(g, at, c.source)
		if err := s.solve(1e-9); err != nil {
			t.Fatal(err)
		}
		var widest []float64
		for _, lanes := range allWidths() {
			time := tiltedTimes(t, g, c.at, c.source, lanes)
			if lanes != portable && widest != nil && !slices.Equal(time, widest) {
				t.Errorf("%s: %d lanes have other bits than %d", c.name, lanes, allWidths()[0])
			}
			if widest == nil {
				widest = time
			}
			rms, largest, n := 0.0, 0.0, 0
			for i := range time {
				if s.r[i] < 80 {
					continue
				}
				e := math.Abs(time[i]/(s.tau[i]*s.t0[i]) - 1)
				rms, largest, n = rms+e*e, max(largest, e), n+1
			}
			rms = math.Sqrt(rms / float64(n))
			if !(rms < 1e-6 && largest < 5e-6) {
				t.Errorf("%s, %d lanes: relative difference %.1e rms, %.1e at most", c.name, lanes, rms, largest)
			}
			t.Logf("%s, %d lanes: relative difference %.1e rms, %.1e at most, %d rounds of the reference", c.name, lanes, rms, largest, s.rounds)
		}
	}
}

// In a smooth model times come to rest within a few rounds, before any of them goes but a share of
// its way: the first-order times are near enough to tell where rays come from.
func TestTiltedSettles(t *testing.T) {
	for _, g := range []grid.Grid{even(10, 401, 301), even(10, 41, 41, 41)} {
		dim := g.Dim()
		e, err := newEikonalIn(tiltedMedium(g, func(x []float64) (v0, epsilon, delta, tilt, azimuth float64) {
			z := x[dim-1]
			return 1500 + 0.6*z + 150*math.Sin(x[0]/250)*math.Sin(z/250), 0.15 + 0.05*math.Sin(x[0]/400), 0.05 + 0.05*math.Sin(z/300), 40 * math.Sin(x[0]/700+z/900), x[dim-2] / 20
		}), g)
		if err != nil {
			t.Fatal(err)
		}
		w := e.worker(sources(dim, []float64{123, 203.3, 4}[3-dim:]...), []int{0}, Options{})
		defer w.free()
		if err := w.solve(t.Context(), job{[]int{0}, e.widths[0], Whole(g)}); err != nil {
			t.Fatal(err)
		}
		if c := w.batch.c; c.gain != 1 || float64(c.tolerance) != float64(float32(secondTolerance)) {
			t.Errorf("%v: settled to %g with a gain of %g, want %g and 1", g, c.tolerance, c.gain, secondTolerance)
		}
	}
}
