package job

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/operator"
)

// The solver minimises ‖W(A m − d)‖ with W a diagonal of the data: the weight of the
// trace times that of the mute at each sample.

// weights is the diagonal of W, nil where it is the identity.
func (j *Job) weights(l *dist.Layout) (*dist.Vector, error) {
	if j.traces == nil || j.traces.Weight == nil || j.w != nil {
		return j.w, nil
	}
	v, err := dist.NewVector(j.Device, l)
	if err != nil {
		return nil, err
	}
	m, nt := j.Mute, j.Survey.NT
	each := max(1, operator.Chunk/nt)
	list := j.Shots.List(j.share.First, j.share.Last)
	w := make([]float32, min(each, len(list))*nt)
	for first := 0; first < len(list); first += each {
		n := min(each, len(list)-first)
		for i, trace := range list[first : first+n] {
			m.Fill(w[i*nt:(i+1)*nt], j.Survey.Offset(int(trace)), j.traces.Weight[first+i])
		}
		if err := device.Upload(v.Buf.Slice(first*nt, n*nt), w[:n*nt]); err != nil {
			return nil, err
		}
	}
	j.w = v
	return v, nil
}

// weighData puts the weights before operator and data, whose memory it takes over
// unless they are needed again.
func (j *Job) weighData(_ context.Context, f *formulation) error {
	if f.stream != nil {
		return nil // its own business
	}
	w, err := j.weights(f.a.Range())
	if err != nil || w == nil {
		return err
	}
	f.a = dist.Chain(dist.Diagonal(w), f.a)
	if f.b == nil {
		return nil
	}
	if j.Config.Output.Residual.IsSet() {
		f.b, err = j.weighedData(f.b)
		return err
	}
	return dist.Multiply(f.b, w)
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
