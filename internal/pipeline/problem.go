package pipeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/io/h5"

	"github.com/kirchhoff-lsm/lsm/internal/formulation"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// setting collects what the problem of an operator and data is made of. The data may be
// nil if only the operator matters.
func (op *Operator) setting(d *dist.Vector) (*formulation.Setting, error) {
	if op.set == nil {
		var err error
		if op.set, err = settingOf(op); err != nil {
			return nil, err
		}
	}
	s := *op.set
	s.Again = op.process.Again
	if s.Data = d; op.plan.Held.Stream {
		s.Passes = op.stream
	}
	return &s, nil
}

// settingOf is the setting of an operator without data.
func settingOf(op *Operator) (s *formulation.Setting, err error) {
	s = &formulation.Setting{
		Config: op.plan.Config.Solver, Options: SolverOptions(op.plan.Config.Solver), Image: op.plan.Geometry.Image,
		World: op.process.Ranks.World, Device: op.process.Device, Threads: op.process.Host.Threads(), Report: op.process.Ranks.Report,
		Operator: op.lifted, KeepData: op.plan.Config.Output.Residual.IsSet(),
		Squared: func() (dist.Operator, error) { return squareWeights(op) },
		Gather:  op.process.Whole, Scatter: op.process.Spread,
	}
	if s.Band, err = newBand(op); err != nil {
		return nil, err
	}
	if s.Weights, err = weightVector(op); err != nil || op.plan.Geometry.Surface == nil {
		return s, err
	}
	s.Surface = op.plan.Geometry.Surface.Weight
	s.Below, err = formulation.Diagonal(op.process.Device, op.lifted.Domain(), s.Surface)
	return s, err
}

// weightVector returns the diagonal of W: at each sample, the weight of the trace times that
// of the mute. It is nil if W is the identity, and for streamed traces, which are weighed
// as they are read.
func weightVector(op *Operator) (*dist.Vector, error) {
	if op.traces == nil || op.traces.Weight == nil || op.plan.Held.Stream {
		return nil, nil
	}
	v, err := dist.NewVector(op.process.Device, op.lifted.Range())
	if err != nil {
		return nil, err
	}
	nt, n := op.plan.Geometry.Survey.NT, op.share.Traces()
	each := max(1, GatherChunk/nt)
	for first := 0; first < n; first += each {
		w := slices.Repeat([]float32{1}, min(each, n-first)*nt)
		if err := op.traces.Weigh(first*nt, device.Wrap(op.process.Host, w)); err != nil {
			return nil, err
		}
		if err := device.Upload(v.Buf.Slice(first*nt, len(w)), w); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// squareWeights returns the operator with its weights squared.
func squareWeights(op *Operator) (dist.Operator, error) {
	k := op.engine.Squared()
	if k == nil {
		return nil, status.Usage(fmt.Errorf("kirchhoff.engine = %q does not know the diagonal of its operator", op.engine.Name()))
	}
	o := op.LiftOptions()
	o.Choose = nil
	lifted, err := dist.LiftWith(o, op.lifted.Domain(), op.lifted.Range(), k...)
	return lifted, comm.Together(op.process.Ranks.World, err)
}

// formulate turns the operator and the data into the problem to be solved, from a start model or, where
// that is nil, from zero.
func (op *Operator) formulate(ctx context.Context, d *dist.Vector, start *h5.ImageReader) (*formulation.Formulation, error) {
	s, err := op.setting(d)
	if err == nil && start != nil {
		s.Start, err = op.ImageVector(start.ReadReflectivity)
		s.StartSolved = start.HasReflectivity()
	}
	if err != nil {
		return nil, err
	}
	return formulation.New(context.WithoutCancel(ctx), s)
}

// cutAbove multiplies an image by S, in place.
func (op *Operator) cutAbove(m *dist.Vector) error {
	s, err := op.setting(nil)
	if err != nil || s.Below == nil {
		return err
	}
	return dist.Multiply(m, s.Below)
}

// DampingText compares damping with the largest singular value of the operator, at the price of about four
// iterations; "" where it is not used, or where traces are streamed.
func (op *Operator) DampingText(ctx context.Context) (string, error) {
	s, err := op.setting(nil)
	if err != nil || s.Passes != nil || s.Config.Damping == 0 {
		return "", err
	}
	if s.Data, err = op.Data(); err != nil {
		return "", err
	}
	return formulation.DampingText(ctx, s)
}

// solveByMatching is Solve for solver.method = "matching".
func (op *Operator) solveByMatching(ctx context.Context, f *formulation.Formulation) (*Result, error) {
	began := time.Now()
	live := op.process.Ranks.Report.Solver("solver vectors", 1)
	defer live.End()
	m, err := f.Match(ctx, op.plan.Filters)
	if err != nil {
		return nil, numericalFailure(err)
	}
	h := m.History
	live.Iteration(progress.Iteration{
		N: 1, Limit: 1, Residual: relativeNorm(h.Residual), Gradient: relativeNorm(h.Gradient), Adjoint: m.AdjointError, Took: time.Since(began),
	})
	r := &Result{History: h, Reason: solver.Matched}
	if err := r.takeImage(f, m.X); err != nil {
		return nil, err
	}
	return r, op.finishImage(r, 1, h.Gradient[0] == 0)
}

// newBand returns the band of solver.band on the columns of this rank; nil: none.
func newBand(op *Operator) (*imaging.Band, error) {
	if !Banded(op.plan.Config.Solver, op.plan.Geometry.Image) {
		return nil, nil
	}
	times, err := op.plan.Times.VerticalTimes(op.plan.Geometry.Image, op.share.Own, op.plan.Inputs.ReadSlabs)
	if err != nil {
		return nil, err
	}
	nz := op.plan.Geometry.Image.Shape[op.plan.Geometry.Image.Dim()-1]
	return imaging.NewBand(op.process.Device, Pulse(op.plan.Geometry.Survey.Wavelet), times, len(times)/nz, nz, op.process.Host.Threads())
}
