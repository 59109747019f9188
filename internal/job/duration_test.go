package job

import (
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/internal/forecast"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
)

// The estimate is made of its parts, whatever the machine's speed.
func TestEstimateDuration(t *testing.T) {
	p := line(t)
	eachEngine(t, func(t *testing.T, engine string) {
		j := p.open(t, plan.Planning, progress.Discard(), engine, "solver.iterations=7")
		f, err := forecast.New(j.Plan, []int{0, 1}, 1)
		must(t, err)
		d := f.Duration(&forecast.Machine{Nodes: 1, Cores: 2, Samples: 1e8, Speed2D: forecast.Speed{Triples: 3e8, Points: 5e5}}, 0)
		if d.Iteration <= 0 || d.Total != d.Traveltimes+8*d.Iteration {
			t.Errorf("estimate %+v is not the sum of its parts", d)
		}
	})
	d := forecast.Duration{Traveltimes: 90 * time.Second, Iteration: 12 * time.Minute, Total: 2*time.Hour + 31*time.Second}
	if got, want := d.String(), "about 2 h 1 min: traveltimes 90 s, 12 min 0 s an iteration"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}
