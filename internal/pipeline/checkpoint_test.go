package pipeline

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// A run that is stopped by a signal and resumed, twice, ends with the bits of
// one that never stopped.
func TestResumeIsExact(t *testing.T) {
	for method, more := range map[string][]string{
		"cgls": {"solver.true_residual_every=4"},
		"cg":   {"solver.damping=0.5"},

		"cgls, gathers":   byOffset,
		"cgls, band":      {"solver.band=true", "solver.damping=0.2", "solver.penalty_scale=relative"},
		"cgls, coherence": {"data.weights=coherence", "solver.band=true", "solver.damping=0.2", "solver.penalty_scale=relative"},
		"cgls, halves":    {"image.halves=true", "data.weights=coherence", "solver.band=true"},
		"cg, coherence":   {"data.weights=coherence"},
	} {
		method, _, _ := strings.Cut(method, ",")
		eachEngine(t, func(t *testing.T, engine string) {
			p := line(t)
			set := append(more, "solver.method="+method, "solver.iterations=9")
			whole := p.solve(t, engine, set...)
			for i, n := range []int{3, 5} {
				if err := p.stopAfter(t, n, engine, i > 0, set...); status.Code(err) != status.Checkpointed {
					t.Fatalf("%s: status %d: %v", method, status.Code(err), err)
				}
			}
			if got := names(t, p.path("checkpoints")); got != "image-0000003.checkpoint.h5 image-0000005.checkpoint.h5" {
				t.Errorf("%s: checkpoints %s", method, got)
			}
			j, op := p.ready(t, engine, set...)
			r, err := j.solve(context.Background(), op, true)
			must(t, err)
			equal(t, method+": image", r.Image, whole.Image)
			equal(t, method+": residual", r.History.Residual, whole.History.Residual)
			equal(t, method+": total", r.History.Total, whole.History.Total)
			equal(t, method+": gradient", r.History.Gradient, whole.History.Gradient)
			equal(t, method+": agreement", r.History.Agreement, whole.History.Agreement)
			if r.Reason != whole.Reason {
				t.Errorf("%s: reason %s, want %s", method, r.Reason, whole.Reason)
			}
		})
	}
}

// More iterations may be asked for on resuming, and other threads.
func TestResumeWithMoreIterations(t *testing.T) {
	p := line(t)
	want := p.solve(t, "cpu", "solver.iterations=12")
	stopped(t, p.stopAfter(t, 4, "cpu", false, "solver.iterations=5"))
	j, op := p.ready(t, "cpu", "solver.iterations=12", "machine.threads=3", "output.file="+p.path("image.h5"))
	r, err := j.solve(context.Background(), op, true)
	must(t, err)
	equal(t, "image", r.Image, want.Image)
}

// Without a checkpoint, --resume starts at the beginning.
func TestResumeFromNothing(t *testing.T) {
	p := line(t)
	want := p.solve(t, "cpu")
	j, op := p.ready(t, "cpu")
	if can, err := j.CanResume(); can || err != nil {
		t.Errorf("can resume from nothing: %v, %v", can, err)
	}
	r, err := j.solve(context.Background(), op, true)
	must(t, err)
	equal(t, "image", r.Image, want.Image)
}

// The two newest checkpoints stay while a run goes on, none after its image is
// written, and the folder goes with the last.
func TestCheckpointsComeAndGo(t *testing.T) {
	p := line(t)
	const every = "checkpoint.iterations=1"
	stopped(t, p.stopAfter(t, 4, "cpu", false, every))
	if got := names(t, p.path("checkpoints")); got != "image-0000003.checkpoint.h5 image-0000004.checkpoint.h5" {
		t.Errorf("checkpoints %s", got)
	}
	j, op := p.ready(t, "cpu", every)
	r, err := j.solve(context.Background(), op, true)
	must(t, err)
	if got := names(t, p.path("checkpoints")); got != "image-0000004.checkpoint.h5 image-0000005.checkpoint.h5" {
		t.Errorf("checkpoints %s", got)
	}
	must(t, j.WriteResult(p.path("image.h5"), r.Result, Source{Command: "run"}))
	if got := names(t, p.folder); strings.Contains(got, "checkpoints") {
		t.Errorf("the folder stays: %s", got)
	}
}

// What runs that were killed while they wrote left behind is swept away, and no
// more than that.
func TestLeftoversAreSwept(t *testing.T) {
	p := line(t)
	must(t, os.Mkdir(p.path("checkpoints"), 0o755))
	for _, name := range []string{"image-0000002.checkpoint.h5.tmp-17", "image-2-0000002.checkpoint.h5.tmp-17", "image-1.checkpoint.h5.tmp-17"} {
		must(t, os.WriteFile(p.path("checkpoints/"+name), []byte("half"), 0o644))
	}
	stopped(t, p.stopAfter(t, 3, "cpu", false))
	if got := names(t, p.path("checkpoints")); got != "image-0000003.checkpoint.h5 image-1.checkpoint.h5.tmp-17 image-2-0000002.checkpoint.h5.tmp-17" {
		t.Errorf("left: %s", got)
	}
}

// A failed write of the image leaves the checkpoints where they are.
func TestCheckpointsOutliveAFailedWrite(t *testing.T) {
	p := line(t)
	stopped(t, p.stopAfter(t, 4, "cpu", false))
	j, op := p.ready(t, "cpu")
	r, err := j.solve(context.Background(), op, true)
	must(t, err)
	must(t, os.WriteFile(p.path("image.h5"), []byte("meanwhile"), 0o644))
	if err := j.WriteResult(p.path("image.h5"), r.Result, Source{Command: "run"}); status.Code(err) != status.BadUsage {
		t.Errorf("status %d: %v", status.Code(err), err)
	}
	if got := names(t, p.path("checkpoints")); got != "image-0000004.checkpoint.h5" {
		t.Errorf("checkpoints %s", got)
	}
}

// A run that starts anew replaces the checkpoints of the one before it, which
// was further on and had another plan.
func TestNewRunReplacesCheckpoints(t *testing.T) {
	p := line(t)
	const every = "checkpoint.iterations=1"
	stopped(t, p.stopAfter(t, 5, "cpu", false, every))
	stopped(t, p.stopAfter(t, 2, "cpu", false, every, "solver.damping=1"))
	if got := names(t, p.path("checkpoints")); got != "image-0000001.checkpoint.h5 image-0000002.checkpoint.h5" {
		t.Errorf("checkpoints %s", got)
	}
	want := p.solve(t, "cpu", "solver.damping=1")
	j, op := p.ready(t, "cpu", "solver.damping=1")
	r, err := j.solve(context.Background(), op, true)
	must(t, err)
	equal(t, "image", r.Image, want.Image)
}

// Outputs whose names begin alike keep apart in one folder.
func TestCheckpointsOfNeighbours(t *testing.T) {
	p := line(t)
	other := "output.file=" + p.path("image-2.h5")
	folder := "checkpoint.folder=" + p.path("checkpoints")
	stopped(t, p.stopAfter(t, 3, "cpu", false, other, folder))
	j, op := p.ready(t, "cpu", "checkpoint.iterations=1", folder)
	r, err := j.solve(context.Background(), op, true)
	must(t, err)
	must(t, j.WriteResult(p.path("image.h5"), r.Result, Source{Command: "run"}))
	if got := names(t, p.path("checkpoints")); got != "image-2-0000003.checkpoint.h5" {
		t.Errorf("checkpoints %s", got)
	}
}

// A folder of the user's own that happens to be empty is left to the user.
func TestEmptyFolderStays(t *testing.T) {
	p := line(t)
	must(t, os.Mkdir(p.path("checkpoints"), 0o755))
	j, op := p.ready(t, "cpu")
	r, err := j.solve(context.Background(), op, false)
	must(t, err)
	must(t, j.WriteResult(p.path("image.h5"), r.Result, Source{Command: "run"}))
	if _, err := os.Stat(p.path("checkpoints")); err != nil {
		t.Error(err)
	}
}

// The first line after a resume is that of the next iteration, compared with the
// one that was saved.
func TestFirstLineAfterResume(t *testing.T) {
	p := line(t)
	stopped(t, p.stopAfter(t, 4, "cpu", false))
	var lines []string
	report := progress.New(progress.Options{Err: os.Stderr, JSON: true, Out: writer(func(b []byte) {
		if strings.Contains(string(b), `"event":"iteration"`) {
			lines = append(lines, string(b))
		}
	})})
	j := p.open(t, NeedTraces, report, "cpu")
	_, err := j.solve(context.Background(), build(t, j), true)
	must(t, err)
	if len(lines) != 2 || !strings.Contains(lines[0], `"iteration":5,`) {
		t.Fatalf("after 4 of 6 iterations: %s", lines)
	}
	for _, line := range lines {
		if strings.Contains(line, "null") || !strings.Contains(line, `"change":-0.`) {
			t.Errorf("a number is missing, or the residual does not fall: %s", line)
		}
	}
}

func stopped(t *testing.T, err error) {
	t.Helper()
	if status.Code(err) != status.Checkpointed {
		t.Fatalf("status %d, want %d: %v", status.Code(err), status.Checkpointed, err)
	}
}

// changed is an engine with tables of which a bit has changed.
type changed struct{ kirchhoff.Engine }

func (changed) Intact() error { return errors.New("tables have changed") }

// Tables that have changed in memory end a run before a checkpoint or an image is made
// with them.
func TestTablesThatChange(t *testing.T) {
	for name, set := range map[string][]string{"before a checkpoint": {"checkpoint.iterations=2"}, "before the image": nil} {
		p := line(t)
		j, op := p.ready(t, "cpu", set...)
		if j.op == nil {
			t.Fatal("the tables are not watched")
		}
		must(t, j.op.checkIntact())
		j.op.engine = changed{j.op.engine}
		if _, err := j.solve(context.Background(), op, false); status.Code(err) != status.NotNumerical || !strings.Contains(err.Error(), "tables have changed") {
			t.Errorf("%s: status %d: %v", name, status.Code(err), err)
		}
		if _, err := os.Stat(p.path("checkpoints")); err == nil {
			t.Errorf("%s: there are checkpoints", name)
		}
	}
}
