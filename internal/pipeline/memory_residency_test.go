package pipeline

import (
	"context"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// If a rank cannot hold its tables in full, it recomputes them, and the others keep theirs: all have
// the same precision.
func TestOnePrecision(t *testing.T) {
	p := line(t)
	j := p.open(t, NeedTraces, progress.Discard(), "cpu", "data.read=memory")
	full := CountMemory(j.plan.Holding(Residency{Tables: "full"}), j.share).Total()
	for _, c := range []struct {
		what   string
		limits []int64 // of the ranks
		want   string
	}{
		{"all have room", []int64{full, full}, "full"},
		{"one has no room", []int64{full, full - 1, full}, "exact"},
	} {
		p := *j.plan
		r, err := DecideResidency(p.Config, func(r Residency) (bool, error) {
			fits := true
			for rank, limit := range c.limits {
				s := *j.share
				s.Rank, p.Hardware.Memory = rank, limit
				fits = fits && CountMemory(p.Holding(r), &s).Fits()
			}
			return fits, nil
		})
		must(t, err)
		if r.Tables != c.want {
			t.Errorf("%s: tables are %q, want %q", c.what, r.Tables, c.want)
		}
		p.Hardware.Memory = full
		if m := CountMemory(p.Holding(r), j.share); m.Recompute {
			t.Errorf("%s: a rank with room for full tables recomputes them", c.what)
		}
	}
}

// A checkpoint of interpolated times is not continued with exact ones. Full and recomputed
// tables have the same times.
func TestCheckpointsKeepTheirPrecision(t *testing.T) {
	p := line(t)
	stopped(t, p.stopAfter(t, 3, "cpu", false, "solver.iterations=5", "kirchhoff.tables=coarse"))
	j, _ := p.ready(t, "cpu", "solver.iterations=5", "kirchhoff.tables=full")
	if _, err := j.CanResume(); status.Code(err) != status.BadUsage || !strings.Contains(err.Error(), "traveltimes was coarse, is exact") {
		t.Errorf("coarse, then full: status %d: %v", status.Code(err), err)
	}

	p = line(t)
	whole := p.solve(t, "cpu", "solver.iterations=5")
	stopped(t, p.stopAfter(t, 3, "cpu", false, "solver.iterations=5", "kirchhoff.tables=full"))
	j, op := p.ready(t, "cpu", "solver.iterations=5", "kirchhoff.tables=recompute")
	r, err := j.solve(context.Background(), op, true)
	must(t, err)
	equal(t, "image", r.Image, whole.Image)
}
