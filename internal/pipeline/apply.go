package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Migrate applies the adjoint to the survey's weighted traces. Its result is the plain
// Kirchhoff image, or with image.gather_normalize its classes over their illumination.
func (op *Operator) Migrate(ctx context.Context, d *dist.Vector) (*Result, error) {
	s, err := op.setting(d)
	w, r := dist.Work{Ctx: ctx, Err: err}, &Result{}
	if err != nil {
		return nil, err
	}
	w.New(op.process.Device, s.Operator.Domain(), &r.Classes)
	w.Do(func() error {
		if op.plan.Held.Stream {
			return op.process.Again(func(bool) error { return op.stream.Adjoint(ctx, r.Classes) })
		}
		s.KeepData = true
		weighted, err := s.WeightedData()
		if err != nil {
			return err
		}
		if weighted != d {
			defer weighted.Free()
		}
		return op.process.Again(func(bool) error { return s.Operator.ApplyAdjoint(ctx, r.Classes, weighted) })
	})
	w.Do(func() error { return op.cutAbove(r.Classes) })
	w.Do(func() error { return op.weighClasses(ctx, r, true) })
	w.Do(func() error { return op.finishImage(r, 1, true) })
	return r, w.Err
}

// warnUnseen warns that the data and the image have no pair in common, most often because
// of a wrong unit.
func (op *Operator) warnUnseen() {
	op.process.Ranks.Report.Warn(fmt.Sprintf("the records, %s to %s s, hold no arrival from the image, %s: the result is zero everywhere (are all lengths in m and times in s?)",
		readable.Time(op.plan.Geometry.Survey.T0), readable.Time(op.plan.Geometry.RecordEnd()), ExtentText(op.plan.Geometry.Image)))
}

// Model applies the forward to the part below the topography of an image on the job's
// grid, and returns the predicted traces.
func (op *Operator) Model(ctx context.Context, image PointReader) (*dist.Vector, error) {
	m, err := op.readBelowSurface(image)
	if err != nil {
		return nil, err
	}
	return op.applyForward(ctx, m)
}

// readBelowSurface returns this rank's share of the part of an image that lies below the topography.
func (op *Operator) readBelowSurface(image PointReader) (*dist.Vector, error) {
	m, err := op.ImageVector(image)
	if err != nil {
		return nil, err
	}
	return m, op.cutAbove(m)
}

// applyForward applies the forward.
func (op *Operator) applyForward(ctx context.Context, m *dist.Vector) (d *dist.Vector, err error) {
	w := dist.Work{Ctx: ctx}
	w.New(op.process.Device, op.lifted.Range(), &d)
	w.Do(func() error { return op.process.Again(func(bool) error { return op.lifted.Apply(ctx, d, m) }) })
	traces, image := w.Norm(d), w.Norm(m)
	if w.Err == nil && traces == 0 && image > 0 {
		op.warnUnseen()
	}
	return d, w.Err
}

// DotTest measures how far the two directions of the operator, with weights and
// surface, are from adjoint.
func (op *Operator) DotTest(ctx context.Context) (float64, error) {
	if op.plan.Held.Stream {
		return op.stream.DotTest(ctx, 1)
	}
	s, err := op.setting(nil)
	if err != nil {
		return 0, err
	}
	return dist.DotTest(ctx, op.process.Device, s.Scaled(), 1)
}

// DotLimit is the largest dot test error of a sound operator in the engine's
// precision.
func (op *Operator) DotLimit() float64 {
	if op.plan.Type() == device.F64 {
		return 1e-13
	}
	return 1e-6
}

// ModelGathers applies the forward to the images by class of an image file, on the
// job's grid and of its classes, and returns the predicted traces.
func (op *Operator) ModelGathers(ctx context.Context, path string) (*dist.Vector, error) {
	r, err := CallOnRoot(&op.process.Ranks, func() (*h5.GatherReader, error) {
		r, err := h5.OpenGathers(path)
		want := op.plan.Classes.Gathers()
		if err == nil && (r == nil || !r.Grid().Equal(op.plan.Geometry.Image) || r.Name() != want.Name() || !slices.Equal(r.Centers, want.Centers) || !slices.Equal(r.Limits, want.Limits) || !slices.Equal(r.Azimuths, want.Azimuths)) {
			err = status.Input(fmt.Errorf("%s: has no /gathers of the run's grid and classes", path))
		}
		return r, err
	})
	if r != nil {
		defer r.Close()
	}
	if err != nil {
		return nil, err
	}
	var m *dist.Vector
	w := dist.Work{}
	w.New(op.process.Device, op.lifted.Domain(), &m)
	w.Do(func() error {
		return op.process.Scatter(m, func(first int, part []float32) error { return r.Read(part, first) })
	})
	if w.Err != nil {
		return nil, w.Err
	}
	return op.applyForward(ctx, m)
}

// PSF applies AᵀA to an image of ones on a lattice of points and zeros elsewhere.
func (op *Operator) PSF(ctx context.Context) (*Result, error) {
	var m, d *dist.Vector
	w := dist.Work{Ctx: ctx}
	w.New(op.process.Device, op.lifted.Domain(), &m)
	w.New(op.process.Device, op.lifted.Range(), &d)
	w.Do(func() error {
		return device.Upload(m.Buf, lattice(m.Layout, PSFSpacing(op.plan.Config.Output.PSFSpacing, op.plan.Geometry, op.plan.Times)))
	})
	w.Apply(op.lifted, d, m)
	w.ApplyAdjoint(op.lifted, m, d)
	if w.Err == nil {
		d.Free()
	}
	return &Result{Image: m}, w.Err
}

// lattice is this rank's share of the image of points.
func lattice(l *dist.Layout, step []int) []float32 {
	shape, x := l.Shape, make([]float32, l.N)
	for i := range x {
		x[i] = 1
		at := l.Off + i
		for a := len(shape) - 1; a >= 0; a-- {
			if at%shape[a]%step[a] != min(step[a], shape[a])/2 {
				x[i] = 0
			}
			at /= shape[a]
		}
	}
	return x
}

// WriteTimes computes the traveltimes from every source and receiver row and
// writes them as a table file; with gradient, ∇T as well. If there are several arrivals, it writes all of them.
func (j *Job) WriteTimes(ctx context.Context, path string, gradient bool, src Source) error {
	s := j.plan.Geometry.Survey
	whole, err := LoadAll(j.plan)
	if err != nil {
		return err
	}
	arrivals := len(traveltime.Turned(whole.Times.Method)) / 2
	w, err := h5.CreateTables(path, h5.TablesLayout{
		Grid:       j.plan.Geometry.Image,
		NumSources: s.NumSources(), NumReceivers: s.NumReceivers(),
		Gradient: gradient, Arrivals: arrivals,
		Float64: true,
	}, h5.WriteOptions{Force: src.Force, Attrs: j.Attrs(src, "")})
	if err != nil {
		return err
	}
	defer w.Abort()

	places, rows := everyRow(s, func(s *survey.Survey) *survey.Positions { return DistinctPlaces(s, j.plan.Config) })
	all := make([]int, places.Len())
	for i := range all {
		all[i] = i
	}
	stage := j.Ranks.Report.Stage("traveltimes")
	defer stage.End()
	stage.Total(len(all), "places")
	opt := traveltime.Options{
		Gradient: gradient || arrivals > 0, Threads: j.plan.Config.Machine.Threads,
		Progress: func() { stage.Add(1) },
	}
	if arrivals > 0 {
		opt.Spreading = max(traveltime.RaySpreading, spreadings[j.plan.Config.Kirchhoff.Spreading])
	}
	err = whole.Times.Method.Solve(ctx, places, all, opt, func(place int, f traveltime.Field) error {
		values := map[h5.Quantity][]float64{h5.Time: f.Branches[0].Time}
		if arrivals > 0 {
			values = listArrivals(f.Branches, arrivals)
		} else if gradient {
			values[h5.Gradient] = slices.Concat(f.Branches[0].Gradient...)
		}
		for _, at := range rows[place] {
			for q, v := range values {
				if err := w.WriteRow(at.role, q, at.row, v); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return BlameInput(err)
	}
	return w.Commit()
}

// listArrivals are the arrivals at each point as a table file has them, the strongest first.
func listArrivals(branches []traveltime.Branch, arrivals int) map[h5.Quantity][]float64 {
	points, dim := len(branches[0].Time), len(branches[0].Gradient)
	n := arrivals * points
	t, b, turns, p := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n*dim)
	for i := range t {
		t[i] = math.NaN()
	}
	present := make([]int, 0, len(branches))
	for i := range points {
		present = present[:0]
		for k, from := range branches {
			if from.Spreading[i] != 0 {
				present = append(present, k)
			}
		}
		slices.SortStableFunc(present, func(a, b int) int {
			return cmp.Compare(math.Abs(branches[b].Spreading[i]), math.Abs(branches[a].Spreading[i]))
		})
		for k, branch := range present {
			from, to := branches[branch], k*points+i
			t[to], b[to] = from.Time[i], math.Abs(from.Spreading[i])
			if branch >= arrivals {
				turns[to] = 1
			}
			if from.Spreading[i] < 0 {
				turns[to] += 2
			}
			for a := range dim {
				p[(k*dim+a)*points+i] = from.Gradient[a][i]
			}
		}
	}
	return map[h5.Quantity][]float64{h5.Time: t, h5.Amplitude: b, h5.Turns: turns, h5.Gradient: p}
}

type tableRow struct {
	role survey.Role
	row  int
}

// everyRow lists the distinct places of all source and receiver rows, used by a
// trace or not, and for each place the rows that lie there.
func everyRow(s *survey.Survey, distinct func(*survey.Survey) *survey.Positions) (*survey.Positions, [][]tableRow) {
	all := &survey.Survey{Dim: s.Dim, Sources: s.Sources, Receivers: s.Receivers}
	n := max(s.NumSources(), s.NumReceivers())
	for i := range n {
		all.SourceIndex = append(all.SourceIndex, int32(min(i, s.NumSources()-1)))
		all.ReceiverIndex = append(all.ReceiverIndex, int32(min(i, s.NumReceivers()-1)))
	}
	p := distinct(all)
	rows := make([][]tableRow, p.Len())
	for i := range s.NumSources() {
		rows[p.Source[i]] = append(rows[p.Source[i]], tableRow{survey.AtSource, i})
	}
	for i := range s.NumReceivers() {
		rows[p.Receiver[i]] = append(rows[p.Receiver[i]], tableRow{survey.AtReceiver, i})
	}
	return p, rows
}
