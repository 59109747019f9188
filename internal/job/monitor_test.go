package job

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/forecast"
	"github.com/kirchhoff-lsm/lsm/internal/operator"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/surveytest"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/solver"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// repeated is a problem with a repeat survey of other sources and receivers, and another
// sampling.
func repeated(t *testing.T) *problem {
	p := line(t)
	s := &survey.Survey{
		Dim: 2, Fixed: true,
		Sources:   []float64{12, 2, 55, 2},
		Receivers: []float64{-11, 0, 4, 0, 25, 3, 48, 0, 66, 0, 81, 0, 95, 0},
		NT:        70, DT: 0.003,
		Wavelet: survey.Wavelet{Samples: []float64{-0.2, 1, 0.3, -0.3}, DT: 0.003, Zero: 1},
	}
	s.Data = noise(s.NumTraces()*s.NT, 2)
	must(t, h5.WriteSurvey(p.path("monitor.h5"), s, h5.WriteOptions{}))
	return p
}

// anywhere is a medium in which sources and receivers may lie anywhere.
var anywhere = []string{"velocity.file=", "velocity.constant=2000", "image.origin=-20,0", "image.spacing=10,10", "image.shape=13,11"}

const monitored = "survey.monitor.file=monitor.h5"

// at sets a path of the problem's folder.
func (p *problem) at(set string) string {
	key, name, _ := strings.Cut(set, "=")
	return key + "=" + config.Quote(p.path(name))
}

// The joint operator, with weights and the rows of penalties, and its adjoint belong
// together.
func TestMonitorDot(t *testing.T) {
	p := repeated(t)
	eachEngine(t, func(t *testing.T, engine string) {
		for name, set := range map[string][]string{
			"l2":      {"solver.damping=0.1", "solver.regularization=dip", "solver.regularization_weight=0.1"},
			"weights": {"data.mute_offsets=0,100", "data.mute_times=0.02,0.08"},
			"dynamic": {"kirchhoff.dynamic=true", "kirchhoff.wavelet_filter=true"},
		} {
			t.Run(name, func(t *testing.T) {
				j, _ := p.ready(t, engine, append(set, p.at(monitored))...)
				if e, err := j.DotTest(context.Background()); err != nil || !(e <= j.DotLimit()) {
					t.Errorf("joint operator: %g, %v", e, err)
				}
				d, err := j.Data()
				must(t, err)
				f, err := j.formulate(context.Background(), d)
				must(t, err)
				if e, err := dist.DotTest(context.Background(), j.Device, f.Problem.(*solver.Held).A, 3); err != nil || !(e <= j.DotLimit()) {
					t.Errorf("formulated problem: %g, %v", e, err)
				}
			})
		}
	})
}

// Without a penalty the images are those of each survey alone, with what it has of its own, and
// a strong penalty makes them equal.
func TestMonitorSeparates(t *testing.T) {
	p := repeated(t)
	v := make([]float64, p.grid.Len())
	for i := range v {
		v[i] = 1900 + float64(i%11)
	}
	must(t, h5.WriteModel(p.path("later.h5"), p.grid, v, h5.WriteOptions{}))
	for name, dt := range map[string]float64{"w.h5": 0.004, "later-w.h5": 0.003} {
		w := survey.Wavelet{Samples: []float64{0.5, dt * 100, -1, 0.1}, DT: dt, Zero: 1}
		must(t, h5.WriteWavelet(p.path(name), w, h5.WriteOptions{}))
	}
	set := []string{"solver.iterations=60", "solver.damping=0.5", "data.mute_offsets=0,100", "data.mute_times=0.02,0.08"}
	baseline := slices.Clip(append(set, p.at("survey.wavelet_file=w.h5")))
	pair := append(baseline, p.at(monitored), p.at("survey.monitor.velocity_file=later.h5"), p.at("survey.monitor.wavelet_file=later-w.h5"))
	later := append(set, p.at("survey.file=monitor.h5"), p.at("velocity.file=later.h5"), p.at("survey.wavelet_file=later-w.h5"))
	for _, engine := range engines {
		both := p.solveImages(t, engine, append(pair, "survey.monitor.difference_weight=0")...)
		near(t, engine+": baseline", both[0], p.solve(t, engine, baseline...).Image, 1e-3)
		near(t, engine+": monitor", both[1], p.solve(t, engine, later...).Image, 1e-3)
		both = p.solveImages(t, engine, append(pair, "survey.monitor.difference_weight=100")...)
		near(t, engine+": coupled", both[1], both[0], 1e-2)
	}
}

// solveImages solves for both surveys and returns both images.
func (p *problem) solveImages(t *testing.T, engine string, set ...string) (both [2][]float32) {
	t.Helper()
	j, op := p.ready(t, engine, set...)
	r, err := j.solve(context.Background(), op, false)
	must(t, err)
	for i := range both {
		both[i], err = j.Whole(r.Classes.Parts[i])
		must(t, err)
	}
	return both
}

// Dynamic weights have one stabiliser, so that a trace that is in both surveys counts alike.
func TestMonitorStabiliser(t *testing.T) {
	p := repeated(t)
	j := p.open(t, plan.Traces, progress.Discard(), "cpu", "kirchhoff.dynamic=true", p.at(monitored))
	b, m := j.Problem(j.Share).MaxDistance, j.Monitor.Problem(j.Monitor.Share).MaxDistance
	alone := p.open(t, plan.Traces, progress.Discard(), "cpu", "kirchhoff.dynamic=true")
	if own := alone.Problem(alone.Share).MaxDistance; b != m || b == own {
		t.Errorf("largest distances are %v and %v, of the baseline alone %v", b, m, own)
	}
}

// patch is a repeat survey over a ground of flat layers of which a patch has changed: sources
// and receivers lie elsewhere, and both surveys have noise. It returns both reflectivities.
func patch(t *testing.T) (p *problem, baseline, monitor []float32) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{64, 36}}
	lay := func(shots, receivers int, shift float64) *survey.Survey {
		s := &survey.Survey{
			Dim: 2, Fixed: true, NT: 140, DT: 0.004,
			Wavelet: survey.Wavelet{Samples: []float64{-0.1, -0.4, 0.2, 1, 0.2, -0.4, -0.1}, DT: 0.004, Zero: 3},
		}
		for i := range shots {
			s.Sources = append(s.Sources, shift+630*float64(i)/float64(shots), 0)
		}
		for i := range receivers {
			s.Receivers = append(s.Receivers, shift/2+630*float64(i)/float64(receivers), 0)
		}
		s.Data = noise(s.NumTraces()*s.NT, 1) // until it is modelled
		return s
	}
	p = newProblem(t, g, lay(11, 32, 0))
	baseline, monitor = make([]float32, g.Len()), make([]float32, g.Len())
	for x := range 64 {
		for k, z := range []int{9, 15, 21, 22, 29} {
			baseline[x*36+z] = []float32{1, -0.8, 1.2, -0.6, 0.9}[k]
		}
		copy(monitor[x*36:(x+1)*36], baseline[x*36:(x+1)*36])
		if x > 26 && x < 38 {
			monitor[x*36+21] += 0.4
			monitor[x*36+23] -= 0.3
		}
	}
	for name, of := range map[string]struct {
		s     *survey.Survey
		truth []float32
		seed  uint64
	}{"monitor.h5": {lay(9, 26, 17), monitor, 5}, "survey.h5": {p.survey, baseline, 6}} {
		q := *p
		q.record(t, of.s)
		of.s.Data = q.model(t, of.truth, "cpu")
		rms := norm(of.s.Data) / math.Sqrt(float64(len(of.s.Data)))
		for i, v := range noise(len(of.s.Data), of.seed) {
			of.s.Data[i] += float32(0.3*rms) * v
		}
		must(t, h5.WriteSurvey(p.path(name), of.s, h5.WriteOptions{Force: true}))
	}
	must(t, h5.WriteSurvey(p.path("survey.h5"), p.survey, h5.WriteOptions{Force: true}))
	return p, baseline, monitor
}

// offBy is the error of a difference of images relative to the true one.
func offBy(difference, baseline, monitor []float32) float64 {
	var off, all float64
	for i, v := range difference {
		want := float64(monitor[i] - baseline[i])
		off, all = off+(float64(v)-want)*(float64(v)-want), all+want*want
	}
	return math.Sqrt(off / all)
}

// The difference of a joint inversion is nearer to the truth than that of two inversions.
func TestMonitorPatch(t *testing.T) {
	p, baseline, monitor := patch(t)
	const iterations = "solver.iterations=30"
	separate := p.solve(t, "cpu", iterations, "survey.file="+config.Quote(p.path("monitor.h5"))).Image
	for i, b := range p.solve(t, "cpu", iterations).Image {
		separate[i] -= b
	}
	alone := offBy(separate, baseline, monitor)
	t.Logf("two inversions: the difference is off by %.2f of the true one", alone)
	const most = 0.75
	e := offBy(p.difference(t, "survey.monitor.difference_weight=0.1", iterations, p.at(monitored)), baseline, monitor)
	t.Logf("a joint inversion: %.2f", e)
	if !(e < most && e < alone/3) {
		t.Errorf("the difference is off by %.2f of the true one, want at most %.2f and a third of %.2f", e, most, alone)
	}
}

// difference solves for both surveys and reads the difference from the image file.
func (p *problem) difference(t *testing.T, set ...string) []float32 {
	t.Helper()
	out := p.path("pair.h5")
	must(t, p.on(1, set, withData(func(j *Job, _ *operator.Operator, d *dist.Vector) error {
		r, err := j.Solve(context.Background(), d, false)
		if err != nil {
			return err
		}
		return j.WriteResult(out, r, Source{Command: "run", Force: true})
	})))
	r, err := h5.ReadRepeat(out)
	must(t, err)
	return r.Difference
}

// repeatedWide is wide with a repeat survey.
func repeatedWide(t *testing.T) *problem {
	p := wide(t)
	s := *p.survey
	s.Sources, s.Receivers, s.NT = nil, nil, 80
	for i := range 7 {
		s.Sources = append(s.Sources, 40+130*float64(i), 3)
	}
	for i := range 12 {
		s.Receivers = append(s.Receivers, 95*float64(i)-5, 0)
	}
	s.Data = noise(s.NumTraces()*s.NT, 4)
	must(t, h5.WriteSurvey(p.path("monitor.h5"), &s, h5.WriteOptions{}))
	return p
}

// Both images and the history have the same bits on any ranks.
func TestMonitorOnRanks(t *testing.T) {
	for name, set := range map[string][]string{
		"l2":       {"solver.damping=0.1", "solver.penalty_scale=relative", "data.mute_offsets=0,100", "data.mute_times=0.02,0.08"},
		"aperture": {"kirchhoff.aperture=150", "kirchhoff.dynamic=true"},
	} {
		t.Run(name, func(t *testing.T) {
			p := repeatedWide(t)
			grids := map[string]int{"2,1": 2, "3,1": 3, "1,3": 3, "2,2": 4}
			if name == "aperture" {
				grids = map[string]int{"1,2": 2, "1,3": 3}
				err := p.on(2, append(set, p.at(monitored)), func(*Job) error { return nil })
				if status.Code(err) != status.BadUsage || !strings.Contains(err.Error(), "kirchhoff.aperture") {
					t.Errorf("an aperture on two ranks over shots: %v", err)
				}
			}
			set := append(set, "solver.iterations=2", p.at(monitored))
			want := p.solvePair(t, 1, set...)
			for grid, ranks := range grids {
				got := p.solvePair(t, ranks, append(set, "comm.grid="+grid)...)
				sameResult(t, grid, got[0], want[0])
				equal(t, grid+": monitor", got[1].Image, want[1].Image)
			}
		})
	}
}

// solvePair is solveOn for baseline and monitor.
func (p *problem) solvePair(t *testing.T, ranks int, set ...string) (pair [2]*solved) {
	t.Helper()
	must(t, p.on(ranks, set, withData(func(j *Job, _ *operator.Operator, d *dist.Vector) error {
		r, err := j.Solve(context.Background(), d, false)
		for i := range pair {
			var image []float32
			if err == nil {
				image, err = j.Whole(r.Classes.Parts[i])
			}
			if err == nil && j.Root() {
				pair[i] = &solved{r, image}
			}
		}
		return err
	})))
	return pair
}

// A run for two surveys can be stopped and resumed, and starts from a given image.
func TestMonitorResumes(t *testing.T) {
	p := repeated(t)
	for _, method := range []string{"cgls", "cg"} {
		set := []string{"solver.method=" + method, "solver.iterations=9", p.at(monitored)}
		whole := p.solve(t, "cpu", set...)
		if err := p.stopAfter(t, 4, "cpu", false, set...); status.Code(err) != status.Checkpointed {
			t.Fatalf("status %d: %v", status.Code(err), err)
		}
		j, op := p.ready(t, "cpu", set...)
		r, err := j.solve(context.Background(), op, true)
		must(t, err)
		sameResult(t, method, r, whole)
		must(t, j.WriteResult(p.path("start.h5"), r.Result, Source{Force: true}))

		p.begin(t, append(set, p.at("solver.start=start.h5"), "solver.iterations=0"), r.Image)
	}
	// What was left of another survey is no checkpoint of this run.
	set := []string{"solver.iterations=9", p.at(monitored)}
	if err := p.stopAfter(t, 4, "cpu", false, set...); status.Code(err) != status.Checkpointed {
		t.Fatal(err)
	}
	s := *p.survey
	s.Data = noise(len(s.Data), 9)
	must(t, h5.WriteSurvey(p.path("monitor.h5"), &s, h5.WriteOptions{Force: true}))
	if _, err := p.open(t, plan.Traces, progress.Discard(), "cpu", set...).CanResume(); err == nil || !strings.Contains(err.Error(), "monitor_survey") {
		t.Errorf("a checkpoint of another monitor survey: %v", err)
	}
}

// begin checks that both images of a run begin with an image.
func (p *problem) begin(t *testing.T, set []string, image []float32) {
	t.Helper()
	for i, r := range p.solvePair(t, 1, set...) {
		equal(t, []string{"baseline", "monitor"}[i]+" at the start", r.Image, image)
	}
}

// What does not go with a repeat survey is refused by name, and so are surveys that do not fit
// together.
func TestMonitorRefuses(t *testing.T) {
	p := repeated(t)
	far, deep := *p.survey, *cube(t).survey
	far.Sources, far.Receivers = []float64{9000, 2, 9030, 2, 9070, 2}, []float64{8990, 0, 9020, 0, 9040, 3, 9050, 0, 9090, 0}
	must(t, h5.WriteSurvey(p.path("far.h5"), &far, h5.WriteOptions{}))
	must(t, h5.WriteSurvey(p.path("cube.h5"), &deep, h5.WriteOptions{}))
	must(t, h5.WriteSurvey(p.path("copy.h5"), p.survey, h5.WriteOptions{}))
	for name, words := range map[string]string{
		"far.h5":  "have no ground in common",
		"cube.h5": "positions have 3 columns",
		"copy.h5": "has the same bytes as the baseline",
		"none.h5": "none.h5",
	} {
		cfg, err := config.Parse(p.path("config.toml"), []byte(baseConfig), append(anywhere, p.at("survey.monitor.file="+name)), nil)
		must(t, err)
		_, err = Open(comm.Self(), cfg, plan.Traces, progress.Discard())
		if status.Code(err) != status.BadInput || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: status %d: %v", name, status.Code(err), err)
		}
	}
	for _, set := range []string{
		"data.read=stream", "kirchhoff.tables=recompute", "kirchhoff.engine=cuda", "image.gathers=offset",
		"solver.method=matching", "output.residual=r.h5", "output.psf=p.h5", "survey.monitor.difference=l1", "image.surface=survey",
		"solver.method=matching", "output.residual=r.h5", "output.psf=p.h5", "image.surface=survey",
	} {
		key, _, _ := strings.Cut(set, "=")
		_, err := config.Parse(p.path("config.toml"), []byte(baseConfig), []string{p.at(monitored), set}, nil)
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", set, err)
		}
	}
}

// What makes the surveys' difference doubtful is a warning.
func TestMonitorDoubts(t *testing.T) {
	p := repeated(t)
	s, err := surveytest.Read(p.path("monitor.h5"))
	must(t, err)
	warnings := func() (texts string) {
		j := p.open(t, plan.Planning, progress.Discard(), "cpu", append(anywhere, p.at(monitored))...)
		for _, f := range forecast.Repeat(j.Plan) {
			if f.Level == "warning" {
				texts += f.Text + "; "
			}
		}
		return texts
	}
	s.DT, s.Wavelet = p.survey.DT, p.survey.Wavelet
	record := func() { must(t, h5.WriteSurvey(p.path("monitor.h5"), s, h5.WriteOptions{Force: true})) }
	record()
	before := warnings()
	for i := range s.Data {
		s.Data[i] *= 10
	}
	for i := range s.Sources {
		s.Sources[i] *= 10 // most of its midpoints lie outside
	}
	s.Wavelet.Samples = []float64{0.3, -0.1, -1, -0.2, 0.4}
	record()
	after := warnings()
	for _, words := range []string{"a factor between the surveys", "of the monitor's within that of the baseline's", "what is wrong with one"} {
		if strings.Contains(before, words) || !strings.Contains(after, words) {
			t.Errorf("%q: warnings were %q, are %q", words, before, after)
		}
	}
}
