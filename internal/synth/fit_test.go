package synth

import (
	"errors"
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// As many channels and shots as are asked for fit into the model, unless their spacing
// is asked for as well.
func TestSpreadsFit(t *testing.T) {
	g := grid.Grid{Origin: []float64{100, 0}, Spacing: []float64{10, 10}, Shape: []int{301, 101}}
	v := make([]float64, g.Len())
	for i := range v {
		v[i] = 2000 + float64(i%101)
	}
	for _, n := range []int{2, 50, 201, 301, 1000} {
		c, err := FromModel(g, v, traveltime.Anisotropy{}, Options{Geometry: Fixed, Channels: n, Shots: 2})
		if err != nil {
			t.Errorf("%d channels: %v", n, err)
			continue
		}
		if got := c.Survey.NumReceivers(); got != n {
			t.Errorf("%d channels, want %d", got, n)
		}
	}
	if _, err := FromModel(g, v, traveltime.Anisotropy{}, Options{Geometry: Fixed, Channels: 201, ReceiverSpacing: 25}); err == nil {
		t.Error("201 channels 25 m apart fit into 3000 m")
	}
	c, err := Build("points", Options{Channels: 101, Shots: 60})
	if err != nil {
		t.Fatal(err)
	}
	if c.Survey.NumReceivers() != 101 || c.Survey.NumSources() != 60 || c.Options.ReceiverSpacing != 20 || c.Options.ShotSpacing != 30 {
		t.Errorf("%d receivers %g m apart and %d shots %g m apart", c.Survey.NumReceivers(), c.Options.ReceiverSpacing, c.Survey.NumSources(), c.Options.ShotSpacing)
	}
}

// A model that is too coarse says what it needs, and with that it does; in between it is
// linear.
func TestResample(t *testing.T) {
	g := grid.Grid{Origin: []float64{-50, 10}, Spacing: []float64{25, 25}, Shape: []int{121, 61}}
	v := make([]float64, g.Len())
	p := make([]float64, 2)
	velocity := func(p []float64) float64 { return 1600 + 0.1*p[0] + 0.5*p[1] }
	for i := range v {
		g.Point(p, i)
		v[i] = velocity(p)
	}
	opt := Options{Peak: 20, Shots: 2, Geometry: Fixed}
	_, err := FromModel(g, v, traveltime.Anisotropy{}, opt)
	var coarse *CoarseError
	if !errors.As(err, &coarse) {
		t.Fatalf("error %v, want a CoarseError", err)
	}
	fine, w, err := Resample(g, v, 0.995*coarse.Needed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := FromModel(fine, w, traveltime.Anisotropy{}, opt); err != nil {
		t.Errorf("with %g m: %v", 0.995*coarse.Needed, err)
	}
	if !fine.Inside(g) || fine.End(0) < g.End(0)-fine.Spacing[0] {
		t.Errorf("%v at %v to %g m is not as large as %v", fine, fine.Origin, fine.End(0), g)
	}
	for i := range w {
		fine.Point(p, i)
		if want := velocity(p); math.Abs(w[i]-want) > 1e-9*want {
			t.Fatalf("%g m/s at %v, want %g", w[i], p, want)
		}
	}
	for _, spacing := range []float64{30, 0, -5, math.NaN(), 1e-300, 1e-7} {
		if _, _, err := Resample(g, v, spacing); err == nil {
			t.Errorf("a spacing of %g m is accepted", spacing)
		}
	}
}
