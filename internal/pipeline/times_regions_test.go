package pipeline

import (
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// One trace at the end of a flat image, 2990 m long: at 2000 m/s a record of n samples hears
// n m of it. Tiles are 70 m wide, 35 m of which lie on either side, and cost six times as much
// where the record ends. Elsewhere they cost more, since a wave crosses them in 70 samples,
// and not in 20.
func TestHeard(t *testing.T) {
	s := &survey.Survey{Dim: 2, Fixed: true, DT: 0.001, Sources: []float64{0, 0}, Receivers: []float64{0, 0}}
	p := planned(s)
	p.Geometry.Image.Shape = []int{300, 2}
	p.Config = &config.Config{}
	const wide, fast = (57 + 70) / 77., (57 + 35) / 77.
	for _, c := range []struct {
		samples  int
		aperture []float64
		velocity float64
		want     float64
	}{
		{4001, nil, 2000, wide},
		{1001, nil, 2000, ((1000-35)*wide + 6*70) / 2995.},
		{1001, nil, 4000, ((2000-35)*fast + 6*70) / 2995.},
		{1001, []float64{1500}, 2000, ((1000-35)*wide + 6*70) / 1500.},
		{1001, []float64{900}, 2000, wide},
		{1001, nil, 0, 1}, // not known
	} {
		s.NT, p.Times.Source = c.samples, traveltime.Medium{Constant: c.velocity}
		withAperture(p, c.aperture)
		if got := arrivalCost(p.Geometry, p.Times); math.Abs(got-c.want) > 0.01*c.want {
			t.Errorf("%+v: %g", c, got)
		}
	}
	s.Sources[0], s.Receivers[0] = -5000, -5000 // no point is within the aperture
	if withAperture(p, []float64{900}); arrivalCost(p.Geometry, p.Times) != 1 {
		t.Errorf("no pair: %g", arrivalCost(p.Geometry, p.Times))
	}
}

// The slowness of a ray is that of the model along it.
func TestStraightRays(t *testing.T) {
	p := planned(&survey.Survey{Dim: 2, Fixed: true, NT: 2, DT: 0.001, Sources: []float64{0, 0}, Receivers: []float64{0, 0}})
	p.Times.Source = traveltime.Medium{Grid: p.Geometry.Image, Values: make([]float64, p.Geometry.Image.Len())}
	for i := range p.Times.Source.Values { // 1000 m/s down to 100 m, 2000 m/s below
		p.Times.Source.Values[i] = 1000
		if i%20 > 10 {
			p.Times.Source.Values[i] = 2000
		}
	}
	arrival, width := straightArrival(p.Geometry, p.Times, Pair{Source: []float64{500, 0}, Receiver: []float64{500, 0}, X: []float64{500, 190}})
	if want := 2 * (0.1 + 0.09/2); math.Abs(arrival-want) > 0.02 {
		t.Errorf("the wave arrives at %g s, want %g", arrival, want)
	}
	if want := 2. * 70 / 2000; math.Abs(width-want) > 1e-12 {
		t.Errorf("over a tile it takes %g s, want %g", width, want)
	}
}
