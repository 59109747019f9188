package job

import (
	"context"
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/forecast"
	"github.com/kirchhoff-lsm/lsm/internal/inputs"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	kernels "github.com/kirchhoff-lsm/lsm/kirchhoff/gpu"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Operator is the demigration operator of a job: from the image [nx, (ny,) nz]
// to the data [ntrace, nt], in the engine's precision.
type Operator struct {
	dist.Operator
	Engine kirchhoff.Engine
	Info   string // engine, instruction set, memory of the tables

	kernels []dist.Kernel // one for each image
	stream  *dist.Stream  // where traces are streamed: what applies it then
}

// Build computes the traveltimes and makes the operator, on all ranks. It is the
// long part of getting ready; its progress is reported place by place.
func (j *Job) Build(ctx context.Context) (*Operator, error) {
	if text := forecast.Beyond(j.Plan); text != "" {
		j.Report.Infof("image.gathers: %s", text)
	}
	op, err := j.build(ctx)
	if err := j.together(err); err != nil {
		return nil, err
	}
	j.kept = op.Engine
	if j.Held.Stream {
		return op, comm.Together(j.World, j.liftStream(op))
	}
	lifted, err := j.liftedWith(op, j.lift())
	if err := comm.Together(j.World, err); err != nil {
		return nil, err
	}
	op.Operator = &timed{lifted, j.Report}
	if e, ok := op.Engine.(*kernels.Engine); ok {
		return op, j.registerSums(e)
	}
	return op, nil
}

// lift says how contributions of the ranks are added up.
func (j *Job) lift() dist.LiftOptions {
	o := dist.LiftOptions{
		Exact:    j.Exact(),
		Overlap:  j.Config.Comm.Overlap != "off",
		OneSided: j.Config.Comm.Accumulate == "onesided",
	}
	if j.Config.Comm.Overlap == "auto" {
		o.Choose = j.sayOverlap
	}
	return o
}

// sayOverlap reports what was chosen and why.
func (j *Job) sayOverlap(o dist.Overlapped) {
	text := "off: it is slower"
	if o.On {
		text = fmt.Sprintf("on: it hides %.0f %% of the sums over ranks", 100*o.Hidden())
	}
	j.Report.Infof("comm.overlap: %s (forward and adjoint take %.3g s with, %.3g s without, of which sums %.3g s)",
		text, o.With.Seconds(), o.Without.Seconds(), o.Sums.Seconds())
}

// liftedWith joins the ranks' parts of an operator.
func (j *Job) liftedWith(op *Operator, o dist.LiftOptions) (dist.Operator, error) {
	if n := j.Classes.N; n > 0 {
		return dist.LiftBeside(op.kernels, dist.Stack(slices.Repeat([]*dist.Layout{j.imageLayout()}, n)...), j.dataLayout(), o)
	}
	return dist.LiftWith(op.kernels[0], j.imageLayout(), j.dataLayout(), o)
}

// imageLayout is the image's, split over blocks along x.
func (j *Job) imageLayout() *dist.Layout {
	plane, width := j.Plane(), kirchhoff.SlabPoints(j.Image.Dim())
	l := &dist.Layout{
		Shape: j.Image.Shape, Off: j.mine.Slab[0] * plane, N: j.Points(j.mine),
		Type: j.Type(), Shards: j.blocks, Copies: j.shots,
	}
	if j.Exact() {
		l.Units = []int{}
		for x := j.mine.Slab[0]; x < j.mine.Slab[1]; x += width {
			l.Units = append(l.Units, x*plane-l.Off)
		}
	}
	return l
}

// dataLayout is that of the data, split over shots.
func (j *Job) dataLayout() *dist.Layout {
	nt := j.Survey.NT
	l := &dist.Layout{
		Shape: j.DataShape(), Off: j.mine.First * nt, N: (j.mine.Last - j.mine.First) * nt,
		Type: j.Type(), Shards: j.shots, Copies: j.blocks,
	}
	if j.Exact() {
		for _, first := range j.mine.Shots {
			l.Units = append(l.Units, first*nt)
		}
	}
	return l
}

// build makes this rank's part.
func (j *Job) build(ctx context.Context) (*Operator, error) {
	if err := j.Memory().Check(); err != nil {
		return nil, err
	}
	stage := j.Report.Stage("traveltimes")
	defer stage.End()
	stage.Total(j.mine.Places.Len(), "places")
	p := j.Problem(j.mine)
	last := 0
	p.Progress = func(done, total int) {
		stage.Add(done - last)
		last = done
	}
	op := &Operator{}
	m := j.Memory()
	j.boundHeap(m, false)
	defer j.boundHeap(m, true)
	p.Compact = m.Compact
	if m.Coarse > 0 {
		opt := traveltime.Options{Threads: p.Threads, Progress: p.Progress}
		coarse, err := traveltime.NewCoarse(ctx, p.Times, p.Positions, forecast.CoarseFactor, opt)
		if err != nil {
			return nil, inputUnlessMarked(err)
		}
		p.Times = coarse
	}
	w := kirchhoff.Work{Remake: m.Recompute, Budget: m.Tables, Exact: j.Exact()}
	if m.Stream {
		w.Cuts = m.Groups
	}
	if j.Classes.N > 0 {
		w.Classes = j.Classes.Of(j.Shots.List(j.mine.First, j.mine.Last))
	}
	var err error
	switch {
	case j.card != nil:
		op.Engine, err = kernels.New(ctx, j.card, p, w)
	case j.Engine == "reference":
		op.Engine, err = kirchhoff.NewReference(ctx, p, w)
	default:
		op.Engine, err = kirchhoff.New(ctx, p, w)
	}
	if err != nil {
		return nil, inputUnlessMarked(err)
	}
	op.kernels = op.Engine.Kernels()
	op.Info = fmt.Sprintf("engine %s: %s", op.Engine.Name(), op.Engine.Info())
	if w.Classes != nil {
		op.Info += " by " + j.Config.Image.Gathers
	}
	return op, nil
}

// inputUnlessMarked blames the input for what no package below has marked, such
// as a place that the traveltime method refuses.
func inputUnlessMarked(err error) error {
	err = inputs.FileError(err)
	if status.Code(err) == status.Other {
		return status.Input(err)
	}
	return err
}

// timed books the time of an operator's two directions in the closing table.
type timed struct {
	dist.Operator
	report *progress.Reporter
}

func (t *timed) Apply(ctx context.Context, dst, src *dist.Vector) error {
	defer t.report.Time("forward")()
	return t.Operator.Apply(ctx, dst, src)
}

func (t *timed) ApplyAdjoint(ctx context.Context, dst, src *dist.Vector) error {
	defer t.report.Time("adjoint")()
	return t.Operator.ApplyAdjoint(ctx, dst, src)
}

// Migrate applies the adjoint to the survey's traces, weighted: the plain Kirchhoff
// image, whole on rank 0 and nil on the others. Of several images by class it is the sum.
func (j *Job) Migrate(ctx context.Context, op *Operator, d *dist.Vector) (*Result, error) {
	weighed, err := j.weighedData(d)
	if err != nil {
		return nil, err
	}
	if weighed != d {
		defer weighed.Free()
	}
	m, err := dist.NewVector(j.Device, op.Domain())
	if err != nil {
		return nil, err
	}
	if j.Held.Stream {
		err = op.stream.Adjoint(ctx, m)
	} else {
		err = op.ApplyAdjoint(ctx, m, weighed)
	}
	if err != nil {
		return nil, err
	}
	if err := j.cutAbove(m); err != nil {
		return nil, err
	}
	stack, err := j.stack(m, 1)
	if err != nil {
		return nil, err
	}
	image, err := j.wholeImage(stack)
	if err != nil {
		return nil, err
	}
	if j.Root() && zero(image) {
		j.warnUnseen()
	}
	return &Result{Image: image, x: m}, nil
}

// warnUnseen says that the data and the image have nothing to do with each
// other, most often because of a unit.
func (j *Job) warnUnseen() {
	j.Report.Warn(fmt.Sprintf("the records, %s to %s s, hold no arrival from the image, %s: the result is zero everywhere (are all lengths in m and times in s?)",
		readable.Time(j.Survey.T0), readable.Time(j.RecordEnd()), inputs.Extent(j.Image)))
}

func zero(v []float32) bool {
	for _, x := range v {
		if x != 0 {
			return false
		}
	}
	return true
}

// Model applies the forward to what an image on the job's grid, given on all ranks,
// has below the topography, and returns the predicted traces.
func (j *Job) Model(ctx context.Context, op *Operator, image []float32) (*dist.Vector, error) {
	if len(image) != j.Image.Len() {
		panic(fmt.Sprintf("job: image of %d points on a grid of %d", len(image), j.Image.Len()))
	}
	m, err := j.imageVector(op, image)
	if err != nil {
		return nil, err
	}
	if err := j.cutAbove(m); err != nil {
		return nil, err
	}
	return j.forward(ctx, op, m)
}

// forward applies the forward.
func (j *Job) forward(ctx context.Context, op *Operator, m *dist.Vector) (*dist.Vector, error) {
	d, err := dist.NewVector(j.Device, op.Range())
	if err != nil {
		return nil, err
	}
	if err := op.Apply(ctx, d, m); err != nil {
		return nil, err
	}
	norms := []*dist.Vector{d, m}
	sizes := make([]float64, len(norms))
	for i, v := range norms {
		if sizes[i], err = dist.Norm(v); err != nil {
			return nil, err
		}
	}
	if sizes[0] == 0 && sizes[1] > 0 {
		j.warnUnseen()
	}
	return d, nil
}

// imageVector is this rank's share of a whole image, in each of several classes.
func (j *Job) imageVector(op *Operator, image []float32) (*dist.Vector, error) {
	v, err := dist.NewVector(j.Device, op.Domain())
	if err != nil {
		return nil, err
	}
	l := j.imageLayout()
	for _, part := range parts(v) {
		if err := device.Upload(part.Buf, image[l.Off:l.Off+l.N]); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// gatherElements is how much of a vector the root holds at a time.
const gatherElements = 4 << 20

// wholeImage collects an image on rank 0.
func (j *Job) wholeImage(v *dist.Vector) (image []float32, err error) {
	defer j.Report.Time("gather")()
	if j.Root() {
		image = make([]float32, j.Image.Len())
	}
	err = dist.GatherEach(v, gatherElements, func(first int, part device.Buf) error {
		to := image[first : first+part.Len()]
		if err := device.Download(to, part); err != nil {
			return err
		}
		return finite(to, first)
	})
	return image, err
}

func finite(v []float32, first int) error {
	for i, x := range v {
		if x-x != 0 {
			return status.Numerical(fmt.Errorf("kirchhoff: result has %g at element %d, must be finite", x, first+i))
		}
	}
	return nil
}

// DotTest measures how far the two directions of the operator, with weights and
// surface, are from adjoint.
func (j *Job) DotTest(ctx context.Context, op *Operator) (float64, error) {
	if j.Held.Stream {
		return op.stream.DotTest(ctx, 1)
	}
	a, err := j.scaledOperator(op)
	if err != nil {
		return 0, err
	}
	return dist.DotTest(ctx, j.Device, a, 1)
}

// DotLimit is the largest dot test error of a sound operator in the engine's
// precision.
func (j *Job) DotLimit() float64 {
	if j.Type() == device.F64 {
		return 1e-13
	}
	return 1e-6
}
