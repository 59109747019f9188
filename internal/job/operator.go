package job

import (
	"context"
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	kernels "github.com/kirchhoff-lsm/lsm/kirchhoff/gpu"
	"github.com/kirchhoff-lsm/lsm/survey"
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

// problem describes this rank's operator to the engines.
func (j *Job) problem() *kirchhoff.Problem { return j.problemOf(j.mine, j.own) }

// problemOf describes the operator of a share whose traces have the given places.
func (j *Job) problemOf(sh share, own *survey.Positions) *kirchhoff.Problem {
	s, c := j.Survey, j.Config.Kirchhoff
	p := &kirchhoff.Problem{
		Grid:          j.Image,
		Slab:          sh.slab,
		Positions:     own,
		NT:            s.NT,
		DT:            s.DT,
		T0:            s.T0,
		Wavelet:       j.Wavelet,
		WaveletFilter: c.WaveletFilter && j.white == nil,
		Times:         j.Times,
		Dynamic:       c.Dynamic,
		Threads:       j.Host.Threads(),
	}
	if len(c.DipLimit) == 2 {
		p.DipLimit = c.DipLimit
	}
	if o := c.OpeningLimit; len(o) == 2 {
		p.Opening = kirchhoff.Window{Fall0: o[0], Fall1: o[1]}
	}
	if j.windows != nil {
		p.Opening = j.windows[0]
	}
	if p.Antialias = j.antialias(); p.Antialias != nil {
		p.Velocity = j.velocityOnImage()
	}
	if c.Dynamic {
		p.MaxDistance[0], p.MaxDistance[1] = kirchhoff.MaxDistance(j.Image, j.Places)
		p.Velocity = j.velocityOnImage()
		if len(c.AngleLimit) == 2 {
			p.AngleLimit = c.AngleLimit
		}
		if j.tables != nil && j.tables.Has(survey.AtSource, h5.Amplitude) && j.tables.Has(survey.AtReceiver, h5.Amplitude) {
			p.Amplitude = j.amplitude
		}
	}
	return p
}

// amplitude reads the given spreading factors of one of this rank's places.
func (j *Job) amplitude(own int) ([]float64, error) {
	b := make([]float64, j.Image.Len())
	place := j.from[own]
	return b, j.tables.ReadRow(b, j.Places.Role[place], h5.Amplitude, int(j.Places.Row[place]))
}

// elementType is the precision in which the engine works.
func (j *Job) elementType() device.Type {
	if j.Engine == "reference" {
		return device.F64
	}
	return device.F32
}

// Build computes the traveltimes and makes the operator, on all ranks. It is the
// long part of getting ready; its progress is reported place by place.
func (j *Job) Build(ctx context.Context) (*Operator, error) {
	if text := j.beyondClasses(); text != "" {
		j.report.Infof("image.gathers: %s", text)
	}
	op, err := j.build(ctx)
	if err := j.together(err); err != nil {
		return nil, err
	}
	j.kept = op.Engine
	if j.stream {
		return op, comm.Together(j.world, j.liftStream(op))
	}
	lifted, err := j.liftedWith(op, j.lift())
	if err := comm.Together(j.world, err); err != nil {
		return nil, err
	}
	op.Operator = &timed{lifted, j.report}
	if e, ok := op.Engine.(*kernels.Engine); ok {
		return op, j.registerSums(e)
	}
	return op, nil
}

// together is comm.Together where ranks may come late.
func (j *Job) together(err error) error {
	if j.world.Size() > 1 {
		defer j.report.Time("waiting for ranks")()
	}
	return comm.Together(j.world, err)
}

// lift says how contributions of the ranks are added up.
func (j *Job) lift() dist.LiftOptions {
	o := dist.LiftOptions{
		Exact:    j.exact(),
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
	j.report.Infof("comm.overlap: %s (forward and adjoint take %.3g s with, %.3g s without, of which sums %.3g s)",
		text, o.With.Seconds(), o.Without.Seconds(), o.Sums.Seconds())
}

// exact reports whether sums are to be the same on any number of ranks.
func (j *Job) exact() bool {
	return j.Config.Solver.Reproducible == "ranks" && j.Engine != "reference"
}

// liftedWith joins the ranks' parts of an operator.
func (j *Job) liftedWith(op *Operator, o dist.LiftOptions) (dist.Operator, error) {
	if n := j.classes(); n > 0 {
		return dist.LiftBeside(op.kernels, dist.Stack(slices.Repeat([]*dist.Layout{j.imageLayout()}, n)...), j.dataLayout(), o)
	}
	return dist.LiftWith(op.kernels[0], j.imageLayout(), j.dataLayout(), o)
}

// imageLayout is the image's, split over blocks along x.
func (j *Job) imageLayout() *dist.Layout {
	plane, width := j.plane(), kirchhoff.SlabPoints(j.Image.Dim())
	l := &dist.Layout{
		Shape: j.Image.Shape, Off: j.mine.slab[0] * plane, N: j.slabLen(j.mine),
		Type: j.elementType(), Shards: j.blocks, Copies: j.shots,
	}
	if j.exact() {
		l.Units = []int{}
		for x := j.mine.slab[0]; x < j.mine.slab[1]; x += width {
			l.Units = append(l.Units, x*plane-l.Off)
		}
	}
	return l
}

// dataLayout is that of the data, split over shots.
func (j *Job) dataLayout() *dist.Layout {
	nt := j.Survey.NT
	l := &dist.Layout{
		Shape: j.dataShape(), Off: j.mine.first * nt, N: (j.mine.last - j.mine.first) * nt,
		Type: j.elementType(), Shards: j.shots, Copies: j.blocks,
	}
	if j.exact() {
		for _, first := range j.mine.shots {
			l.Units = append(l.Units, first*nt)
		}
	}
	return l
}

// build makes this rank's part.
func (j *Job) build(ctx context.Context) (*Operator, error) {
	if err := j.CheckMemory(); err != nil {
		return nil, err
	}
	stage := j.report.Stage("traveltimes")
	defer stage.End()
	stage.Total(j.own.Len(), "places")
	p := j.problem()
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
		coarse, err := traveltime.NewCoarse(ctx, p.Times, p.Positions, coarseFactor, opt)
		if err != nil {
			return nil, inputUnlessMarked(err)
		}
		p.Times = coarse
	}
	w := kirchhoff.Work{Remake: m.Recompute, Budget: m.Tables, Exact: j.exact()}
	if m.Stream {
		w.Cuts = m.groups
	}
	if j.classes() > 0 {
		w.Classes = j.ownClasses()
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
	err = FileError(err)
	if status.Code(err) == status.Other {
		return status.Input(err)
	}
	return err
}

// dataShape is [ns, nr, nt] for a fixed spread, [ntrace, nt] otherwise; traces lie
// shot by shot.
func (j *Job) dataShape() []int {
	if s := j.Survey; s.Fixed && j.order == nil && j.total() == s.NumTraces() {
		return []int{s.NumSources(), s.NumReceivers(), s.NT}
	}
	return []int{j.total(), j.Survey.NT}
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

// Data moves this rank's traces into a vector of the operator's range, nil where they
// are streamed.
func (j *Job) Data(op *Operator) (*dist.Vector, error) {
	if j.Dead > 0 {
		j.report.Warn(j.deadText())
	}
	if j.stream {
		return nil, nil
	}
	data := j.Survey.Data
	j.Survey.Data = nil // the vector has them now
	if op.Range().Type == device.F32 && j.Device == device.Device(j.Host) {
		return &dist.Vector{Layout: op.Range(), Buf: device.Wrap(j.Host, data)}, nil
	}
	d, err := dist.NewVector(j.Device, op.Range())
	if err != nil {
		return nil, err
	}
	return d, device.Upload(d.Buf, data)
}

func (j *Job) deadText() string {
	verb := "are"
	if j.Dead == 1 {
		verb = "is"
	}
	text := fmt.Sprintf("%s: %d of %s %s dead (every sample is zero)", j.Config.Survey.File.File, j.Dead, readable.Count(j.Survey.NumTraces(), "trace"), verb)
	if j.Config.Data.Dead == "mask" {
		text += ", their weight is 0"
	}
	return text
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
	if j.stream {
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
	if j.root() && zero(image) {
		j.warnUnseen()
	}
	return &Result{Image: image, x: m}, nil
}

// warnUnseen says that the data and the image have nothing to do with each
// other, most often because of a unit.
func (j *Job) warnUnseen() {
	j.report.Warn(fmt.Sprintf("the records, %s to %s s, hold no arrival from the image, %s: the result is zero everywhere (are all lengths in m and times in s?)",
		readable.Time(j.Survey.T0), readable.Time(j.recordEnd()), extent(j.Image)))
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
	defer j.report.Time("gather")()
	if j.root() {
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
	if j.stream {
		return op.stream.DotTest(ctx, 1)
	}
	f := &formulation{a: op}
	if err := j.keepBelow(ctx, f); err != nil {
		return 0, err
	}
	if err := j.weighData(ctx, f); err != nil {
		return 0, err
	}
	return dist.DotTest(ctx, j.Device, f.a, 1)
}

// DotLimit is the largest dot test error of a sound operator in the engine's
// precision.
func (j *Job) DotLimit() float64 {
	if j.elementType() == device.F64 {
		return 1e-13
	}
	return 1e-6
}
