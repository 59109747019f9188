package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/solver"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// few is a problem of full rank: 9 image points far apart, seen by 12 traces.
func few(t *testing.T) *problem {
	g := grid.Grid{Origin: []float64{0, 40}, Spacing: []float64{50, 40}, Shape: []int{3, 3}}
	s := &survey.Survey{
		Dim: 2, Fixed: true,
		Sources:   []float64{-20, 40, 30, 40, 117, 40},
		Receivers: []float64{-44, 40, 10, 40, 66, 40, 141, 40},
		NT:        110, DT: 0.002,
		Wavelet: survey.Wavelet{Samples: []float64{-0.4, 1, -0.4}, DT: 0.002, Zero: 1},
	}
	p := newProblem(t, g, s)
	return p
}

// Least squares finds the image that made the data.
func TestSolveFindsTheAnswer(t *testing.T) {
	for _, method := range []string{"cgls", "cg"} {
		eachEngine(t, func(t *testing.T, engine string) {
			p := few(t)
			set := append(constantModel(p.grid, "2000"), "solver.method="+method, "solver.iterations=400", "solver.tolerance=1e-7")
			truth := noise(p.grid.Len(), 11)
			s := *p.survey
			s.Data = p.model(t, truth, engine, set...)
			p.record(t, &s)
			r := p.solve(t, engine, set...)
			near(t, method, r.Image, truth, 2e-5)
			t.Logf("%s %s: %s after %d iterations", method, engine, r.Reason, len(r.History.Residual)-1)
		})
	}
}

// An image that one rank cannot read is an error on all.
func TestImageThatOneRankCannotRead(t *testing.T) {
	p := wide(t)
	must(t, p.on(3, nil, func(j *Job) error {
		op, err := j.Build(context.Background())
		if err != nil {
			return err
		}
		defer op.engine.Close()
		_, err = j.op.ImageVector(func([]float32, int) error {
			if j.Ranks.World.Rank() == 1 {
				return errors.New("cannot be read")
			}
			return nil
		})
		if err == nil {
			return fmt.Errorf("rank %d has no error", j.Ranks.World.Rank())
		}
		return nil
	}))
}

// The start model is where a run begins: its history continues the one before.
func TestStartModel(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		p := line(t)
		j, op := p.ready(t, engine)
		first, err := j.solve(context.Background(), op, false)
		must(t, err)
		must(t, j.WriteResult(p.path("start.h5"), first.Result, Source{Command: "run"}))
		second := p.solve(t, engine, "solver.start="+p.path("start.h5"))
		last := first.History.Residual[len(first.History.Residual)-1]
		if got := second.History.Residual[0]; !(abs(got-last) <= 1e-6*last) {
			t.Errorf("starts with residual %g, the start model's is %g", got, last)
		}
		n := len(second.History.Residual)
		if !(second.History.Residual[n-1] < 0.995*last) {
			t.Errorf("goes from %g to %g only", last, second.History.Residual[n-1])
		}
	})
}

// With damping the history is that of the data misfit alone, and the damped
// image is the smaller one.
func TestDampingHistory(t *testing.T) {
	for _, method := range []string{"cgls", "cg"} {
		eachEngine(t, func(t *testing.T, engine string) {
			p := line(t)
			free := p.solve(t, engine, "solver.method="+method)
			r := p.solve(t, engine, "solver.method="+method, "solver.damping=3")
			want := p.misfit(t, r.Image, engine)
			got := r.History.Residual[len(r.History.Residual)-1]
			if !(abs(got-want) <= 1e-5*want) {
				t.Errorf("%s: the history ends at %g, |data - A m| is %g", method, got, want)
			}
			if !(norm(r.Image) < 0.95*norm(free.Image)) {
				t.Errorf("%s: damping leaves an image of norm %g, without it is %g", method, norm(r.Image), norm(free.Image))
			}
		})
	}
}

func (p *problem) misfit(t *testing.T, image []float32, engine string, set ...string) float64 {
	t.Helper()
	predicted := p.model(t, image, engine, set...)
	for i := range predicted {
		predicted[i] -= p.survey.Data[i]
	}
	return norm(predicted)
}

// The same input gives the same bits, whatever the number of threads.
func TestSameBits(t *testing.T) {
	for _, set := range [][]string{
		nil,
		{"solver.method=cg", "kirchhoff.dynamic=true"},
	} {
		eachEngine(t, func(t *testing.T, engine string) {
			p := line(t)
			want := ""
			for _, threads := range []int{1, 1, 2, 3, 0} {
				j, op := p.ready(t, engine, append(set, fmt.Sprintf("machine.threads=%d", threads))...)
				r, err := j.solve(context.Background(), op, false)
				must(t, err)
				must(t, j.WriteResult(p.path("image.h5"), r.Result, Source{Command: "run", Force: true}))
				got := digests(t, p.path("image.h5"))
				if want == "" {
					want = got
				} else if got != want {
					t.Errorf("%v: %d threads: %s, 1 thread: %s", set, threads, got, want)
				}
			}
		})
	}
}

// digests are those of an image and its history.
func digests(t *testing.T, path string) string {
	t.Helper()
	f, err := h5.Open(path)
	must(t, err)
	defer f.Close()
	all := ""
	for _, name := range []string{"/image", "/history/residual_norm", "/history/gradient_norm"} {
		d, err := f.Dataset(name)
		must(t, err)
		must(t, d.Verify())
		sum, err := d.Attrs().Text("sha256")
		must(t, err)
		all += sum[:12] + " "
	}
	return all
}

// A tolerance ends a run early, and says so.
func TestTolerance(t *testing.T) {
	p := line(t)
	r := p.solve(t, "cpu", "solver.tolerance=0.95", "solver.iterations=50")
	h := r.History.Residual
	if r.Reason != solver.ConvergedResidual || !(h[len(h)-1] <= 0.95*h[0]) || !(h[len(h)-2] > 0.95*h[0]) {
		t.Errorf("%s after %d iterations, residuals %v", r.Reason, len(h)-1, h)
	}
}

// Numbers that overflow end a run with their own status.
func TestOverflowIsNumerical(t *testing.T) {
	p := line(t)
	for _, method := range solver.Names() {
		j, op := p.ready(t, "cpu", "solver.method="+method)
		for i := range j.traces.Samples { // a file with such numbers is refused
			j.traces.Samples[i] = math.MaxFloat32 * float32(1-2*(i%2))
		}
		_, err := j.solve(context.Background(), op, false)
		if status.Code(err) != status.NotNumerical {
			t.Errorf("%s: status %d: %v", method, status.Code(err), err)
		}
	}
	if got := names(t, p.folder); strings.Contains(got, "image") || strings.Contains(got, "checkpoints") {
		t.Errorf("left behind: %s", got)
	}
}

// A cancelled context ends the computation of the operator at once.
func TestBuildIsInterrupted(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		j := line(t).open(t, NeedTraces, progress.Discard(), engine)
		if _, err := j.Build(ctx); status.Code(err) != status.Stopped {
			t.Errorf("status %d: %v", status.Code(err), err)
		}
		if err := j.WriteTimes(ctx, j.plan.Config.Output.File.File, true, Source{}); status.Code(err) != status.Stopped {
			t.Errorf("status %d: %v", status.Code(err), err)
		}
		if _, err := os.Stat(j.plan.Config.Output.File.File); !os.IsNotExist(err) {
			t.Error("a part of the tables was left behind")
		}
	})
}
