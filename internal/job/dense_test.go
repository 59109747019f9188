package job

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/forecast"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// carpet is a 3-D survey whose dense parts are worth factorising, with several clusters of sources
// and windows, its traces in no order, and the settings that it needs.
func carpet(t *testing.T) (p *problem, set []string) {
	g := grid.Grid{Origin: []float64{0, 0, 700}, Spacing: []float64{12, 10, 10}, Shape: []int{128, 20, 20}}
	s := &survey.Survey{Dim: 3, Fixed: true, NT: 380, DT: 0.004, T0: 0.6}
	for k := range 61 {
		x := math.Pi * 18 * s.DT * float64(k-30)
		s.Wavelet.Samples = append(s.Wavelet.Samples, (1-2*x*x)*math.Exp(-x*x))
	}
	s.Wavelet.DT, s.Wavelet.Zero = s.DT, 30
	for i := range 36 {
		for j := range 3 {
			s.Sources = append(s.Sources, 42*float64(i)+float64(3*j), 60*float64(j), 0)
		}
	}
	for i := range 24 {
		for j := range 4 {
			s.Receivers = append(s.Receivers, 64*float64(i)+20, 40*float64(j)+10, 0)
		}
	}
	text := func(list any) string { return strings.ReplaceAll(fmt.Sprint(list), " ", ",") }
	set = []string{"kirchhoff.accuracy=0.02", "velocity.file=", "velocity.constant=2000", "data.offset=0,400",
		"image.origin=" + text(g.Origin), "image.spacing=" + text(g.Spacing), "image.shape=" + text(g.Shape)}
	return shuffle(t, newProblem(t, g, s)), set
}

// Factorised sums have the same bits on any ranks over shots and any threads, and are a good part of
// all. With the aperture ranks have windows of their own. Without LSM_TEST_LONG only the last case runs,
// which has all that the others have.
func TestFactorisedSumsOnRanks(t *testing.T) {
	p, base := carpet(t)
	aperture := []string{"kirchhoff.aperture=500", "kirchhoff.aperture_taper=30"}
	for _, c := range []struct {
		name  string
		set   []string
		ranks int
	}{
		{"whole", nil, 3},
		{"aperture", aperture, 4},
		{"aperture, dynamic", append(slices.Clip(aperture), "kirchhoff.dynamic=true"), 4},
	} {
		if c.name != "aperture, dynamic" && !gputest.Long() {
			continue
		}
		// The iterations that are asked for earn skeletons, the tolerance ends them soon.
		set := append(slices.Clone(base), append(c.set, "solver.iterations=20", "solver.tolerance=0.9999")...)
		want := p.solveOn(t, 1, append(set, "machine.threads=1")...)
		got := &solved{}
		must(t, p.on(c.ranks, append(set, "machine.threads=2"), func(j *Job) error {
			op, err := built(t.Context(), j)
			if err != nil {
				return err
			}
			defer op.Engine.Close()
			result, err := j.solve(t.Context(), op, false)
			if err != nil || !j.Root() {
				return err
			}
			got = result
			t.Logf("%s: %s; points %v along x", c.name, op.Info, op.Share.Slab)
			windows := c.name == "whole" || op.Share.Slab[1] < op.Image.Shape[0] && op.Share.Local()
			if !strings.Contains(op.Info, "factorised") || !windows {
				t.Errorf("%s: %s; points %v along x", c.name, op.Info, op.Share.Slab)
			}
			return nil
		}))
		sameResult(t, fmt.Sprintf("%s on %d ranks", c.name, c.ranks), got, want)
		dense, info := p.migrated(t, set)
		direct, _ := p.migrated(t, append(set, "kirchhoff.tables=coarse"))
		if e := relativeDifference(dense, direct); !strings.Contains(info, "factorised") || !(e <= 0.02) {
			t.Errorf("%s: %s: the migrated image is off by %.2e of its norm", c.name, info, e)
		}
	}
}

// migrated is the image of the survey's traces on one rank, and what the operator says of itself.
func (p *problem) migrated(t *testing.T, set []string) (image []float32, info string) {
	t.Helper()
	j, op := p.ready(t, "cpu", set...)
	image, err := j.migrate(t.Context(), op)
	must(t, err)
	return image, op.Info
}

// Ranks that would cut what factorised sums need whole are refused.
func TestFactorisedSumsAreNotCut(t *testing.T) {
	p, set := carpet(t)
	for grid, ranks := range map[string]int{"0,1": 13, "1,2": 2} {
		err := p.on(ranks, append(set, "comm.grid="+grid), func(*Job) error { return nil })
		if status.Code(err) != status.BadUsage || !strings.Contains(err.Error(), "factorised") {
			t.Errorf("%s on %d ranks: %v", grid, ranks, err)
		}
		must(t, p.on(ranks, append(set, "comm.grid="+grid, "solver.reproducible=run"), func(*Job) error { return nil }))
	}
	err := p.on(2, append(set, "comm.grid=1,2", "solver.reproducible=run", "solver.defect_correction=true"), func(*Job) error { return nil })
	if status.Code(err) != status.BadUsage || !strings.Contains(err.Error(), "2 ranks over image blocks") {
		t.Errorf("a correction over image blocks: %v", err)
	}
	j := p.open(t, plan.Planning, progress.Discard(), "cpu", append(set, "solver.reproducible=run", "solver.iterations=100")...) // which earn skeletons
	for want, grid := range map[string][]int{"about ": {0, 1}, "all are direct: the image is cut into blocks": {1, 0}} {
		f, err := forecast.New(j.Plan, grid, 2)
		must(t, err)
		all := f.Findings()
		at := slices.IndexFunc(all, func(f forecast.Finding) bool { return f.Topic == "sums" })
		if !strings.HasPrefix(all[at].Text, want) {
			t.Errorf("grid %v: %s, want %s", grid, all[at].Text, want)
		}
	}
}

// What is factorised follows from how often the operator is applied. A run that goes on with more
// iterations keeps what the checkpoint's had, and one that is not told of it is refused.
func TestFactorisedSumsByIterations(t *testing.T) {
	p, set := carpet(t)
	set = slices.Clip(append(set, "kirchhoff.tables=full"))
	for _, c := range []struct {
		need plan.Need
		set  string
		want int
	}{
		{plan.Once, "solver.iterations=3", 1},
		{plan.Traces, "solver.iterations=3", 7},
		{plan.Traces, "solver.defect_correction=true", 19},
		{plan.Traces, "solver.method=matching", 5},
	} {
		if j := p.open(t, c.need, progress.Discard(), "cpu", append(set, c.set)...); j.Use.Applications != c.want {
			t.Errorf("%s: chosen for %d applications, want %d", c.set, j.Use.Applications, c.want)
		}
	}
	stopped(t, p.stopAfter(t, 1, "cpu", false, append(set, "solver.iterations=2")...))
	q := p.open(t, plan.Traces, progress.Discard(), "cpu", append(set, "solver.iterations=9")...)
	if _, err := q.CanResume(); status.Code(err) != status.BadUsage || !strings.Contains(err.Error(), "dense parts are chosen for was 5 applications") {
		t.Errorf("resumed with another choice: %v", err)
	}
	cfg, err := config.Parse(p.path("config.toml"), []byte(baseConfig), append(set, "kirchhoff.engine=cpu", "solver.iterations=9"), nil)
	must(t, err)
	q, err = Resume(comm.Self(), cfg, plan.Traces, progress.Discard())
	must(t, err)
	defer q.Close()
	if resumes, err := q.CanResume(); err != nil || !resumes || q.Use.Applications != 5 {
		t.Errorf("resumed: %v, %v, for %d applications", resumes, err, q.Use.Applications)
	}
}

// Where memory is short of factorised sums, sums are direct and traces still held, unless there is a
// correction. A checkpoint of the one is not continued with the other.
func TestFactorisedSumsWithoutMemory(t *testing.T) {
	p, set := carpet(t)
	set = slices.Clip(append(set, "solver.iterations=2"))
	j := p.open(t, plan.Traces, progress.Discard(), "cpu", set...)
	takes := func(r plan.Residency) int64 { return forecast.Of(j.Holding(r), j.Share).Total() }
	limit := takes(plan.Residency{Tables: "uint16"}) - 1
	if direct := takes(plan.Residency{Tables: "full", Direct: true}); direct > limit {
		t.Fatalf("direct sums take %d bytes, factorised ones %d", direct, limit)
	}
	little := slices.Clip(append(set, fmt.Sprintf("machine.memory_gib=%g", float64(limit)/(1<<30))))
	for setting, want := range map[string]plan.Residency{
		"data.read=auto":                {Tables: "full", Direct: true},
		"solver.defect_correction=true": {Tables: "exact"},
	} {
		q := p.open(t, plan.Traces, progress.Discard(), "cpu", append(little, setting)...)
		if must(t, decide(q)); q.Held != want {
			t.Errorf("%s: held as %+v, want %+v", setting, q.Held, want)
		}
	}
	stopped(t, p.stopAfter(t, 1, "cpu", false, append(set, "kirchhoff.tables=full")...))
	q, _ := p.ready(t, "cpu", append(little, "kirchhoff.tables=full")...)
	if _, err := q.CanResume(); status.Code(err) != status.BadUsage || !strings.Contains(err.Error(), "sums was factorised where dense, is direct") {
		t.Errorf("resumed with direct sums: %v", err)
	}
}
