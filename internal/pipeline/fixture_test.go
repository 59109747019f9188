package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// tested are the engines that every test runs with.
var tested = []string{"reference", "cpu"}

// eachEngine runs a test with every engine.
func eachEngine(t *testing.T, f func(t *testing.T, engine string)) {
	for _, e := range tested {
		t.Run(e, func(t *testing.T) { f(t, e) })
	}
}

// problem is a folder with a survey, a model and a configuration.
type problem struct {
	folder string
	grid   grid.Grid
	survey *survey.Survey
}

// baseConfig has what the tests vary at its plainest, whatever the defaults.
const baseConfig = `[survey]
file = "survey.h5"
[velocity]
file = "model.h5"
[kirchhoff]
wavelet_filter = "off"
dynamic = false
spreading = "distance"
[data]
weights = "none"
[solver]
iterations = 6
band = false
damping = 0.0
penalty_scale = "absolute"
[output]
file = "image.h5"
`

// line is a 2-D problem of 3 shots into 5 receivers with random traces.
func line(t *testing.T) *problem {
	g := grid.Grid{Origin: []float64{-20, 0}, Spacing: []float64{10, 10}, Shape: []int{13, 11}}
	s := &survey.Survey{
		Dim: 2, Fixed: true,
		Sources:   []float64{0, 2, 33, 2, 71, 2},
		Receivers: []float64{-5, 0, 14, 0, 40, 3, 58, 0, 90, 0},
		NT:        56, DT: 0.004, T0: 0.004,
		Wavelet: survey.Wavelet{Samples: []float64{-0.3, 0.1, 1, 0.2, -0.4}, DT: 0.004, Zero: 2},
	}
	return newProblem(t, g, s)
}

// cube is a 3-D problem of 2 shots into 6 receivers with random traces.
func cube(t *testing.T) *problem {
	g := grid.Grid{Origin: []float64{0, -10, 0}, Spacing: []float64{12, 10, 8}, Shape: []int{6, 5, 7}}
	s := &survey.Survey{
		Dim: 3, Fixed: true,
		Sources:   []float64{10, 0, 0, 51, 12, 1},
		Receivers: []float64{0, -10, 0, 22, 20, 0, 30, 5, 2, 41, -3, 0, 60, 30, 0, 10, 0, 0},
		NT:        40, DT: 0.004,
		Wavelet: survey.Wavelet{Samples: []float64{0.4, 1, -0.5, 0.1}, DT: 0.004, Zero: 1},
	}
	return newProblem(t, g, s)
}

func newProblem(t *testing.T, g grid.Grid, s *survey.Survey) *problem {
	t.Helper()
	p := &problem{folder: t.TempDir(), grid: g, survey: s}
	v := make([]float64, g.Len())
	at := make([]float64, g.Dim())
	for i := range v {
		g.Point(at, i)
		v[i] = 1700 + 2*at[g.Dim()-1] + 0.5*at[0]
	}
	must(t, h5.WriteModel(p.path("model.h5"), g, v, h5.WriteOptions{}))
	if s.Data == nil {
		s.Data = noise(s.NumTraces()*s.NT, 1)
	}
	p.record(t, s)
	return p
}

// noise is random and white.
func noise(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 7))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func (p *problem) path(name string) string { return filepath.Join(p.folder, name) }

// record writes the survey file anew.
func (p *problem) record(t *testing.T, s *survey.Survey) {
	t.Helper()
	must(t, h5.WriteSurvey(p.path("survey.h5"), s, h5.WriteOptions{Force: true}))
	p.survey = s
}

// list turns the fixed spread into a list of its traces in the given order;
// numbers may be missing and repeated.
func (p *problem) list(t *testing.T, traces []int) {
	t.Helper()
	s := *p.survey
	s.Fixed, s.Data = false, nil
	for _, n := range traces {
		src, rec := p.survey.Pair(n)
		s.SourceIndex = append(s.SourceIndex, int32(src))
		s.ReceiverIndex = append(s.ReceiverIndex, int32(rec))
		s.Data = append(s.Data, p.survey.Data[n*s.NT:(n+1)*s.NT]...)
	}
	p.record(t, &s)
}

// open opens the problem with keys set as by --set; words of a key's value must
// not be relative paths.
func (p *problem) open(t *testing.T, need Need, report *progress.Reporter, engine string, set ...string) *Job {
	t.Helper()
	cfg, err := config.Parse(p.path("config.toml"), []byte(baseConfig), append(set, "kirchhoff.engine="+engine), nil)
	must(t, err)
	j, err := Open(comm.Self(), cfg, need, report)
	must(t, err)
	t.Cleanup(j.Close)
	return j
}

// ready opens the problem and builds its operator.
func (p *problem) ready(t *testing.T, engine string, set ...string) (*Job, *Operator) {
	t.Helper()
	j := p.open(t, NeedTraces, progress.Discard(), engine, set...)
	return j, build(t, j)
}

func build(t *testing.T, j *Job) *Operator {
	t.Helper()
	op, err := j.Build(context.Background())
	must(t, err)
	t.Cleanup(op.engine.Close)
	return op
}

func (p *problem) migrate(t *testing.T, engine string, set ...string) []float32 {
	t.Helper()
	j, op := p.ready(t, engine, set...)
	image, err := j.migrate(context.Background(), op)
	must(t, err)
	return image
}

func (p *problem) model(t *testing.T, image []float32, engine string, set ...string) []float32 {
	t.Helper()
	j, _ := p.ready(t, engine, set...)
	d, err := j.op.Model(context.Background(), ReadPoints(image))
	must(t, err)
	sorted := make([]float32, d.Buf.Len())
	must(t, device.Download(sorted, d.Buf))
	traces, nt := make([]float32, len(sorted)), j.plan.Geometry.Survey.NT
	for i, n := range j.plan.Geometry.Shots.List(j.share.First, j.share.Last) {
		copy(traces[int(n)*nt:], sorted[i*nt:(i+1)*nt])
	}
	return traces
}

func (p *problem) solve(t *testing.T, engine string, set ...string) *solved {
	t.Helper()
	j, op := p.ready(t, engine, set...)
	r, err := j.solve(context.Background(), op, false)
	must(t, err)
	return r
}

// migrate is Migrate of the job's own traces.
func (j *Job) migrate(ctx context.Context, op *Operator) ([]float32, error) {
	d, err := j.Data()
	if err != nil {
		return nil, err
	}
	r, err := j.whole(j.op.Migrate(ctx, d))
	if err != nil {
		return nil, err
	}
	return r.Image, nil
}

// solved is a result with its whole image on rank 0.
type solved struct {
	*Result
	Image []float32
}

// whole gathers the image of a result.
func (j *Job) whole(r *Result, err error) (*solved, error) {
	if err != nil {
		return nil, err
	}
	image, err := j.process.Whole(r.Image)
	return &solved{r, image}, err
}

// solve is Solve on the job's own traces.
func (j *Job) solve(ctx context.Context, op *Operator, resume bool) (*solved, error) {
	d, err := j.Data()
	if err != nil {
		return nil, err
	}
	return j.whole(j.Solve(ctx, d, resume))
}

// stopAfter solves with a context that ends, as by a signal, while iteration n
// is reported.
func (p *problem) stopAfter(t *testing.T, n int, engine string, resume bool, set ...string) error {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	mark := fmt.Appendf(nil, `"iteration":%d,`, n)
	report := progress.New(progress.Options{Err: os.Stderr, JSON: true, Out: writer(func(line []byte) {
		if bytes.Contains(line, mark) {
			cancel()
		}
	})})
	j := p.open(t, NeedTraces, report, engine, set...)
	_, err := j.solve(ctx, build(t, j), resume)
	return err
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// near checks that got is want within a tolerance relative to want's largest
// value.
func near(t *testing.T, what string, got, want []float32, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	largest, worst, at := 0.0, 0.0, 0
	for i := range want {
		largest = max(largest, math.Abs(float64(want[i])))
		if e := math.Abs(float64(got[i]) - float64(want[i])); !(e <= worst) {
			worst, at = e, i
		}
	}
	if !(worst <= tolerance*largest) || largest == 0 {
		t.Errorf("%s: element %d is %g, want %g: differs by %.1e of the largest, at most %.0e",
			what, at, got[at], want[at], worst/largest, tolerance)
	}
}

// equal checks that got and want have the same bits.
func equal[T float32 | float64](t *testing.T, what string, got, want []T) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: element %d is %v, want %v exactly", what, i, got[i], want[i])
			return
		}
	}
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func norm(a []float32) float64 { return math.Sqrt(dot(a, a)) }

// names lists a folder; nothing where there is none.
func names(t *testing.T, folder string) string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// withData makes operator and data, for what each rank does with them.
func withData(f func(j *Job, op *Operator, d *dist.Vector) error) func(*Job) error {
	return func(j *Job) error {
		op, err := j.Build(context.Background())
		if err != nil {
			return err
		}
		defer op.engine.Close()
		d, err := j.Data()
		if err != nil {
			return err
		}
		return f(j, op, d)
	}
}
