package target

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/formulation"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// line is the folder of a 2-D problem: an image of 12 × 9 points, 4 shots into 7 receivers.
func line(t testing.TB) string { return lineOf(t, []float64{20, 15}, 12, 9) }

// lineOf is line with another image.
func lineOf(t testing.TB, spacing []float64, shape ...int) string {
	g := grid.Grid{Origin: []float64{-20, 0}, Spacing: spacing, Shape: shape}
	s := &survey.Survey{
		Dim: 2, Fixed: true, NT: 80, DT: 0.004,
		Wavelet: survey.Wavelet{Samples: []float64{-0.3, 0.1, 1, 0.2, -0.4}, DT: 0.004, Zero: 2},
	}
	for i := range 4 {
		s.Sources = append(s.Sources, 61*float64(i)-5, 2)
	}
	for i := range 7 {
		s.Receivers = append(s.Receivers, 34*float64(i)-11, float64(i%3))
	}
	return folderOf(t, g, s)
}

// cube is the folder of a 3-D problem: an image of 6 × 5 × 7 points, 2 shots into 6 receivers.
func cube(t testing.TB) string {
	g := grid.Grid{Origin: []float64{0, -10, 0}, Spacing: []float64{12, 10, 8}, Shape: []int{6, 5, 7}}
	return folderOf(t, g, &survey.Survey{
		Dim: 3, Fixed: true,
		Sources:   []float64{10, 0, 0, 51, 12, 1},
		Receivers: []float64{0, -10, 0, 22, 20, 0, 30, 5, 2, 41, -3, 0, 60, 30, 0, 10, 0, 0},
		NT:        40, DT: 0.004,
		Wavelet: survey.Wavelet{Samples: []float64{0.4, 1, -0.5, 0.1}, DT: 0.004, Zero: 1},
	})
}

// folderOf writes a problem whose traces are noise.
func folderOf(t testing.TB, g grid.Grid, s *survey.Survey) string {
	t.Helper()
	s.Data = make([]float32, s.NumTraces()*s.NT)
	noise(s.Data, 1, 1)
	folder := t.TempDir()
	v := make([]float64, g.Len())
	at := make([]float64, g.Dim())
	for i := range v {
		g.Point(at, i)
		v[i] = 1700 + 2*at[g.Dim()-1] + 0.5*at[0]
	}
	must(t, h5.WriteModel(filepath.Join(folder, "model.h5"), g, v, h5.WriteOptions{}))
	must(t, h5.WriteSurvey(filepath.Join(folder, "survey.h5"), s, h5.WriteOptions{}))
	return folder
}

// noise is random, white and of a standard deviation.
func noise(v []float32, deviation float64, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 7))
	for i := range v {
		v[i] = float32(deviation * r.NormFloat64())
	}
}

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
band = false
damping = 0.0
penalty_scale = "absolute"
[output]
file = "image.h5"
`

// on builds the operator of a folder's problem on every rank of some.
func on(folder string, ranks int, set []string, body func(j *pipeline.Job) error) error {
	return commtest.Ranks(ranks, func(world comm.Comm) error {
		cfg, err := config.Parse(filepath.Join(folder, "config.toml"), []byte(baseConfig), slices.Concat([]string{"kirchhoff.engine=reference"}, set), nil)
		if err != nil {
			return err
		}
		j, err := pipeline.Open(world, cfg, pipeline.NeedTraces, progress.Discard())
		if err != nil {
			return err
		}
		defer j.Close()
		if _, err := j.Build(context.Background()); err != nil {
			return err
		}
		return body(j)
	})
}

// of makes the target of a job.
func of(j *pipeline.Job, o Options) (*Target, *formulation.Quadratic, error) {
	d, err := j.Data()
	if err != nil {
		return nil, nil, err
	}
	q, err := j.Built().Quadratic(context.Background(), d, nil)
	if err != nil {
		return nil, nil, err
	}
	t, err := New(context.Background(), j, j.Built(), o, &Given{}, q)
	return t, q, err
}

// inner is a window that leaves out some points of every side of the image.
var inner = Box{First: []int{2, 1}, Count: []int{7, 6}}

// matrix gathers H of a target in C order of the box, on rank 0.
func (t *Target) matrix() ([][]float64, error) {
	var h [][]float64
	n := len(t.at)
	for range n {
		h = append(h, make([]float64, n))
	}
	return h, t.hessianRows(func(row []float64, first int) error {
		copy(h[first/n], row)
		return nil
	})
}

// columnOf is H e_j by the operator: S AᵀW²A S e_j + λ² e_j.
func columnOf(j *pipeline.Job, q *formulation.Quadratic, w2 []float32, point int) (column []float64, err error) {
	w := &dist.Work{Ctx: context.Background()}
	var x, y, d *dist.Vector
	w.New(j.Device(), j.Built().Linear().Domain(), &x, &y)
	w.New(j.Device(), j.Built().Linear().Range(), &d)
	unit := make([]float64, x.Layout.N)
	cut := func(i int) float64 {
		if j.Geometry().Surface == nil {
			return 1
		}
		return j.Geometry().Surface.Weight(i)
	}
	unit[point] = cut(point)
	w.Do(func() error { return device.Upload(x.Buf, unit) })
	w.Apply(j.Built().Linear(), d, x)
	w.Do(func() error {
		v := make([]float64, d.Layout.N)
		if err := device.Download(v, d.Buf); err != nil {
			return err
		}
		for i := range v {
			switch len(w2) {
			case 0:
			case len(v):
				v[i] *= float64(w2[i])
			default:
				v[i] *= float64(w2[i/j.Geometry().Survey.NT])
			}
		}
		return device.Upload(d.Buf, v)
	})
	w.ApplyAdjoint(j.Built().Linear(), y, d)
	column = make([]float64, x.Layout.N)
	w.Do(func() error { return device.Download(column, y.Buf) })
	for i := range column {
		column[i] *= cut(i)
	}
	column[point] += q.Damping * q.Damping
	return column, w.Err
}

// largest is the largest magnitude of a matrix.
func largest(h [][]float64) (most float64) {
	for _, row := range h {
		for _, v := range row {
			most = max(most, math.Abs(v))
		}
	}
	return most
}
