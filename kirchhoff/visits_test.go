package kirchhoff

import (
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Visits counts whole tiles of whole cells.
func TestVisits(t *testing.T) {
	line := func(receivers int) *Problem { // 12×4 tiles, 10 m a point
		s := survey.Survey{Dim: 2, Fixed: true, NT: 100, DT: 0.004}
		s.Sources = []float64{0, 0, 400, 0}
		for i := range receivers {
			s.Receivers = append(s.Receivers, 800, float64(i+1)) // below each other: midpoints at 400 and 600 m
		}
		return &Problem{Grid: grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{93, 30}}, Positions: s.Distinct(true)}
	}
	const tiles = 12 * 4 * 64
	for _, c := range []struct {
		name      string
		receivers int
		change    func(*Problem)
		want      int64
	}{
		// Two sources come before the receivers: the first cell has 14 of them.
		{"a full cell and a short one", 18, func(*Problem) {}, 2 * (16 + 4) * tiles},
		{"too few for a cell", 5, func(*Problem) {}, 2 * 5 * tiles},
		{"enough for a cell", 6, func(*Problem) {}, 2 * 16 * tiles},
		{"no cells with a dip limit", 6, func(p *Problem) { p.DipLimit = []float64{30, 60} }, 2 * 6 * tiles},
		{"no cells with anti-aliasing", 6, func(p *Problem) { p.Antialias = []float64{20} }, 2 * 6 * tiles},
		{"half of the image", 5, func(p *Problem) { p.Slab = [2]int{0, 64} }, 2 * 5 * tiles * 8 / 12},
		{"the other half", 5, func(p *Problem) { p.Slab = [2]int{64, 93} }, 2 * 5 * tiles * 4 / 12},
		{"no part of it", 5, func(p *Problem) { p.Slab = [2]int{93, 93} }, 0},
		// Of 160 m, points 25 to 55 and 45 to 75: tiles 3 to 6, the first in part, and 5 to 9, the outer ones in part.
		{"an aperture", 5, func(p *Problem) { p.Aperture, p.ApertureTaper = []float64{160}, []float64{0} }, 5 * (4*4 + 4/2 + 5*4 + 8/2) * 64},
		// Flat over points 32 to 48 and 52 to 68: tiles 4 to 5 and 7.
		{"with a taper", 5, func(p *Problem) { p.Aperture, p.ApertureTaper = []float64{160}, []float64{80} }, 5 * (4*4 + 8/2 + 5*4 + 16/2) * 64},
	} {
		p := line(c.receivers)
		if c.change(p); p.Visits() != c.want {
			t.Errorf("%s: %d visits, want %d", c.name, p.Visits(), c.want)
		}
	}
}

// A cell goes to every tile at which one of its traces may count, in both directions.
func TestVisitsOfSpreadCells(t *testing.T) {
	s := survey.Survey{Dim: 3, Fixed: true, NT: 100, DT: 0.004, Sources: []float64{0, 0, 0}}
	for i := range 6 {
		s.Receivers = append(s.Receivers, 400, 80*float64(i), 0) // midpoints at 200 m and 0 to 200 m
	}
	p := &Problem{Grid: grid.Grid{Origin: []float64{0, 0, 0}, Spacing: slices.Repeat([]float64{10}, 3), Shape: []int{40, 40, 8}}, Positions: s.Distinct(true),
		Aperture: []float64{80, 40}, ApertureTaper: []float64{0, 0}}
	// Points 12 to 28 and −4 to 24: tiles 3 to 6 and 0 to 5, two deep.
	if got, want := p.Visits(), int64(16*(4*6*2+4*6*2/2)*64); got != want {
		t.Errorf("%d visits, want %d", got, want)
	}
}

// Speeds are measured where TileCost is 1.
func TestTileCost(t *testing.T) {
	for _, c := range []struct {
		dim           int
		samples, want float64
	}{{2, 20, 1}, {3, 20, 1}, {2, 97, 2}, {3, 64, 2}} {
		if got := TileCost(c.dim, c.samples); got != c.want {
			t.Errorf("%d-D, %g samples: %g, want %g", c.dim, c.samples, got, c.want)
		}
	}
}
