package traveltime

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// legs are two methods on one image grid, in models on grids of their own, and places of which
// one is both a source and a receiver.
func legs(t *testing.T) (source, receiver *Eikonal, p *survey.Positions) {
	model := func(left, spacing float64, n int, speed func(x, z float64) float64) *Eikonal {
		g := grid.Grid{Origin: []float64{left, 0}, Spacing: []float64{spacing, spacing}, Shape: []int{n, n}}
		image := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{41, 31}}
		v, x := make([]float64, g.Len()), make([]float64, 2)
		for i := range v {
			g.Point(x, i)
			v[i] = speed(x[0], x[1])
		}
		m, err := NewEikonal(v, g, image)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	source = model(-100, 10, 61, func(x, z float64) float64 { return 2000 + 0.5*z })
	receiver = model(0, 20, 26, func(x, z float64) float64 { return 900 + 0.3*z + 0.1*x })
	s := &survey.Survey{Dim: 2, Fixed: true, Sources: []float64{-50, 0, 100, 5}, Receivers: []float64{100, 5, 205, 0, 330, 0}}
	return source, receiver, s.DistinctRoles()
}

// Each place has the bits of its own leg's method, in windows and coarse tables too.
func TestConverted(t *testing.T) {
	source, receiver, p := legs(t)
	m, err := NewConverted(source, receiver)
	if err != nil {
		t.Fatal(err)
	}
	windows := slices.Repeat([]Window{{Lo: [2]int{8, 0}, Hi: [2]int{30, 1}}}, p.Len())
	all := []int{4, 0, 2, 1, 3}
	for name, opt := range map[string]Options{"whole": {Gradient: true}, "windows": {Windows: windows, Margin: 40}} {
		got := Solved(t, m, p, opt, all...)
		for role, leg := range []*Eikonal{survey.AtSource: source, survey.AtReceiver: receiver} {
			for place, f := range Solved(t, leg, p, opt, split(p, all)[role]...) {
				if !Identical(f, got[place]) {
					t.Errorf("%s: %s %d: times are not those of its own leg", name, p.Role[place], p.Row[place])
				}
			}
		}
	}
	coarse, err := NewCoarse(context.Background(), m, p, 2, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for place, f := range Solved(t, m, p, Options{}) {
		for i, time := range Solved(t, coarse, p, Options{})[place].Time {
			if math.Abs(time-f.Time[i]) > 1e-4 {
				t.Fatalf("%s %d: a coarse table has %g s at point %d, want %g s", p.Role[place], p.Row[place], time, i, f.Time[i])
			}
		}
	}
}

// What a worker takes is what the leg takes that takes more. A place counts for its own leg
// alone: a source may lie outside the receivers' model.
func TestConvertedTellsWhatItTakes(t *testing.T) {
	source, receiver, p := legs(t)
	m, err := NewConverted(source, receiver)
	if err != nil {
		t.Fatal(err)
	}
	most := max(source.ScratchBytes(p, []int{0, 1}, Options{}), receiver.ScratchBytes(p, []int{2, 3, 4}, Options{}))
	if n := m.ScratchBytes(p, []int{0, 1, 2, 3, 4}, Options{}); n != most {
		t.Errorf("takes %d bytes, want %d", n, most)
	}
	if !Unequal(m) || m.Name() != "eikonal" || Leg(m, survey.AtReceiver) != Method(receiver) || Leg(source, survey.AtReceiver) != Method(source) {
		t.Errorf("%q, unequal %v", m.Name(), Unequal(m))
	}
	swapped, err := NewConverted(receiver, source)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(swapped, p, []int{0, 1}, Options{}); err == nil {
		t.Error("a source outside the model of its leg is accepted")
	}
	elsewhere, err := NewAnalytic(1000, grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{41, 30}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewConverted(source, elsewhere); err == nil {
		t.Error("legs on two grids are accepted")
	}
}
