package pipeline

import (
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
)

// The estimate is made of its parts, whatever the machine's speed.
func TestEstimateDuration(t *testing.T) {
	p := line(t)
	eachEngine(t, func(t *testing.T, engine string) {
		j := p.open(t, NeedPlanning, progress.Discard(), engine, "solver.iterations=7")
		f, err := NewForecast(j.plan, []int{0, 1}, 1)
		must(t, err)
		d := f.Duration(&Speed{Nodes: 1, Cores: 2, Samples: 1e8, Triples: 3e8, Points: 5e5}, 0)
		if d.Iteration <= 0 || d.Total != d.Traveltimes+8*d.Iteration {
			t.Errorf("estimate %+v is not the sum of its parts", d)
		}
	})
	d := Duration{Traveltimes: 90 * time.Second, Iteration: 12 * time.Minute, Total: 2*time.Hour + 31*time.Second}
	if got, want := d.String(), "about 2 h 1 min: traveltimes 90 s, 12 min 0 s an iteration"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

// Rays, and the diagonal of the normal matrix, take time on top, and rays take memory.
func TestEstimateCountsRaysAndDiagonal(t *testing.T) {
	p := line(t)
	speed := &Speed{Nodes: 1, Cores: 2, Samples: 1e8, Triples: 3e8, Points: 5e5}
	of := func(set ...string) (Duration, Memory) {
		j := p.open(t, NeedPlanning, progress.Discard(), "cpu", set...)
		f, err := NewForecast(j.plan, []int{0, 1}, 1)
		must(t, err)
		return f.Duration(speed, 0), f.Memory
	}
	plain, room := of("kirchhoff.dynamic=true")
	for _, set := range []string{"kirchhoff.spreading=ray", "kirchhoff.takeoff_limit=60,80"} {
		d, m := of("kirchhoff.dynamic=true", set)
		if d.Traveltimes < 2*plain.Traveltimes || d.Iteration != plain.Iteration || m.Total() <= room.Total() {
			t.Errorf("%s: times take %v after %v, an iteration %v after %v, memory %d after %d", set, d.Traveltimes, plain.Traveltimes, d.Iteration, plain.Iteration, m.Total(), room.Total())
		}
	}
	classes := []string{"image.gathers=offset", "image.gather_bins=0,100,1000"}
	plain, room = of(classes...)
	d, m := of(append(classes, "image.gather_normalize=illumination")...)
	if d.Diagonal <= 0 || d.Diagonal >= d.Iteration || d.Total != plain.Total+d.Diagonal || m.Vectors <= room.Vectors {
		t.Errorf("illumination takes %v of %v, %v without it; vectors %d after %d", d.Diagonal, d.Total, plain.Total, m.Vectors, room.Vectors)
	}
}
