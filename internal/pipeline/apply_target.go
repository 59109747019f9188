package pipeline

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/formulation"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// Quadratic returns the objective that the configured solve minimises, without the operator's part of its
// Hessian, and its slope at an image; a nil image has no slope. It takes d over. It is collective.
func (op *Operator) Quadratic(ctx context.Context, d *dist.Vector, image PointReader) (*formulation.Quadratic, error) {
	s, err := op.setting(d)
	if err == nil && image != nil {
		s.Start, err = op.ImageVector(image)
	}
	if err != nil {
		return nil, err
	}
	s.KeepData = false
	return s.Quadratic(ctx)
}

// CountLiveSamples is the number of samples of the survey that have a weight above 0. It is collective.
func (op *Operator) CountLiveSamples() (int, error) {
	w, err := op.gatherWeights()
	if err != nil {
		return 0, err
	}
	traces, nt, n := op.plan.Geometry.Shots.Traces(), op.plan.Geometry.Survey.NT, 0
	for _, v := range w {
		if v > 0 {
			n++
		}
	}
	switch len(w) {
	case 0:
		return traces * nt, nil
	case traces:
		return n * nt, nil
	}
	return n, nil
}

// Hessian makes what AᵀW²A of a target needs, for all traces of the survey on every rank, and
// the squared weights: nil for ones, of traces, or with a mute of samples. Where the operator is on
// a card, the cpu engine makes them. It is collective.
func (op *Operator) Hessian(ctx context.Context, t kirchhoff.Target) (*kirchhoff.Hessian, []float32, error) {
	defer op.process.Ranks.Report.Time("traveltimes of the target")()
	w2, err := op.gatherWeights()
	if err != nil {
		return nil, nil, err
	}
	for i, w := range w2 {
		w2[i] = w * w
	}
	h, err := op.hessian(ctx, t)
	return h, w2, comm.Together(op.process.Ranks.World, err)
}

func (op *Operator) hessian(ctx context.Context, t kirchhoff.Target) (*kirchhoff.Hessian, error) {
	p, err := LoadAll(op.plan)
	if err != nil {
		return nil, err
	}
	s, err := p.Geometry.Share([2]int{1, 1}, 0)
	if err != nil {
		return nil, err
	}
	k := p.Problem(s)
	if k.Dynamic {
		k.Velocity = p.Times.Source.On(p.Geometry.Image, s.Slab)
	}
	engine := op.plan.Hardware.Engine
	if op.process.Card != nil {
		engine = "cpu"
	}
	h, err := kirchhoff.NewHessian(ctx, engine, k, t)
	if err != nil {
		return nil, BlameInput(err)
	}
	return h, nil
}

// gatherWeights returns the diagonal of W for all traces in the order of shots: nil for ones, one a
// trace, or with a mute one a sample. It is collective.
func (op *Operator) gatherWeights() ([]float32, error) {
	type part struct {
		First  int
		Weight []float64
	}
	var mine part
	if op.traces != nil && op.traces.Weight != nil {
		mine = part{op.share.First, op.traces.Weight}
	}
	all, err := comm.GatherJSON(op.process.Ranks.World.Host().AllGather, mine)
	if err != nil || !op.plan.Weighted() {
		return nil, err
	}
	n, nt := op.plan.Geometry.Shots.Traces(), op.plan.Geometry.Survey.NT
	w := make([]float32, n)
	for _, p := range all {
		for i, v := range p.Weight {
			w[p.First+i] = float32(v)
		}
	}
	if !op.plan.Mute.On() {
		return w, nil
	}
	samples := make([]float32, n*nt)
	for i, trace := range op.plan.Geometry.Shots.List(0, n) {
		op.plan.Mute.Fill(samples[i*nt:(i+1)*nt], op.plan.Geometry.Survey.Offset(int(trace)), float64(w[i]))
	}
	return samples, nil
}
