package target

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/surveytest"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// H is that of the operator, the weights, the topography and the penalties of a run, and
// symmetric to the bit.
func TestHessianIsThatOfTheRun(t *testing.T) {
	flat, solid := line(t), cube(t)
	for name, set := range map[string][]string{
		"plain":    {"solver.damping=0.1"},
		"mute":     {"data.mute_offsets=[0.0,200.0]", "data.mute_times=[0.05,0.2]"},
		"surface":  {"image.surface=survey", "image.surface_taper=60.0", "solver.damping=0.5"},
		"dynamic":  {"kirchhoff.dynamic=true", "kirchhoff.wavelet_filter=true"},
		"aperture": {"kirchhoff.aperture=70", "kirchhoff.antialias=triangle"},
	} {
		t.Run(name, func(t *testing.T) {
			must(t, on(flat, 1, set, func(j *pipeline.Job) error { return isThatOfTheRun(j, inner) }))
		})
		t.Run(name+" in 3-D", func(t *testing.T) {
			box := Box{First: []int{2, 1, 1}, Count: []int{3, 2, 4}}
			must(t, on(solid, 1, set, func(j *pipeline.Job) error { return isThatOfTheRun(j, box) }))
		})
	}
}

// isThatOfTheRun compares H of a window and a frame of one point with the operator.
func isThatOfTheRun(j *pipeline.Job, window Box) error {
	target, q, err := of(j, Options{Window: window, Frame: 1})
	if err != nil {
		return err
	}
	defer target.Close()
	h, err := target.matrix()
	if err != nil {
		return err
	}
	top, points := largest(h), target.box.Points(j.Geometry().Image.Shape)
	for b, point := range points {
		want, err := columnOf(j, q, target.w2, point)
		if err != nil {
			return err
		}
		for a := range points {
			if d := math.Abs(h[a][b] - want[points[a]]); !(d <= 1e-6*top) {
				return fmt.Errorf("H[%d][%d] is %g, want %g", a, b, h[a][b], want[points[a]])
			}
			if h[a][b] != h[b][a] {
				return fmt.Errorf("H[%d][%d] = %g is not H[%d][%d] = %g", a, b, h[a][b], b, a, h[b][a])
			}
		}
	}
	return nil
}

// Solutions, resolution, widths and deviations are those of the dense matrices of the textbook.
func TestPosteriorIsTheTextbooks(t *testing.T) {
	set := []string{"solver.damping=0.2", "solver.penalty_scale=relative",
		"image.surface=survey", "image.surface_taper=60.0"}
	for _, some := range [][]string{set, set[:2]} {
		must(t, on(line(t), 1, some, func(j *pipeline.Job) error {
			o := Options{Window: inner, Frame: 1}
			target, q, err := of(j, o)
			if err != nil {
				return err
			}
			defer target.Close()
			h, err := target.matrix()
			if err != nil {
				return err
			}
			n := len(h)
			whole, b := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
			for i := range n {
				whole.SetRow(i, h[i])
				b.Set(i, i, q.Damping*q.Damping)
			}
			var inverse, r, data, covariance mat.Dense
			if err := inverse.Inverse(whole); err != nil {
				return err
			}
			data.Sub(whole, b)
			r.Mul(&inverse, &data)
			covariance.Mul(&r, &inverse)
			if err := target.factorize(context.Background()); err != nil {
				return err
			}
			p, err := target.posterior(context.Background(), target.window, func(int) {})
			if err != nil {
				return err
			}
			g := target.points.box
			for k, row := range target.window {
				i := target.at[row]
				s := target.scale[row]
				for what, pair := range map[string][2]float64{
					"resolution": {p.Resolution[k], r.At(i, i)},
					"variance":   {p.Variance[k], s * s * inverse.At(i, i)},
					"noise":      {p.Noise[k], s * s * covariance.At(i, i)},
					"width":      {p.Width[1][k], widthAlong(&r, i, 1, g.Shape, g.Spacing)},
				} {
					if math.Abs(pair[0]-pair[1]) > 1e-6*math.Abs(pair[1]) {
						t.Errorf("%s of point %d is %g, want %g", what, k, pair[0], pair[1])
					}
				}
			}
			return nil
		}))
	}
}

// widthAlong is the width of column i of R along an axis of a 2-D grid.
func widthAlong(r *mat.Dense, i, axis int, shape []int, spacing []float64) float64 {
	at := func(k int) float64 {
		return spacing[axis] * float64([2]int{k / shape[1], k % shape[1]}[axis])
	}
	n, _ := r.Dims()
	var sum, moment float64
	for k := range n {
		p := r.At(k, i) * r.At(k, i)
		sum, moment = sum+p, moment+p*(at(k)-at(i))*(at(k)-at(i))
	}
	return math.Sqrt(spacing[axis]*spacing[axis] + 12*moment/sum)
}

// The image of the whole is that of a solve, with weights of traces and weights of rays.
func TestImageIsThatOfTheRun(t *testing.T) {
	folder := line(t)
	file := filepath.Join(folder, "survey.h5")
	s, err := surveytest.Read(file)
	must(t, err)
	s.Weight = make([]float32, s.NumTraces())
	for i := range s.Weight {
		s.Weight[i] = 0.5 + float32(i%7)/6
	}
	must(t, h5.WriteSurvey(file, s, h5.WriteOptions{Force: true}))
	set := []string{"kirchhoff.dynamic=true", "solver.damping=0.1", "solver.penalty_scale=relative", "solver.iterations=150",
		"data.weights=survey"}
	want := solve(t, folder, set)
	must(t, on(folder, 1, set, func(j *pipeline.Job) error {
		target, _, err := of(j, Options{Window: Box{First: []int{0, 0}, Count: j.Geometry().Image.Shape}})
		if err != nil {
			return err
		}
		defer target.Close()
		f, err := target.find(context.Background())
		if err != nil {
			return err
		}
		if d := difference(f.image, want); !(d <= 1e-4) {
			t.Errorf("the image is %.1e from that of the solve", d)
		}
		if live, err := j.Built().CountLiveSamples(); err != nil || live != 28*80 {
			t.Errorf("%d samples count, want those of 28 traces: %v", live, err)
		}
		return nil
	}))
}

// solve is the image of a run with settings in a folder.
func solve(t *testing.T, folder string, set []string) (image []float32) {
	t.Helper()
	must(t, on(folder, 1, set, func(j *pipeline.Job) error {
		d, err := j.Data()
		if err != nil {
			return err
		}
		r, err := j.Solve(context.Background(), d, false)
		if err != nil {
			return err
		}
		image, err = j.Whole(r.Image)
		return err
	}))
	return image
}

// With the rest of the image as in a solution, the window's image is that of the solution,
// whatever the frame; with zero around it, it is not.
func TestSurroundingsAreHeld(t *testing.T) {
	folder := line(t)
	set := []string{"solver.damping=0.1", "solver.penalty_scale=relative", "solver.iterations=150", "image.surface=survey", "image.surface_taper=60.0"}
	solution := solve(t, folder, set)
	for _, frame := range []int{0, 2} {
		must(t, on(folder, 1, set, func(j *pipeline.Job) error {
			d, err := j.Data()
			if err != nil {
				return err
			}
			q, err := j.Built().Quadratic(context.Background(), d, pipeline.ReadPoints(solution))
			if err != nil {
				return err
			}
			g := &Given{Image: &h5.ImageReader{}, Residual: 1}
			o := Options{Window: inner, Frame: frame, Noise: 1}
			if g.solution, err = readBox(j, inner.Grow(frame, j.Geometry().Image), pipeline.ReadPoints(solution)); err != nil {
				return err
			}
			target, err := New(context.Background(), j, j.Built(), o, g, q)
			if err != nil {
				return err
			}
			defer target.Close()
			f, err := target.find(context.Background())
			if err != nil {
				return err
			}
			if !(f.held <= 1e-4) || !(f.alone >= 1e-2) {
				t.Errorf("frame %d: the image is %.1e from the solution with it around the window, %.1e with zero", frame, f.held, f.alone)
			}
			return nil
		}))
	}
}

// A solution of another problem is refused, with the keys that differ.
func TestSolutionOfAnotherProblem(t *testing.T) {
	folder := line(t)
	set := []string{"solver.damping=0.3", "solver.iterations=2", "image.surface=survey", "image.surface_taper=60.0",
		"data.mute_offsets=[0.0,200.0]", "data.mute_times=[0.02,0.1]", "data.mute_taper=0.0"}
	file := filepath.Join(folder, "image.h5")
	must(t, on(folder, 1, set, func(j *pipeline.Job) error {
		d, err := j.Data()
		if err != nil {
			return err
		}
		r, err := j.Solve(context.Background(), d, false)
		if err != nil {
			return err
		}
		return j.WriteResult(file, r, pipeline.Source{Command: "run"})
	}))
	read := func(j *pipeline.Job) error {
		_, err := Read(j, Options{Window: inner, Image: config.Path{Text: file, File: file}})
		return err
	}
	must(t, on(folder, 1, set, read))
	for want, other := range map[string][]string{
		"solver.damping = 0.3, not 0.2":          {"solver.damping=0.2"},
		`data.dead = "mask", not "keep"`:         {"data.dead=keep"},
		"data.mute_taper = 0.0, not 0.02":        {"data.mute_taper=0.02"},
		"image.surface_taper = 60.0, not 50.0":   {"image.surface_taper=50.0"},
		"this run's grid is x [-20, 160]":        {"image.shape=[10,9]", "image.origin=[-20.0,0.0]", "image.spacing=[20.0,15.0]"},
		"was not made from this configuration's": {"survey.file=" + config.Quote(otherSurvey(t, folder))},
	} {
		err := on(folder, 1, append(slices.Clone(set), other...), read)
		if status.Code(err) != status.BadInput || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", other, err)
		}
	}
}

// otherSurvey is a copy of a folder's survey with another sample.
func otherSurvey(t *testing.T, folder string) string {
	s, err := surveytest.Read(filepath.Join(folder, "survey.h5"))
	must(t, err)
	s.Data[7]++
	file := filepath.Join(folder, "other.h5")
	must(t, h5.WriteSurvey(file, s, h5.WriteOptions{}))
	return file
}

// Windows are read in the units of the axes, and name what is wrong with them.
func TestWindows(t *testing.T) {
	g := grid.Grid{Origin: []float64{100, 0}, Spacing: []float64{10, 0.004}, Shape: []int{21, 11}, Domain: grid.Time}
	for text, want := range map[string]Box{
		"120:150,0.008:0.02": {[]int{2, 2}, []int{4, 4}},
		":,:":                {[]int{0, 0}, []int{21, 11}},
		"121:149.999,:0":     {[]int{3, 0}, []int{2, 1}},
		"-1e9:1e9,0.039:":    {[]int{0, 10}, []int{21, 1}},
	} {
		if got, err := ParseWindow(text, g); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"120:150":         "has 1 ranges lo:hi, the image has 2 axes",
		"120,0:1":         `"120" along x is not a range lo:hi`,
		"a:150,:":         `"a" along x is not a number`,
		":,nan:":          `"nan" along time is not a number`,
		"121:129,:":       "holds no point along x: the image has points every 10 m from 100 to 300",
		"150:120,:":       "holds no point along x",
		"301:,:":          "holds no point along x",
		"120:130,0.1:0.2": "holds no point along time",
	} {
		if _, err := ParseWindow(text, g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error that says %s", text, err, want)
		}
	}
	if b := inner.Grow(3, grid.Grid{Shape: []int{12, 9}}); !reflect.DeepEqual(b, Box{[]int{0, 0}, []int{12, 9}}) {
		t.Errorf("grown to %v", b)
	}
}
