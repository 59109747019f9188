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
		if op.set, err = op.makeSetting(); err != nil {
			return nil, err
		}
	}
	s := *op.set
	if s.Data = d; op.plan.Held.Stream {
		s.Passes = op.stream
	}
	return &s, nil
}

// makeSetting makes the setting of an operator without data.
func (op *Operator) makeSetting() (*formulation.Setting, error) {
	weights, err := op.weightVector()
	if err != nil {
		return nil, err
	}
	var times []float32
	if p := op.plan; Banded(p.Config.Solver, p.Geometry.Image) {
		if times, err = p.Times.VerticalTimes(p.Geometry.Image, op.share.Own, p.Inputs.ReadSlabs); err != nil {
			return nil, err
		}
	}
	s, err := newSetting(op.plan, op.share, op.process.Device, op.process.Host.Threads(), op.lifted, weights, times)
	if err != nil {
		return nil, err
	}
	s.World, s.Report, s.Again = op.process.Ranks.World, op.process.Ranks.Report, op.process.Again
	s.Squared = func() (dist.Operator, error) { return op.squareWeights() }
	s.Gather, s.Scatter = op.process.Whole, op.process.Spread
	return s, nil
}

// newSetting makes the setting of an operator on a device, the run's or one that counts, without what ranks do together. The
// vertical times belong to the columns of a band; a device that only counts ignores them.
func newSetting(p *Plan, share *Share, on device.Device, threads int, a dist.Operator, weights *dist.Vector, times []float32) (s *formulation.Setting, err error) {
	c, image := p.Config, p.Geometry.Image
	s = &formulation.Setting{
		Config: c.Solver, Options: SolverOptions(c.Solver), Image: image, Device: on, Threads: threads, Operator: a, Weights: weights,
		KeepData: c.Output.Residual.IsSet(), Kept: share.Kept(p), Coherent: Coherent(c.Data, p.Need) && c.Solver.Iterations > FirstIterations,
	}
	if Banded(c.Solver, image) {
		nz := image.Shape[image.Dim()-1]
		if s.Band, err = imaging.NewBand(on, Pulse(p.Geometry.Survey.Wavelet), times, p.Geometry.Points(share)/nz, nz, threads); err != nil {
			return nil, err
		}
	}
	if p.Geometry.Surface != nil {
		s.Surface = p.Geometry.Surface.Weight
		s.Below, err = formulation.Diagonal(on, a.Domain(), s.Surface)
	}
	return s, err
}

// weightVector returns the diagonal of W: at each sample, the weight of the trace times that
// of the mute. It is nil if W is the identity, and for streamed traces, which are weighed
// as they are read.
func (op *Operator) weightVector() (*dist.Vector, error) {
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
func (op *Operator) squareWeights() (dist.Operator, error) {
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
