package pipeline

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

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

func TestCompareWindows(t *testing.T) {
	p := besideWall(t)
	compare := func(t *testing.T, engine string, set ...string) (*Job, *WindowCost, Finding) {
		t.Helper()
		j := p.open(t, NeedPlanning, progress.Discard(), engine, append(set, `survey.units="si"`)...)
		f, err := NewForecast(j.plan, []int{0, 1}, 1)
		must(t, err)
		c, found, err := f.CompareWindows(t.Context(), progress.Discard())
		must(t, err)
		if found.Topic != "window" {
			t.Errorf("topic %q", found.Topic)
		}
		return j, c, found
	}
	aperture := "kirchhoff.aperture=50"
	t.Run("no margin", func(t *testing.T) {
		j, c, found := compare(t, "cpu", aperture, "traveltime.margin=0")
		if found.Level != "warning" || !strings.HasPrefix(found.Text, "8 of 10 places, solved in windows and in the whole model: times differ by up to 5") || !strings.HasSuffix(found.Text, "raise traveltime.margin (now 0 m)") {
			t.Errorf("%+v", found)
		}
		// A box of 64 columns, and on each side one for its slopes and one for those at its ends.
		if c.Columns != 68./601 || !(c.RMS > 0 && c.RMS < c.Largest && c.Largest > 0.1) {
			t.Errorf("%+v", c)
		}
		all, opt := j.plan.Geometry.TimesNeeded(j.plan.Hardware.Threads)
		if len(all) != 10 || !slices.Contains(all, c.Place) {
			t.Errorf("place %d of %v", c.Place, all)
		}
		var times [2]float64
		for i, opt := range []traveltime.Options{opt, {}} {
			must(t, j.plan.Times.Method.Solve(t.Context(), j.plan.Geometry.Places, []int{c.Place}, opt, func(_ int, f traveltime.Field) error {
				times[i] = f.Branches[0].Time[c.Point-f.Window.Lo[0]*j.plan.Geometry.Image.Shape[1]]
				return nil
			}))
		}
		if d := times[0] - times[1]; math.Abs(d-c.Largest) > 1e-6 {
			t.Errorf("times of place %d at point %d differ by %g s, want %g", c.Place, c.Point, d, c.Largest)
		}
	})
	t.Run("large margin", func(t *testing.T) {
		if _, c, found := compare(t, "cpu", aperture, "traveltime.margin=1500"); found.Level != "ok" || c.Largest > 1e-5 || c.Columns == 1 {
			t.Errorf("%+v: %+v", found, c)
		}
	})
	t.Run("whole model", func(t *testing.T) {
		if _, c, found := compare(t, "cpu", aperture, "traveltime.margin=9000"); found.Level != "ok" || c.Largest != 0 || c.Columns != 1 {
			t.Errorf("%+v: %+v", found, c)
		}
	})
	t.Run("little memory", func(t *testing.T) {
		if _, c, found := compare(t, "cpu", aperture, "machine.memory_gib=0.001"); found.Level != "warning" || c != nil || !strings.HasPrefix(found.Text, "not compared: ") {
			t.Errorf("%+v: %+v", found, c)
		}
	})
	for says, set := range map[string][]string{ // an engine, and keys
		"without kirchhoff.aperture": {"cpu"},
		`method "analytic"`:          append([]string{"cpu", aperture}, append(onGrid(p.grid), flat...)...),
		"engine reference":           {"reference", aperture},
	} {
		t.Run(says, func(t *testing.T) {
			if _, c, found := compare(t, set[0], set[1:]...); found.Level != "ok" || c != nil || !strings.Contains(found.Text, says) || !strings.HasSuffix(found.Text, "nothing is cut off") {
				t.Errorf("%+v: %+v", found, c)
			}
		})
	}
	t.Run("short record", func(t *testing.T) { // the arrivals through the wall are later
		s := *p.survey
		s.NT, s.Data = 176, noise(16*176, 2)
		p.record(t, &s)
		if _, c, found := compare(t, "cpu", aperture, "traveltime.margin=0"); found.Level != "ok" || c.Largest > 1e-5 {
			t.Errorf("%+v: %+v", found, c)
		}
	})
}
