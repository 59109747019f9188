package job

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// The solver minimises ‖W(A m − d)‖ with W a diagonal of the data: the weight of the
// trace times that of the mute at each sample.

// weights is the diagonal of W, nil where it is the identity.
func (j *Job) weights(l *dist.Layout) (*dist.Vector, error) {
	if j.traces.weight == nil || j.w != nil {
		return j.w, nil
	}
	v, err := dist.NewVector(j.Device, l)
	if err != nil {
		return nil, err
	}
	m, nt := j.Mute, j.Survey.NT
	each := max(1, gatherElements/nt)
	list := j.Shots.List(j.mine.First, j.mine.Last)
	w := make([]float32, min(each, len(list))*nt)
	for first := 0; first < len(list); first += each {
		n := min(each, len(list)-first)
		for i, trace := range list[first : first+n] {
			m.Fill(w[i*nt:(i+1)*nt], j.Survey.Offset(int(trace)), j.traces.weight[first+i])
		}
		if err := device.Upload(v.Buf.Slice(first*nt, n*nt), w[:n*nt]); err != nil {
			return nil, err
		}
	}
	j.w = v
	return v, nil
}

// weightedProblem is the problem of an operator and data with their weights. It takes over the
// memory of the data unless they are needed again.
func (j *Job) weightedProblem(op *Operator, d *dist.Vector) (*formulation, error) {
	f := &formulation{close: func() {}, image: func(_ context.Context, x *dist.Vector) (*dist.Vector, error) { return x, nil }}
	if j.Held.Stream {
		f.problem = solver.Stream(op.stream) // weighs them itself
		return f, nil
	}
	a, w, err := j.weightedOperator(op)
	if err != nil {
		return nil, err
	}
	switch {
	case w == nil:
	case j.Config.Output.Residual.IsSet():
		d, err = product(d, w)
	default:
		err = dist.Multiply(d, w)
	}
	if err != nil {
		return nil, err
	}
	f.problem = solver.Hold(a, d)
	return f, nil
}

// scaledOperator is W A S, for weights of data and of the image.
func (j *Job) scaledOperator(op dist.Operator) (dist.Operator, error) {
	a, _, err := j.weightedOperator(op)
	if err != nil {
		return nil, err
	}
	s, err := j.below(op.Domain())
	if err != nil || s == nil {
		return a, err
	}
	return dist.Chain(a, dist.Diagonal(s)), nil
}

// weightedOperator puts the weights before an operator, and returns them; nil for none.
func (j *Job) weightedOperator(op dist.Operator) (dist.Operator, *dist.Vector, error) {
	w, err := j.weights(op.Range())
	if err != nil || w == nil {
		return op, nil, err
	}
	return dist.Chain(dist.Diagonal(w), op), w, nil
}

// weighedData is W d, d itself where W is the identity.
func (j *Job) weighedData(d *dist.Vector) (*dist.Vector, error) {
	if j.Held.Stream {
		return nil, nil
	}
	w, err := j.weights(d.Layout)
	if err != nil || w == nil {
		return d, err
	}
	return product(d, w)
}
