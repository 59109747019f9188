package job

import (
	"context"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/device"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Operator is the demigration operator of a job: from the image [nx, (ny,) nz]
// to the data [ntrace, nt], in the engine's precision.
type Operator struct {
	dist.Operator
	Engine kirchhoff.Engine
	Info   string // engine, instruction set, memory of the tables
}

// problem describes the operator to the engines.
func (j *Job) problem() *kirchhoff.Problem {
	s, c := j.Survey, j.Config.Kirchhoff
	p := &kirchhoff.Problem{
		Grid:          j.Image,
		Positions:     j.Places,
		NT:            s.NT,
		DT:            s.DT,
		T0:            s.T0,
		Wavelet:       s.Wavelet,
		WaveletFilter: c.WaveletFilter,
		Times:         j.Times,
		Dynamic:       c.Dynamic,
		Threads:       j.Config.Machine.Threads,
	}
	if c.Dynamic {
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

// amplitude reads the given spreading factors of one place.
func (j *Job) amplitude(place int) ([]float64, error) {
	b := make([]float64, j.Image.Len())
	return b, j.tables.ReadRow(b, j.Places.Role[place], h5.Amplitude, int(j.Places.Row[place]))
}

// elementType is the precision in which the engine works.
func (j *Job) elementType() device.Type {
	if j.Engine == "reference" {
		return device.F64
	}
	return device.F32
}

// Build computes the traveltimes and makes the operator. It is the long part of
// getting ready; its progress is reported place by place.
func (j *Job) Build(ctx context.Context) (*Operator, error) {
	if err := j.CheckMemory(); err != nil {
		return nil, err
	}
	stage := j.report.Stage("traveltimes")
	defer stage.End()
	stage.Total(j.Places.Len(), "places")
	p := j.problem()
	last := 0
	p.Progress = func(done, total int) {
		stage.Add(done - last)
		last = done
	}
	op := &Operator{}
	m := j.Memory()
	p.Compact = m.Compact
	if m.Recompute {
		how := "recomputed"
		if m.Coarse > 0 {
			how = "interpolated"
			opt := traveltime.Options{Threads: p.Threads, Progress: p.Progress}
			coarse, err := traveltime.NewCoarse(ctx, p.Times, p.Positions, coarseFactor, opt)
			if err != nil {
				return nil, inputUnlessMarked(err)
			}
			p.Times = coarse
		}
		k, err := kirchhoff.NewRecompute(ctx, p, m.Tables)
		if err != nil {
			return nil, inputUnlessMarked(err)
		}
		op.Engine = k
		op.Info = fmt.Sprintf("engine cpu: float32, %s; traveltimes %s in %d stretches", k.ISA(), how, k.Stretches())
	} else if j.Engine == "reference" {
		k, err := kirchhoff.NewReference(ctx, p)
		if err != nil {
			return nil, inputUnlessMarked(err)
		}
		op.Engine = k
		op.Info = "engine reference: float64"
	} else {
		k, err := kirchhoff.NewCPU(ctx, p)
		if err != nil {
			return nil, inputUnlessMarked(err)
		}
		op.Engine = k
		op.Info = "engine cpu: float32, " + k.ISA()
		if p.Compact {
			op.Info += ", times in 16 bits"
		}
	}
	t := j.elementType()
	image := dist.Local(t, j.Image.Shape...)
	data := dist.Local(t, j.dataShape()...)
	op.Operator = &timed{dist.Lift(op.Engine, image, data), j.report}
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

// dataShape is [ns, nr, nt] for a fixed spread, [ntrace, nt] otherwise.
func (j *Job) dataShape() []int {
	if s := j.Survey; s.Fixed {
		return []int{s.NumSources(), s.NumReceivers(), s.NT}
	}
	return []int{j.Survey.NumTraces(), j.Survey.NT}
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

// Data moves the survey's traces into a vector of the operator's range.
func (j *Job) Data(op *Operator) (*dist.Vector, error) {
	if j.Dead > 0 {
		j.report.Warn(j.deadText())
	}
	d, err := dist.NewVector(j.Device, op.Range())
	if err != nil {
		return nil, err
	}
	return d, device.Upload(d.Buf, j.Survey.Data)
}

func (j *Job) deadText() string {
	return fmt.Sprintf("%s: %d of %d traces are dead (every sample is zero)", j.Config.Survey.File.File, j.Dead, j.Survey.NumTraces())
}

// Migrate applies the adjoint to the survey's traces: the plain Kirchhoff image.
func (j *Job) Migrate(ctx context.Context, op *Operator) ([]float32, error) {
	d, err := j.Data(op)
	if err != nil {
		return nil, err
	}
	m, err := dist.NewVector(j.Device, op.Domain())
	if err != nil {
		return nil, err
	}
	if err := op.ApplyAdjoint(ctx, m, d); err != nil {
		return nil, err
	}
	image, err := j.download(m)
	if err == nil && zero(image) {
		j.warnUnseen()
	}
	return image, err
}

// warnUnseen says that the data and the image have nothing to do with each
// other, most often because of a unit.
func (j *Job) warnUnseen() {
	j.report.Warn(fmt.Sprintf("the records, %.4g to %.4g s, hold no arrival from the image, %s: the result is zero everywhere (are all lengths in m and times in s?)",
		j.Survey.T0, j.recordEnd(), extent(j.Image)))
}

func zero(v []float32) bool {
	for _, x := range v {
		if x != 0 {
			return false
		}
	}
	return true
}

// Model applies the forward to an image on the job's grid: predicted traces.
func (j *Job) Model(ctx context.Context, op *Operator, image []float32) (*survey.Survey, error) {
	if len(image) != j.Image.Len() {
		panic(fmt.Sprintf("job: image of %d points on a grid of %d", len(image), j.Image.Len()))
	}
	m, err := dist.NewVector(j.Device, op.Domain())
	if err != nil {
		return nil, err
	}
	if err := device.Upload(m.Buf, image); err != nil {
		return nil, err
	}
	d, err := dist.NewVector(j.Device, op.Range())
	if err != nil {
		return nil, err
	}
	if err := op.Apply(ctx, d, m); err != nil {
		return nil, err
	}
	out := *j.Survey
	out.Data, err = j.download(d)
	if err == nil && zero(out.Data) && !zero(image) {
		j.warnUnseen()
	}
	return &out, err
}

// DotTest measures how far the operator's two directions are from adjoint.
func (j *Job) DotTest(ctx context.Context, op *Operator) (float64, error) {
	return dist.DotTest(ctx, j.Device, op, 1)
}

// DotLimit is the largest dot test error of a sound operator in the engine's
// precision.
func (j *Job) DotLimit() float64 {
	if j.elementType() == device.F64 {
		return 1e-13
	}
	return 1e-6
}

func (j *Job) download(v *dist.Vector) ([]float32, error) {
	out := make([]float32, v.Buf.Len())
	if err := device.Download(out, v.Buf); err != nil {
		return nil, err
	}
	for i, x := range out {
		if x-x != 0 {
			return nil, status.Numerical(fmt.Errorf("kirchhoff: result has %g at element %d, must be finite", x, i))
		}
	}
	return out, nil
}
