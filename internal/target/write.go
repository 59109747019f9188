package target

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/kirchhoff-lsm/lsm/internal/pipeline"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Summary holds the results of a target, on rank 0.
type Summary struct {
	Points, Rows int       // of the window, of H
	Resolution   []float64 // Posterior's
	Noise        float64   // standard deviation of a weighted sample; 0: not known
	Deviation    float64   // mean standard deviation of the image
	Held, Alone  float64   // differences from the given solution: of the image, and of the one with zero around it; NaN: none given
}

// findings are the contents of a file.
type findings struct {
	image       []float32
	post        *Posterior
	noise       float64
	held, alone float64
}

// Write computes the requested results and publishes them: an image file of the window with H and
// the fields beside the image. It is collective.
func (t *Target) Write(ctx context.Context, path string, src pipeline.Source) (*Summary, error) {
	create := func() (*h5.ImageWriter, error) {
		im := &h5.Image{Grid: t.asked.Window.Grid(t.job.Geometry().Image), Config: t.job.Config().TOML()}
		return h5.CreateImage(path, im, h5.WriteOptions{Force: src.Force, Attrs: t.job.Attrs(src, "")})
	}
	var f *findings
	err := pipeline.PublishFile(t.job.Ranks, create, func(w *h5.ImageWriter) error {
		if err := t.writeHessian(w); err != nil {
			return err
		}
		var err error
		if f, err = t.find(ctx); err != nil || !t.job.Ranks.Root() {
			return err
		}
		return t.writeFound(w, f)
	})
	if err != nil || !t.job.Ranks.Root() {
		return nil, err
	}
	return t.summary(f), nil
}

// find solves for the image, and finds the posterior and the noise. Where a solution is
// given, the image is the one whose surroundings are those of the solution: it is the solution
// and H⁻¹ times the slope there.
func (t *Target) find(ctx context.Context) (*findings, error) {
	f := &findings{noise: t.asked.Noise, held: math.NaN(), alone: math.NaN()}
	columns, start, err := t.columnsToSolve()
	if err == nil {
		end := t.job.Ranks.Report.Time("Cholesky")
		err = t.factorize(ctx)
		end()
	}
	var all [][]float32
	if err == nil {
		all, err = t.Solve(ctx, columns)
	}
	if err != nil {
		return nil, err
	}
	done, end := t.stage("resolution", len(t.window), "points")
	f.post, err = t.posterior(ctx, t.window, done)
	end()
	live := 0
	if err == nil && t.given.Image != nil {
		live, err = t.op.CountLiveSamples()
	}
	if err != nil || !t.job.Ranks.Root() {
		return f, err
	}
	f.image = all[0]
	if t.given.Image == nil {
		return f, nil
	}
	solution := t.pick(t.byRow(t.given.solution))
	f.image = t.inWindow(start)
	for i, v := range all[1] {
		f.image[i] += v
	}
	f.held, f.alone = difference(f.image, solution), difference(all[0], solution)
	if f.noise == 0 {
		mean := floats.Sum(f.post.Resolution) / float64(len(t.window))
		f.noise, err = noiseOf(t.given.Residual, live, mean*float64(t.job.Geometry().Image.Len()))
	}
	return f, err
}

// columnsToSolve are the right side of the configuration, and the slope at the given solution, if
// there is one, whose x in the box is start.
func (t *Target) columnsToSolve() (columns [][]float64, start []float64, err error) {
	own, err := t.inBox(t.q.Right)
	if err != nil {
		return nil, nil, err
	}
	columns = append(columns, own)
	if t.q.Slope == nil {
		return columns, nil, nil
	}
	if start, err = t.inBox(t.q.Start); err != nil {
		return nil, nil, err
	}
	slope, err := t.inBox(t.q.Slope)
	return append(columns, slope), start, err
}

// noiseOf is the standard deviation of the noise in a weighted sample, given the norm of the
// residual of a solution, the number of samples, and the degrees of freedom of the solution: the
// trace of its resolution.
func noiseOf(residual float64, samples int, freedom float64) (float64, error) {
	switch left := float64(samples) - freedom; {
	case residual == 0:
		return 0, status.Input(errors.New("lsm target: the image has no residual to find the noise from; --noise gives its standard deviation"))
	case left <= 0:
		return 0, status.Input(fmt.Errorf("lsm target: the image has %.0f degrees of freedom, the data %d samples: they leave nothing to find the noise from; --noise gives its standard deviation", freedom, samples))
	default:
		return residual / math.Sqrt(left), nil
	}
}

// pick are the points of the window of a column of the box.
func (t *Target) pick(column []float64) []float32 {
	out := make([]float32, len(t.window))
	for i, row := range t.window {
		out[i] = float32(column[row])
	}
	return out
}

// difference is the norm of a − b over that of b.
func difference(a, b []float32) float64 {
	var d, n float64
	for i := range a {
		d += float64(a[i]-b[i]) * float64(a[i]-b[i])
		n += float64(b[i]) * float64(b[i])
	}
	return math.Sqrt(d / n)
}

func (t *Target) writeHessian(w *h5.ImageWriter) error {
	defer t.job.Ranks.Report.Time("write")()
	var s *h5.Section
	var err error
	if t.job.Ranks.Root() {
		s, err = w.Hessian(t.points.box)
	}
	if err := t.job.Ranks.Together(err); err != nil {
		return err
	}
	return t.hessianRows(func(row []float64, first int) error { return h5.WriteAt(s, row, first) })
}

// writeFound writes what was found, on rank 0.
func (t *Target) writeFound(w *h5.ImageWriter, f *findings) error {
	defer t.job.Ranks.Report.Time("write")()
	if err := w.WriteImage(f.image, 0); err != nil {
		return err
	}
	for _, field := range t.fields(f) {
		if err := w.WriteField(field); err != nil {
			return err
		}
	}
	return nil
}

// fields are the results for each point.
func (t *Target) fields(f *findings) (fields []h5.Field) {
	add := func(name string, of func(i int) float64) {
		v := make([]float32, len(t.window))
		for i := range v {
			v[i] = float32(of(i))
		}
		fields = append(fields, h5.Field{Name: name, Data: v})
	}
	add("resolution", func(i int) float64 { return f.post.Resolution[i] })
	for a, width := range f.post.Width {
		add("width_"+t.job.Geometry().Image.AxisName(a), func(i int) float64 { return width[i] })
	}
	if f.noise > 0 {
		add("standard_deviation", func(i int) float64 { return f.noise * math.Sqrt(f.post.Variance[i]) })
		add("noise_deviation", func(i int) float64 { return f.noise * math.Sqrt(f.post.Noise[i]) })
	}
	return fields
}

func (t *Target) summary(f *findings) *Summary {
	return &Summary{
		Points: len(t.window), Rows: len(t.at), Resolution: f.post.Resolution,
		Noise: f.noise, Deviation: f.noise * meanRoot(f.post.Variance), Held: f.held, Alone: f.alone,
	}
}

// meanRoot is the mean of the square roots.
func meanRoot(v []float64) (mean float64) {
	for _, x := range v {
		mean += math.Sqrt(x) / float64(len(v))
	}
	return mean
}
