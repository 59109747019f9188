package traveltime

import (
	"context"
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// tiltedTimes are the engine's τ of one place with so many lanes.
func tiltedTimes(t testing.TB, g grid.Grid, at func(x []float64) (v0, epsilon, delta, tilt, azimuth float64), source []float64, lanes int) (time []float64) {
	t.Helper()
	n := g.Len()
	v, tl := make([]float64, n), &Tilt{make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)}
	x := make([]float64, g.Dim())
	for i := range n {
		g.Point(x, i)
		v[i], tl.Epsilon[i], tl.Delta[i], tl.Tilt[i], tl.Azimuth[i] = at(x)
	}
	e, err := NewEikonal(v, g, g)
	if err != nil {
		t.Fatal(err)
	}
	e.widths = []int{lanes}
	e.lean(tl)
	p := &survey.Positions{Dim: g.Dim(), XYZ: source, Role: make([]survey.Role, 1), Row: []int32{0}}
	var s scratch
	most := extent{}
	most.grow(Whole(g))
	b := newBatch(g, lanes, most, &s)
	b.shape(Whole(g), lanes)
	b.start(e, p, []int{0}, Options{})
	if err := b.settle(context.Background(), e); err != nil {
		t.Fatal(err)
	}
	tau := make([]float32, n)
	if err := b.split(tau, 1); err != nil {
		t.Fatal(err)
	}
	home := between(g, source, e.point)
	time = make([]float64, n)
	for i := range time {
		g.Point(x, i)
		for a := range x {
			x[a] -= source[a]
		}
		time[i] = float64(tau[i]) * e.scale * home.reach(x)
	}
	return time
}

func TestTiltedEngine(t *testing.T) {
	for _, c := range []struct {
		name   string
		source []float64
		shape  []int
		at     func(x []float64) (v0, epsilon, delta, tilt, azimuth float64)
	}{
		{"isotropic", []float64{1234.5, 333.3}, []int{151, 151}, func(x []float64) (v0, epsilon, delta, tilt, azimuth float64) {
			return 1500 + 0.6*x[1], 0, 0, 0, 0
		}},
		{"homogeneous", []float64{1234.5, 333.3}, []int{151, 151}, func(x []float64) (v0, epsilon, delta, tilt, azimuth float64) {
			return 2000, 0.3, 0, 45, 0
		}},
		{"varied", []float64{1234.5, 333.3}, []int{151, 151}, func(x []float64) (v0, epsilon, delta, tilt, azimuth float64) {
			return 1500 + 0.6*x[1] + 150*math.Sin(x[0]/250)*math.Sin(x[1]/250), 0.15 + 0.05*math.Sin(x[0]/400), 0.05 + 0.05*math.Sin(x[1]/300), 40 * math.Sin(x[0]/700+x[1]/900), 0
		}},
		{"homogeneous 3-D", []float64{303, 211, 133}, []int{35, 31, 29}, func(x []float64) (v0, epsilon, delta, tilt, azimuth float64) {
			return 2000, 0.3, 0.05, 45, 30
		}},
		{"varied 3-D", []float64{303, 211, 133}, []int{35, 31, 29}, func(x []float64) (v0, epsilon, delta, tilt, azimuth float64) {
			return 1500 + 0.6*x[2] + 0.2*x[0], 0.2, 0.05, 30 + x[0]/40, x[1] / 20
		}},
	} {
		g := plain(20, c.shape...)
		at := func(x []float64) tilted {
			v0, e, d, ti, az := c.at(x)
			return newTilted(v0, e, d, leaning(len(x), ti, az))
		}
		s := newTiltedReference(g, at, c.source)
		if err := s.solve(1e-9); err != nil {
			t.Fatal(err)
		}
		for _, lanes := range allWidths() {
			time := tiltedTimes(t, g, c.at, c.source, lanes)
			rms, largest, n := 0.0, 0.0, 0
			for i := range time {
				if s.r[i] < 80 {
					continue
				}
				e := math.Abs(time[i]/(s.tau[i]*s.t0[i]) - 1)
				rms, largest, n = rms+e*e, max(largest, e), n+1
			}
			t.Logf("%s, %d lanes: %.1e rms, %.1e at most (reference %d rounds)", c.name, lanes, math.Sqrt(rms/float64(n)), largest, s.rounds)
		}
	}
}
