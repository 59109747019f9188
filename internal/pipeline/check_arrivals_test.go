package pipeline

import (
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// First arrivals that have gone through a fast wall are weak. A smooth model has none.
func TestFindWeak(t *testing.T) {
	find := func(p *problem, set ...string) (*Arrivals, Finding) {
		t.Helper()
		j := p.open(t, NeedPlanning, progress.Discard(), "cpu", append(set, `survey.units="si"`)...)
		f, err := NewForecast(j.plan, []int{0, 1}, 1)
		must(t, err)
		a, found, err := f.FindWeak(t.Context(), progress.Discard())
		must(t, err)
		return a, found
	}
	wall := besideWall(t)
	a, found := find(wall)
	if found.Level != "warning" || !(a.Share > 0.05 && a.Share < 0.8) || slices.Max(a.Weak) != 1 ||
		!strings.HasPrefix(found.Text, "8 of 10 places: first arrivals are weak at ") || !strings.Contains(found.Text, "kirchhoff.takeoff_limit") {
		t.Errorf("beside a wall: a share of %g, %+v", a.Share, found)
	}
	// Below the survey they have come through the wall from some depth on, above it directly.
	if nz := wall.grid.Shape[1]; a.Weak[300*nz+60] != 1 || a.Weak[300*nz+10] != 0 {
		t.Errorf("below the survey %g are weak at the bottom and %g above", a.Weak[300*nz+60], a.Weak[300*nz+10])
	}
	v := make([]float64, wall.grid.Len())
	for i := range v {
		v[i] = 1500 + 0.5*wall.grid.Coord(1, i%wall.grid.Shape[1])
	}
	must(t, h5.WriteModel(wall.path("model.h5"), wall.grid, v, h5.WriteOptions{Force: true}))
	if a, found = find(wall); found.Level != "ok" || a.Share != 0 {
		t.Errorf("in a smooth model: a share of %g, %+v", a.Share, found)
	}
}

// besideWall is a slow model with a fast wall 900 m beside the survey. The first arrival deep
// below the survey has gone through the wall.
func besideWall(t *testing.T) *problem {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 40}, Shape: []int{601, 61}}
	s := &survey.Survey{
		Dim: 2, Fixed: true,
		Sources:   []float64{2990, 0, 3010, 0},
		Receivers: []float64{2960, 0, 2980, 0, 3000, 0, 3020, 0, 3040, 0, 3050, 0, 3060, 0, 3070, 0},
		NT:        801, DT: 0.004,
		Wavelet: ricker(10, 0.004),
	}
	p := newProblem(t, g, s)
	v := make([]float64, g.Len())
	for i := range v {
		v[i] = 1000
		if i >= 390*g.Shape[1] {
			v[i] = 6000
		}
	}
	must(t, h5.WriteModel(p.path("model.h5"), g, v, h5.WriteOptions{Force: true}))
	return p
}
