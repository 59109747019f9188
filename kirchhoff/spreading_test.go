package kirchhoff

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// TestSpreadingOfRays: amplitudes are those of the field, and its take-off angles taper them.
func TestSpreadingOfRays(t *testing.T) {
	p := fixedSpread(t, []int{61, 41}, 10, [2]int{1, 2}, [2]int{3, 1}, 100, true)
	p.Spreading, p.TakeoffLimit = traveltime.PointSpreading, []float64{30, 60}
	amplitudes := HostAmplitudes(p)
	places, opt := p.TimesNeeded()
	err := p.Arrivals(context.Background(), places, opt, func(place, _ int, window traveltime.Window, arrival traveltime.Branch) error {
		b, err := amplitudes(place, window, arrival)
		x, at := make([]float64, 2), p.Positions.At(place)
		for i := range b {
			p.Grid.Point(x, i)
			d, angle := math.Hypot(x[0]-at[0], x[1]-at[1]), math.Atan2(math.Abs(x[0]-at[0]), x[1]-at[1])*180/math.Pi
			want := 1 / max(d, 5)
			switch {
			case angle > 60.001:
				want = 0
			case angle > 29.999:
				continue
			}
			if math.Abs(b[i]-want) > 1e-12 {
				t.Fatalf("place %d at %v, %.1f degrees: b is %g, want %g", place, x, angle, b[i], want)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSpreadingInAModel: engines agree on the spreading in a velocity model, with and without
// windows of it, and no weight exceeds the bound that exact sums rely on.
func TestSpreadingInAModel(t *testing.T) {
	for _, dim := range []int{2, 3} {
		c := trial{dim: dim, weights: 2, rays: true, irregular: true}
		p := c.problem(t, 12)
		model := grid.Grid{Origin: slices.Clone(p.Grid.Origin), Spacing: p.Grid.Spacing, Shape: slices.Clone(p.Grid.Shape)}
		for a, h := range model.Spacing {
			model.Origin[a] -= 2 * h
			model.Shape[a] += 6
		}
		v, x := make([]float64, model.Len()), make([]float64, dim)
		for i := range v {
			model.Point(x, i)
			v[i] = 2000 + x[dim-1] + 300*math.Sin(x[0]/50)
		}
		var err error
		if p.Times, err = traveltime.NewEikonal(v, model, p.Grid); err != nil {
			t.Fatal(err)
		}
		var data, image []float64
		for _, e := range everyEngine(t, p) {
			if d, err := dist.DotTest(context.Background(), device.NewHost(1), operator(p, e), 3); err != nil || !(d <= 1e-6) {
				t.Errorf("%d-D, %s: dot test %.2e, %v", dim, name(e), d, err)
			}
			d, m := both(t, p, e, 4)
			if data == nil {
				data, image = d, m
				if largest(data) == 0 {
					t.Fatalf("%d-D: nothing is left of the data", dim)
				}
			}
			if d := max(difference(d, data), difference(m, image)); !(d <= 5e-6) {
				t.Errorf("%d-D, %s differs from the reference by %.2e", dim, name(e), d)
			}
		}
		checkBound(t, p)
	}
}

// checkBound compares the amplitudes of all places with what is known without solving.
func checkBound(t *testing.T, p *Problem) {
	t.Helper()
	l := Outline(p)
	w := newWeights(p)
	places, opt := p.TimesNeeded()
	amplitudes := HostAmplitudes(p)
	err := p.Arrivals(context.Background(), places, opt, func(place, _ int, window traveltime.Window, arrival traveltime.Branch) error {
		b, err := amplitudes(place, window, arrival)
		if err != nil {
			return err
		}
		most, err := w.largest(place, &l.Tiling)
		if err == nil && slices.Max(b) > slices.Max(most) {
			t.Errorf("place %d has an amplitude of %g, more than %g", place, slices.Max(b), slices.Max(most))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRaysRefused: what asks of rays more than they know.
func TestRaysRefused(t *testing.T) {
	for want, change := range map[string]func(p *Problem){
		"take-off limit is [60 50] degrees":           func(p *Problem) { p.TakeoffLimit = []float64{60, 50} },
		"do not know how their rays spread and leave": func(p *Problem) { p.Times, p.Spreading = gaps{p.Times}, traveltime.RaySpreading },
	} {
		p := trial{dim: 2, weights: 1}.problem(t, 1)
		change(p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error that says %q, got %v", want, err)
		}
	}
	p := trial{dim: 3, weights: 1}.problem(t, 1)
	p.Spreading = traveltime.PointSpreading
	if err := p.Validate(); err == nil || !strings.Contains(err.Error(), "the image has 3 axes") {
		t.Errorf("2.5-D in 3-D: %v", err)
	}
}
