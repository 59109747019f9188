package traveltime

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// lean gives e a medium for each point that is held, in place of its velocities.
func (e *Eikonal) lean(t *Tilt) {
	dim := e.model.Dim()
	e.tilt = make([]float32, 0, len(e.slow2)*(3+dim))
	s2 := e.scale * e.scale
	for i, slow2 := range e.slow2 {
		m := t.at(dim, i, 1/(math.Sqrt(float64(slow2))*e.scale))
		e.tilt = append(e.tilt, float32(m.plane*s2), float32(m.along*s2), float32(m.cross*s2*s2))
		for _, x := range m.axis {
			e.tilt = append(e.tilt, float32(x))
		}
	}
}

// tiltedTimes are the engine's times of one place with so many lanes.
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
	b := newBatch(g, lanes, most, Options{}, &s)
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

// The fast engine agrees with the reference, and vectors of different widths give the same bits.
func TestTiltedEngine(t *testing.T) {
	for _, c := range []struct {
		name   string
		source []float64
		shape  []int
		at     func(x []float64) (v0, epsilon, delta, tilt, azimuth float64)
	}{
		{"isotropic", []float64{834.5, 233.3}, []int{91, 81}, func(x []float64) (v0, epsilon, delta, tilt, azimuth float64) {
			return 1500 + 0.6*x[1], 0, 0, 0, 0
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
		g := plain(20, c.shape...)
		at := func(x []float64) tilted {
			v0, e, d, ti, az := c.at(x)
			return newTilted(v0, e, d, leaning(len(x), ti, az))
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
