package pipeline

import (
	"context"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// What one rank cannot hold in full no rank holds in another precision than the rest.
func TestOnePrecision(t *testing.T) {
	p := line(t)
	j := p.open(t, NeedTraces, progress.Discard(), "cpu", "data.read=memory")
	all := func(tables string) int64 {
		return CountMemory(j.plan.Holding(Residency{Tables: tables}), j.share).Total()
	}
	full, rounded := all("full"), all("uint16")
	if rounded >= full {
		t.Fatalf("16 bits take %d bytes, full tables %d", rounded, full)
	}
	for _, c := range []struct {
		what   string
		limits []int64 // of the ranks
		want   string
	}{
		{"all have room", []int64{full, full}, "full"},
		{"one has room for 16 bits alone", []int64{full, rounded, full}, "uint16"},
		{"one has room for neither", []int64{full, rounded - 1, full}, "exact"},
		{"one has room for 16 bits, one for neither", []int64{rounded, rounded - 1, full}, "exact"},
	} {
		p := *j.plan
		r, err := DecideResidency(p.Config, p.Hardware.Engine, func(r Residency) (bool, error) {
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
		if m := CountMemory(p.Holding(r), j.share); m.Compact != (c.want == "uint16") {
			t.Errorf("%s: a rank with room for full tables holds them in 16 bits: %v", c.what, m.Compact)
		}
	}
}

// A checkpoint of times in 16 bits is not continued with exact ones. Full and recomputed
// tables have the same times.
func TestCheckpointsKeepTheirPrecision(t *testing.T) {
	p := line(t)
	stopped(t, p.stopAfter(t, 3, "cpu", false, "solver.iterations=5", "kirchhoff.tables=uint16"))
	j, _ := p.ready(t, "cpu", "solver.iterations=5", "kirchhoff.tables=full")
	if _, err := j.CanResume(); status.Code(err) != status.BadUsage || !strings.Contains(err.Error(), "traveltimes was uint16, is exact") {
		t.Errorf("16 bits, then full: status %d: %v", status.Code(err), err)
	}

	p = line(t)
	whole := p.solve(t, "cpu", "solver.iterations=5")
	stopped(t, p.stopAfter(t, 3, "cpu", false, "solver.iterations=5", "kirchhoff.tables=full"))
	j, op := p.ready(t, "cpu", "solver.iterations=5", "kirchhoff.tables=recompute")
	r, err := j.solve(context.Background(), op, true)
	must(t, err)
	equal(t, "image", r.Image, whole.Image)
}
