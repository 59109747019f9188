package target

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/operator"
	"github.com/kirchhoff-lsm/lsm/internal/surveytest"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// repeated is a folder's problem with a repeat survey of other sources and receivers.
func repeated(t *testing.T, folder string) (file string) {
	s := &survey.Survey{
		Dim: 2, Fixed: true,
		Sources:   []float64{12, 2, 95, 2, 150, 2},
		Receivers: []float64{-11, 0, 24, 0, 55, 3, 78, 0, 106, 0, 131, 0, 175, 0},
		NT:        70, DT: 0.005,
		Wavelet: survey.Wavelet{Samples: []float64{-0.2, 1, 0.3, -0.3}, DT: 0.005, Zero: 1},
	}
	s.Data = make([]float32, s.NumTraces()*s.NT)
	noise(s.Data, 1, 2)
	file = filepath.Join(folder, "monitor.h5")
	must(t, h5.WriteSurvey(file, s, h5.WriteOptions{}))
	return file
}

// pair is the setting that adds a repeat survey.
func pair(file string, set ...string) []string {
	return append(set, "survey.monitor.file="+config.Quote(file))
}

// The images of two surveys are those of the joint solve, and what is said of their difference
// is what the dense matrices of the textbook say.
func TestTwoSurveysAreThoseOfTheRun(t *testing.T) {
	folder := line(t)
	model, later := filepath.Join(folder, "model.h5"), filepath.Join(folder, "later.h5")
	g, v, err := h5.ReadModel(model)
	must(t, err)
	for i := range v {
		v[i] *= 1.05
	}
	must(t, h5.WriteModel(later, g, v, h5.WriteOptions{}))
	monitor := repeated(t, folder)
	for _, file := range []string{filepath.Join(folder, "survey.h5"), monitor} {
		s, err := surveytest.Read(file)
		must(t, err)
		s.Weight = make([]float32, s.NumTraces())
		for i := range s.Weight {
			s.Weight[i] = 0.5 + float32(i%7)/6
		}
		must(t, h5.WriteSurvey(file, s, h5.WriteOptions{Force: true}))
	}
	set := pair(monitor, "survey.monitor.velocity_file="+config.Quote(later), "kirchhoff.dynamic=true",
		"solver.damping=0.1", "solver.penalty_scale=relative", "solver.iterations=150",
		"solver.regularization=dip", "solver.regularization_weight=0.1", "data.weights=survey")
	var want []float32
	must(t, on(folder, 1, set, func(j *job.Job) error {
		d, err := j.Data()
		if err != nil {
			return err
		}
		r, err := j.Solve(context.Background(), d, false)
		if err != nil {
			return err
		}
		for _, part := range r.Classes.Parts {
			image, err := j.Whole(part)
			if err != nil {
				return err
			}
			want = append(want, image...)
		}
		return nil
	}))
	must(t, on(folder, 1, set, func(j *job.Job) error {
		target, _, err := of(j, Options{Window: Box{First: []int{0, 0}, Count: j.Image.Shape}})
		if err != nil {
			return err
		}
		defer target.Close()
		h, err := target.matrix()
		if err != nil {
			return err
		}
		f, err := target.find(context.Background())
		if err != nil {
			return err
		}
		if d := difference(f.image, want); !(d <= 1e-4) {
			t.Errorf("the images are %.1e from those of the joint solve", d)
		}
		textbook(t, target, h, f.apart)
		return nil
	}))
	must(t, on(folder, 1, set, func(j *job.Job) error { return heldAround(j, want) }))
}

// heldAround makes sure that a window's two images are those of a solution that is held around
// it, and counts the samples of both surveys.
func heldAround(j *job.Job, solution []float32) error {
	d, err := j.Data()
	if err != nil {
		return err
	}
	n, g := j.Image.Len(), &Given{Image: &h5.ImageReader{}, Residual: 1}
	g.Images = []operator.Reader{operator.Points(solution[:n]), operator.Points(solution[n:])}
	for _, read := range g.Images {
		part, err := readBox(j, inner, read)
		if err != nil {
			return err
		}
		g.solution = append(g.solution, part...)
	}
	q, err := job.Quadratic(context.Background(), j, d, g.Images...)
	if err != nil {
		return err
	}
	target, err := New(context.Background(), j, Options{Window: inner, Noise: 1}, g, q)
	if err != nil {
		return err
	}
	defer target.Close()
	f, err := target.find(context.Background())
	if err != nil {
		return err
	}
	if !(f.held <= 1e-4) || !(f.alone >= 1e-2) {
		return fmt.Errorf("the images are %.1e from the solution with it around the window, %.1e with zero", f.held, f.alone)
	}
	if live, err := job.Live(j); err != nil || live != 28*80+21*70 {
		return fmt.Errorf("%d samples count, want those of 28 and 21 traces: %v", live, err)
	}
	return nil
}

// textbook compares a difference with DH⁻¹Dᵀ and the like, D = (−I I).
func textbook(t *testing.T, target *Target, h [][]float64, found *Difference) {
	n := len(h)
	var inverse, r, data, covariance mat.Dense
	whole, b := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
	row := make([]int, n) // of H, by point of the pair of images
	for i, at := range target.at {
		row[at] = i
	}
	for i := range n {
		whole.SetRow(i, h[i])
		for k := range n {
			b.Set(i, k, target.b.at(row[i], row[k]))
		}
	}
	must(t, inverse.Inverse(whole))
	data.Sub(whole, b)
	r.Mul(&inverse, &data)
	covariance.Mul(&r, &inverse)
	for k, row := range target.window {
		i := target.at[row]
		m := i + n/2
		apart := func(c *mat.Dense) float64 { return c.At(i, i) - c.At(i, m) - c.At(m, i) + c.At(m, m) }
		for what, pair := range map[string][2]float64{
			"resolution":           {found.Resolution[k], r.At(m, m) - r.At(i, m)},
			"monitor's resolution": {found.Monitor[k], r.At(m, m)},
			"variance":             {found.Variance[k], apart(&inverse)},
			"noise":                {found.Noise[k], apart(&covariance)},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-6*math.Abs(pair[1]) {
				t.Errorf("%s of point %d is %g, want %g", what, k, pair[0], pair[1])
			}
		}
	}
}

// Without a penalty on the difference the variances of two surveys add up.
func TestVariancesAdd(t *testing.T) {
	folder := line(t)
	monitor := repeated(t, folder)
	var variance [2][]float64
	for k, set := range [][]string{{"solver.damping=1"}, {"solver.damping=1", "survey.file=" + config.Quote(monitor)}} {
		must(t, on(folder, 1, set, func(j *job.Job) error {
			target, _, err := of(j, Options{Window: inner, Frame: 1})
			if err != nil {
				return err
			}
			defer target.Close()
			f, err := target.find(context.Background())
			if err == nil {
				variance[k] = f.post.Variance
			}
			return err
		}))
	}
	must(t, on(folder, 1, pair(monitor, "solver.damping=1", "survey.monitor.difference_weight=0"), func(j *job.Job) error {
		target, _, err := of(j, Options{Window: inner, Frame: 1})
		if err != nil {
			return err
		}
		defer target.Close()
		f, err := target.find(context.Background())
		if err != nil {
			return err
		}
		for i, v := range f.apart.Variance {
			if want := variance[0][i] + variance[1][i]; !(math.Abs(v-want) <= 1e-9*want) {
				t.Errorf("variance of the difference at point %d is %g, want %g", i, v, want)
			}
		}
		return nil
	}))
}

// Differences that the joint solve finds scatter as the target says: by the noise alone, and
// around the truth where the truth is what the penalties take it for.
func TestDifferencesScatterAsPredicted(t *testing.T) {
	folder := line(t)
	const sigma, damping, solves = 0.7, 2.5, 100
	set := pair(repeated(t, folder), "solver.damping=2.5", "solver.iterations=60", "solver.tolerance=0")
	must(t, on(folder, 1, set, func(j *job.Job) error {
		target, q, err := of(j, Options{Window: Box{First: []int{0, 0}, Count: j.Image.Shape}})
		if err != nil {
			return err
		}
		defer target.Close()
		f, err := target.find(context.Background())
		if err != nil {
			return err
		}
		byNoise, byBoth := newSpread(j.Image.Len()), newSpread(j.Image.Len())
		for k := range solves {
			x, truth, err := solvePair(j, sigma, 0, 0, uint64(k))
			if err != nil {
				return err
			}
			byNoise.add(x, truth)
			apart := math.Sqrt(damping*damping + 2*q.Apart*q.Apart)
			if x, truth, err = solvePair(j, sigma, sigma/damping, sigma/apart, uint64(solves+k)); err != nil {
				return err
			}
			byBoth.add(x, truth)
		}
		byNoise.compare(t, "noise", f.apart.Noise, sigma)
		byBoth.compare(t, "noise and truth", f.apart.Variance, sigma)
		return nil
	}))
}

// solvePair solves for traces of two random images, of standard deviations of (x_b + x_m)/√2 and
// of (x_m − x_b)/√2, and noise. It returns the differences.
func solvePair(j *job.Job, sigma, common, apart float64, seed uint64) (x, truth []float32, err error) {
	d, err := dist.NewVector(j.Device, dist.Stack(j.Range(), j.Monitor.Range()))
	if err != nil {
		return nil, nil, err
	}
	n := j.Image.Len()
	s, a := make([]float32, n), make([]float32, n)
	noise(s, common/math.Sqrt2, seed)
	noise(a, apart/math.Sqrt2, 1<<33+seed)
	truth = make([]float32, n)
	for k, survey := range job.Surveys(j) {
		w := &dist.Work{Ctx: context.Background()}
		var m, e *dist.Vector
		w.New(survey.Device, survey.Domain(), &m)
		w.New(survey.Device, survey.Range(), &e)
		image, samples := make([]float32, n), make([]float32, e.Layout.N)
		for i := range image {
			image[i] = s[i] + float32(2*k-1)*a[i]
			truth[i] = 2 * a[i]
		}
		noise(samples, sigma, uint64(k+1)<<32+seed)
		w.Do(func() error { return device.Upload(m.Buf, image) })
		w.Do(func() error { return device.Upload(e.Buf, samples) })
		w.Apply(survey.Operator, d.Parts[k], m)
		w.Axpby(1, e, 1, d.Parts[k])
		if w.Err != nil {
			return nil, nil, w.Err
		}
	}
	r, err := j.Solve(context.Background(), d, false)
	if err != nil {
		return nil, nil, err
	}
	var images [2][]float32
	for k := range images {
		if images[k], err = j.Whole(r.Classes.Parts[k]); err != nil {
			return nil, nil, err
		}
	}
	for i := range images[1] {
		images[1][i] -= images[0][i]
	}
	return images[1], truth, nil
}

// What is found of two surveys has the same bits on any number of ranks.
func TestTwoSurveysOnRanks(t *testing.T) {
	folder := line(t)
	set := pair(repeated(t, folder), "solver.damping=0.3", "kirchhoff.engine=cpu", "solver.reproducible=ranks")
	alone := bitsOn(t, folder, 1, set)
	if found := bitsOn(t, folder, 2, set); !reflect.DeepEqual(found, alone) {
		t.Error("2 ranks find other bits than one")
	}
}
