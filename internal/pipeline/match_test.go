package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/solver"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// reflectors is a survey of 9 shots over two layers, one of them dipping, and a
// point, with the reflectivity that made its data.
func reflectors(t *testing.T) (*problem, []float32) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{61, 51}}
	s := &survey.Survey{Dim: 2, Fixed: true, NT: 180, DT: 0.004, Wavelet: ricker(20, 0.004)}
	for i := range 9 {
		s.Sources = append(s.Sources, 70*float64(i)+20, 0)
	}
	for i := range 31 {
		s.Receivers = append(s.Receivers, 20*float64(i), 0)
	}
	p := newProblem(t, g, s)
	truth := make([]float32, g.Len())
	for x := range 61 {
		truth[x*51+18] = 1
		truth[x*51+30+x/6] = -0.7
	}
	truth[20*51+26] = 1.5
	made := *s
	made.Data = p.model(t, truth, "cpu")
	p.record(t, &made)
	return p, truth
}

// imageError returns the distance of an image from the truth after one factor, relative to
// the truth.
func imageError(image, truth []float32) float64 {
	c := dot(image, truth) / (norm(image) * norm(truth))
	return math.Sqrt(max(0, 1-c*c))
}

// Matching filters bring the image closer to the reflectivity than migration does,
// and the data that it predicts closer to those recorded than the best scaled migrated
// image; the history holds just that.
func TestMatching(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		p, truth := reflectors(t)
		migrated := p.migrate(t, engine)
		r := p.solve(t, engine, "solver.method=matching")
		before, after := imageError(migrated, truth), imageError(r.Image, truth)
		if !(after < 0.92*before) {
			t.Errorf("image error %.3f, of the migrated image %.3f", after, before)
		}
		predicted, data := p.model(t, migrated, engine), p.survey.Data
		factor := dot(predicted, data) / dot(predicted, predicted)
		rest := make([]float32, len(data))
		for i := range rest {
			rest[i] = data[i] - float32(factor)*predicted[i]
		}
		h := r.History
		if !(h.Residual[1] < 0.7*norm(rest)) {
			t.Errorf("residual %.4g, of the scaled migrated image %.4g", h.Residual[1], norm(rest))
		}
		if want := p.misfit(t, r.Image, engine); !(abs(h.Residual[1]-want) <= 1e-5*want) || !(abs(h.Residual[0]-norm(data)) <= 1e-6*norm(data)) {
			t.Errorf("the history has %g and %g, want %g and %g", h.Residual[0], h.Residual[1], norm(data), want)
		}
		if want := norm(migrated); len(h.Residual) != 2 || len(h.Gradient) != 2 || !(abs(h.Gradient[0]-want) <= 1e-5*want) || !(h.Gradient[1] < h.Gradient[0]) {
			t.Errorf("gradients %g, that of the migrated image is %g", h.Gradient, want)
		}
		if r.Reason != solver.Matched {
			t.Errorf("reason %s", r.Reason)
		}
		t.Logf("image error %.3f → %.3f, residual %.3f → %.3f", before, after, norm(rest)/norm(data), relativeNorm(h.Residual))
	})
}

// The same bits on any grid and any number of threads.
func TestMatchingOnRanks(t *testing.T) {
	for name, c := range map[string]struct {
		make func(*testing.T) *problem
		set  []string
	}{
		"2-D": {wide, []string{"solver.matching_window=30,5", "solver.matching_filter=5,7"}},
		"3-D": {long, []string{"kirchhoff.dynamic=true"}},
	} {
		p := c.make(t)
		set := append(c.set, "solver.method=matching")
		want := p.solveOn(t, 1, append(set, "machine.threads=1")...)
		if norm(want.Image) == 0 {
			t.Errorf("%s: nothing was found", name)
		}
		for _, g := range [][2]int{{3, 1}, {2, 2}, {1, 6}} {
			on := append(slices.Clone(set), fmt.Sprintf("comm.grid=%d,%d", g[0], g[1]), "machine.threads=2")
			sameResult(t, fmt.Sprint(name, g), p.solveOn(t, g[0]*g[1], on...), want)
		}
	}
}

func TestMatchingOnCards(t *testing.T) {
	gputest.Need(t)
	p := line(t)
	set := []string{"solver.method=matching"}
	near(t, "cuda and cpu", p.solveOnCards(t, 1, set...).Image, p.solve(t, "cpu", set...).Image, 1e-4)
}

// Filters that do not fit the image are refused when it is known; what fits is told.
func TestMatchingFilters(t *testing.T) {
	p := line(t)
	for set, want := range map[string]string{
		"solver.matching_filter=3,13":   "solver.matching_filter: 13 points along z, the image has 11",
		"solver.matching_filter=3,3,3":  "solver.matching_filter: 3 values, the image has 2 axes",
		"solver.matching_window=10,5,4": "solver.matching_window: 3 values, the image has 2 axes",
	} {
		err := p.on(2, []string{"solver.method=matching", set}, func(*Job) error { return nil })
		if status.Code(err) != status.BadUsage || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: status %d: %v", set, status.Code(err), err)
		}
	}
	for want, set := range map[string][]string{
		"6 filters of 5 × 11 points, 10 × 20 points apart":     nil,
		"16 filters of 3 × 5 points, 6.67 × 3.33 points apart": {"solver.matching_filter=3,5", "solver.matching_window=7,4", "image.shape=21,11"},
	} {
		found := false
		for _, f := range wellSampled(t).check(t, append(set, "solver.method=matching")...) {
			found = found || f.Topic == "matching" && f.Text == want
			if f.Topic == "matching" && f.Text != want {
				t.Errorf("says %q, want %q", f.Text, want)
			}
		}
		if !found {
			t.Errorf("nobody says %q", want)
		}
	}
}

// A match keeps no checkpoints: --resume starts it again, and a signal ends all ranks
// as interrupted.
func TestMatchingHasNoCheckpoints(t *testing.T) {
	p := wide(t)
	var lines strings.Builder
	report := progress.New(progress.Options{Out: &lines, Err: &lines})
	j := p.open(t, NeedTraces, report, "cpu", "solver.method=matching", "checkpoint.iterations=1")
	if can, err := j.CanResume(); can || err != nil {
		t.Errorf("can resume: %v, %v", can, err)
	}
	_, err := j.solve(context.Background(), build(t, j), true)
	must(t, err)
	if !strings.Contains(lines.String(), `solver.method = "matching" keeps no checkpoints`) {
		t.Errorf("says %s", lines.String())
	}
	err = p.on(3, []string{"solver.method=matching"}, func(j *Job) error {
		op, err := j.Build(context.Background())
		if err != nil {
			return err
		}
		defer op.engine.Close()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if j.Ranks.World.Rank() == 1 {
			cancel()
		}
		if _, err = j.solve(ctx, op, false); status.Code(err) != status.Stopped {
			return fmt.Errorf("status %d: %v", status.Code(err), err)
		}
		return nil
	})
	must(t, err)
	if got := names(t, p.folder); strings.Contains(got, "checkpoints") {
		t.Errorf("left behind: %s", got)
	}
}

// Numbers that overflow end a match as numerical.
func TestMatchingOverflow(t *testing.T) {
	p := line(t)
	j, op := p.ready(t, "cpu", "solver.method=matching")
	for i := range j.traces.Samples { // a file with such numbers is refused
		j.traces.Samples[i] = math.MaxFloat32 * float32(1-2*(i%2))
	}
	if _, err := j.solve(context.Background(), op, false); status.Code(err) != status.NotNumerical {
		t.Errorf("status %d: %v", status.Code(err), err)
	}
}
