package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// byOffset cuts the offsets of wide, up to 810 m, into three classes, byAngle its
// opening angles, and openAngle all of them. The classes of byAngle add up to
// withinAngle.
var (
	byOffset    = []string{"image.gathers=offset", "image.gather_bins=0,150,400,2000"}
	byAngle     = []string{"image.gathers=angle", "image.gather_bins=20,70,120"}
	openAngle   = append(slices.Clone(byAngle), "image.gather_ends=open")
	withinAngle = "kirchhoff.opening_limit=120,170"
)

// readGathers reads the gathers of an image file, [classes, points].
func readGathers(t *testing.T, path string) (*h5.Gathers, []float32) {
	t.Helper()
	r, err := h5.OpenGathers(path)
	must(t, err)
	if r == nil {
		t.Fatalf("%s: no gathers", path)
	}
	defer r.Close()
	v := make([]float32, len(r.Centers)*r.Grid().Len())
	must(t, r.Read(v, 0))
	return &r.Gathers, v
}

// migrateTo writes the plain image, with its gathers, on many ranks.
func (p *problem) migrateTo(t *testing.T, path string, ranks int, engine string, set ...string) []float32 {
	t.Helper()
	must(t, p.onEngine(ranks, engine, set, withData(func(j *Job, op *Operator, d *dist.Vector) error {
		r, err := j.op.Migrate(context.Background(), d)
		if err != nil {
			return err
		}
		return j.WriteAdjoint(path, r, Source{Force: true})
	})))
	im, err := h5.ReadImage(path)
	must(t, err)
	return im.Data
}

// The images by class add up to the plain image of the same traces and angles, with
// every engine.
func TestGathersAddUp(t *testing.T) {
	for name, c := range map[string]struct {
		engine  string
		classes []string
		set     []string
		limit   float64
	}{
		"offset":            {"cpu", byOffset, []string{"kirchhoff.dynamic=true"}, 1e-6},
		"offset, recompute": {"cpu", byOffset, []string{"kirchhoff.tables=recompute"}, 1e-6},
		"offset, reference": {"reference", byOffset, nil, 1e-6},
		"angle":             {"cpu", byAngle, nil, 1e-5},
		"angle, dynamic":    {"cpu", byAngle, []string{"kirchhoff.dynamic=true"}, 1e-5},
		"angle, recompute":  {"cpu", byAngle, []string{"kirchhoff.tables=recompute"}, 1e-5},
		"angle, reference":  {"reference", byAngle, nil, 1e-6},
		"open":              {"cpu", openAngle, nil, 1e-5},
		"open, recompute":   {"cpu", openAngle, []string{"kirchhoff.tables=recompute"}, 1e-5},
		"open, reference":   {"reference", openAngle, nil, 1e-6},
	} {
		t.Run(name, func(t *testing.T) {
			p := shuffled(t)
			plain := c.set
			if len(c.classes) == len(byAngle) && c.classes[0] == byAngle[0] {
				plain = append(slices.Clone(plain), withinAngle)
			}
			want := p.migrateTo(t, p.path("plain.h5"), 1, c.engine, plain...)
			image := p.migrateTo(t, p.path("image.h5"), 1, c.engine, slices.Concat(c.set, c.classes)...)
			near(t, "sum of the classes", image, want, c.limit)
			info, gathers := readGathers(t, p.path("image.h5"))
			wantInfo := &h5.Gathers{Kind: "offset", Centers: []float64{75, 275, 1200}, Limits: []float64{0, 150, 400, 2000}}
			if c.classes[0] == byAngle[0] {
				wantInfo = &h5.Gathers{Kind: "angle", Angle: "opening", Centers: []float64{20, 70, 120}, Limits: []float64{0, 45, 95, 145}}
				if len(c.classes) == len(openAngle) {
					wantInfo.Limits[3] = 180
				}
			}
			if !reflect.DeepEqual(info, wantInfo) {
				t.Errorf("%+v, want %+v", info, wantInfo)
			}
			n := len(want)
			sum := make([]float32, n)
			for i, v := range gathers {
				sum[i%n] += v
			}
			near(t, "sum of the gathers", sum, want, c.limit)
			for k := range 3 {
				if survey.Silent(gathers[k*n : (k+1)*n]) {
					t.Errorf("class %d is zero", k)
				}
			}
		})
	}
}

// Gathers, image and history have the same bits on any grid.
func TestGathersOnRanks(t *testing.T) {
	for name, c := range map[string]struct {
		make func(*testing.T) *problem
		set  []string
	}{
		"cgls":     {wide, append([]string{"solver.iterations=3", "solver.damping=0.2"}, byOffset...)},
		"shuffled": {shuffled, append([]string{"solver.iterations=2"}, byOffset...)},
		"normal":   {wide, append([]string{"solver.iterations=2", "solver.damping=0.1", "solver.penalty_scale=relative", "image.gather_normalize=illumination"}, byOffset...)},
		"cg, 3-D":  {long, append([]string{"solver.iterations=2", "solver.method=cg", "kirchhoff.dynamic=true"}, byOffset...)},
		"illumination": {wide, append([]string{"solver.iterations=2", "solver.damping=0.2",
			"kirchhoff.dynamic=true", "image.gather_normalize=illumination"}, byAngle...)},
		"recompute": {wide, append([]string{"solver.iterations=1", "kirchhoff.tables=recompute"}, byOffset...)},
		"angle":     {wide, append([]string{"solver.iterations=2", "solver.damping=0.2"}, byAngle...)},
		"dips": {wide, append([]string{"solver.iterations=1", "solver.method=cg",
			"solver.regularization=dip", "solver.regularization_weight=0.1"}, byAngle...)},
	} {
		t.Run(name, func(t *testing.T) {
			p := c.make(t)
			run := func(ranks int, set ...string) (*solved, []float32) {
				r := p.solveTo(t, p.path("image.h5"), ranks, slices.Concat(c.set, set)...)
				_, gathers := readGathers(t, p.path("image.h5"))
				return r, gathers
			}
			want, gathers := run(1, "machine.threads=1")
			for _, g := range []string{"2,1", "1,3", "2,2"} {
				got, parts := run(map[string]int{"2,1": 2, "1,3": 3, "2,2": 4}[g], "comm.grid="+g, "machine.threads=2")
				sameResult(t, g, got, want)
				equal(t, g+": gathers", parts, gathers)
			}
		})
	}
}

// solveTo solves on many ranks and writes the image.
func (p *problem) solveTo(t *testing.T, path string, ranks int, set ...string) *solved {
	t.Helper()
	var result *solved
	must(t, p.on(ranks, set, func(j *Job) error {
		op, err := j.Build(context.Background())
		if err != nil {
			return err
		}
		defer op.engine.Close()
		r, err := j.solve(context.Background(), op, false)
		if err != nil {
			return err
		}
		if j.Ranks.Root() {
			result = r
		}
		return j.WriteResult(path, r.Result, Source{Force: true})
	}))
	return result
}

// The operator of the classes is adjoint, and a start model is one of every class:
// nothing is left of the data that it predicts.
func TestGathersOperator(t *testing.T) {
	for _, classes := range [][]string{byOffset, byAngle, openAngle} {
		t.Run(strings.Join(classes, " "), func(t *testing.T) { gathersOperator(t, classes) })
	}
}

func gathersOperator(t *testing.T, classes []string) {
	p := wide(t)
	image := noise(p.grid.Len(), 3)
	must(t, h5.WriteImage(p.path("start.h5"), &h5.Image{Grid: p.grid, Data: image}, h5.WriteOptions{}))
	must(t, p.on(1, append(slices.Clone(classes), "solver.start="+p.path("start.h5"), "solver.iterations=0"), func(j *Job) error {
		op, err := j.Build(context.Background())
		if err != nil {
			return err
		}
		defer op.engine.Close()
		e, err := j.op.DotTest(context.Background())
		if err != nil {
			return err
		}
		if !(e <= j.op.DotLimit()) {
			return fmt.Errorf("dot test %.1e", e)
		}
		d, err := j.op.Model(context.Background(), ReadPoints(image))
		if err != nil {
			return err
		}
		r, err := j.whole(j.Solve(context.Background(), d, false))
		if err != nil {
			return err
		}
		near(t, "image", r.Image, image, 1e-6)
		if h := r.History.Residual; h[0] != 0 {
			return fmt.Errorf("residual %g", h[0])
		}
		return nil
	}))
}

// A run with gathers, stopped on some ranks, goes on to the same bits on others; with
// other classes it does not go on.
func TestResumeWithGathers(t *testing.T) {
	p := wide(t)
	set := append(slices.Clone(byOffset), "solver.iterations=4")
	want := p.solveTo(t, p.path("whole.h5"), 1, set...)
	_, gathers := readGathers(t, p.path("whole.h5"))
	must(t, p.on(2, append(set, "comm.grid=1,2"), func(j *Job) error {
		op, err := j.Build(context.Background())
		if err != nil {
			return err
		}
		defer op.engine.Close()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err = j.solve(ctx, op, false); status.Code(err) != status.Checkpointed {
			return fmt.Errorf("status %d: %v", status.Code(err), err)
		}
		return nil
	}))
	must(t, p.on(1, append(set, "image.gather_bins=0,200,2000"), func(j *Job) error {
		if _, err := j.CanResume(); err == nil || !strings.Contains(err.Error(), "image.gather_bins") {
			return fmt.Errorf("other classes: %v", err)
		}
		return nil
	}))
	must(t, p.on(3, append(set, "comm.grid=3,1"), func(j *Job) error {
		op, err := j.Build(context.Background())
		if err != nil {
			return err
		}
		defer op.engine.Close()
		r, err := j.solve(context.Background(), op, true)
		if err != nil {
			return err
		}
		if j.Ranks.Root() {
			sameResult(t, "resumed", r, want)
		}
		return j.WriteResult(p.path("image.h5"), r.Result, Source{})
	}))
	_, got := readGathers(t, p.path("image.h5"))
	equal(t, "gathers", got, gathers)
}

// Traces outside all classes are counted and not used.
func TestTracesOutsideTheClasses(t *testing.T) {
	p := wide(t)
	var log bytes.Buffer
	j := p.open(t, NeedTraces, progress.New(progress.Options{Out: &log, Err: &log}), "cpu", "image.gathers=offset", "image.gather_bins=100,300")
	inside := 0
	for i := range p.survey.NumTraces() {
		if offset := p.survey.Offset(i); offset >= 100 && offset <= 300 {
			inside++
		}
	}
	if text := fmt.Sprintf("%d of 189 traces are left by image.gather_bins from 100 to 300 m", inside); !strings.Contains(log.String(), text) {
		t.Errorf("the log does not say %q: %s", text, &log)
	}
	if j.plan.Geometry.Shots.Traces() != inside {
		t.Errorf("%d traces in use, want %d", j.plan.Geometry.Shots.Traces(), inside)
	}
	err := p.on(1, []string{"image.gathers=offset", "image.gather_bins=5000,6000"}, func(*Job) error { return nil })
	if status.Code(err) != status.BadInput || !strings.Contains(fmt.Sprint(err), "image.gather_bins") {
		t.Errorf("no trace in any class: %v", err)
	}
}

// Above a topography every class is zero.
func TestGathersBelowASurface(t *testing.T) {
	p := wide(t)
	set := append([]string{"image.surface=survey", "image.surface_taper=10", "solver.iterations=2", "data.mute_offsets=0", "data.mute_times=0.02"}, byOffset...)
	want := p.solveTo(t, p.path("image.h5"), 1, set...)
	_, gathers := readGathers(t, p.path("image.h5"))
	sum, nz := 0.0, p.grid.Shape[1]
	for i := 0; i < len(gathers); i += nz {
		sum += math.Abs(float64(gathers[i]))
	}
	if sum != 0 || survey.Silent(gathers) {
		t.Errorf("values of %g above the surface, or zero throughout", sum)
	}
	sameResult(t, "on 4 ranks", p.solveTo(t, p.path("image.h5"), 4, append(set, "comm.grid=2,2")...), want)
}

// A gather below a flat reflector is flat with the right velocity; with one that is too
// low far offsets are imaged too shallow, with one too high too deep.
func TestMoveoutOfGathers(t *testing.T) {
	const depth = 300 // m
	g := grid.Grid{Origin: []float64{300, 200}, Spacing: []float64{10, 4}, Shape: []int{21, 60}}
	s := &survey.Survey{Dim: 2, NT: 320, DT: 0.002, Wavelet: ricker(25, 0.002)}
	for i := range 41 {
		s.Sources = append(s.Sources, 20*float64(i), 0)
	}
	s.Receivers, s.Fixed = s.Sources, true
	p := newProblem(t, g, s)
	set := []string{"velocity.file=", "velocity.constant=2000", "image.gathers=offset", "image.gather_bins=0,150,300,450,600",
		"kirchhoff.wavelet_filter=true"}
	reflector := grid.Grid{Origin: []float64{-200, depth}, Spacing: []float64{5, 4}, Shape: []int{241, 2}}
	m := make([]float32, reflector.Len())
	for i := 0; i < len(m); i += 2 {
		m[i] = 1
	}
	at := func(g grid.Grid) []string {
		return []string{
			fmt.Sprintf("image.origin=%g,%g", g.Origin[0], g.Origin[1]),
			fmt.Sprintf("image.spacing=%g,%g", g.Spacing[0], g.Spacing[1]),
			fmt.Sprintf("image.shape=%d,%d", g.Shape[0], g.Shape[1]),
		}
	}
	must(t, p.on(1, slices.Concat(set[:2], at(reflector)), func(j *Job) error {
		op, err := j.Build(context.Background())
		if err != nil {
			return err
		}
		defer op.engine.Close()
		d, err := j.op.Model(context.Background(), ReadPoints(m))
		if err != nil {
			return err
		}
		return j.WriteTraces(p.path("survey.h5"), d, Source{Force: true})
	}))
	for _, c := range []struct{ velocity, least, most float64 }{
		{2000, -6, 6}, {1800, -150, -15}, {2200, 15, 150}, // m, far depth less near depth
	} {
		p.migrateTo(t, p.path("image.h5"), 1, "cpu", slices.Concat(set, at(g), []string{fmt.Sprintf("velocity.constant=%g", c.velocity)})...)
		r, err := h5.OpenGathers(p.path("image.h5"))
		must(t, err)
		panel, err := r.Panel(10)
		must(t, err)
		r.Close()
		peak := func(class int) float64 {
			trace := panel[class*60 : (class+1)*60]
			return g.Coord(1, slices.Index(trace, slices.Max(trace)))
		}
		if d := peak(3) - peak(0); !(d >= c.least && d <= c.most) {
			t.Errorf("velocity %g m/s: the far offsets lie %g m below the near ones (%g m), want %g to %g", c.velocity, d, peak(0), c.least, c.most)
		}
	}
}
