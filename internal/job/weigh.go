package job

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/solver"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// The solver minimises ‖W(A m − d)‖ with W a diagonal of the data: the weight of the
// trace times that of the mute at each sample.

// weighted reports whether any weight differs from 1. It is the same on all ranks.
func (j *Job) weighted() bool {
	d := j.Config.Data
	if d.Weights == "survey" {
		for _, w := range j.Survey.Weight {
			if w != 1 {
				return true
			}
		}
	}
	return len(d.MuteOffsets) > 0 || d.Weights == "rms" || d.Dead == "mask" && j.Dead > 0
}

// checkWeights makes sure that the survey has the weights asked for.
func (j *Job) checkWeights(need Need) error {
	if need == Traces && j.Config.Data.Weights == "survey" && j.Survey.Weight == nil {
		return status.Hint(status.Input(fmt.Errorf("%s: dataset /weight is missing, data.weights = \"survey\" needs it", j.Config.Survey.File.File)),
			`weights = "rms" finds weights in the traces themselves`)
	}
	return nil
}

// weighTraces finds what each of this rank's traces counts.
func (j *Job) weighTraces(need Need) error {
	if need != Traces || !j.weighted() {
		return nil
	}
	if j.weight = j.found.weight; !j.stream {
		j.weight = make([]float64, j.mine.last-j.mine.first)
		m, nt := newMute(j.Config.Data, j.Survey), j.Survey.NT
		w := make([]float32, nt)
		for i, n := range j.traces(j.mine) {
			m.fill(w, j.Survey.Offset(int(n)), 1)
			j.weight[i] = j.weigh(int(n), j.Survey.Data[i*nt:(i+1)*nt], w)
		}
	}
	sum, live, err := j.sumWeights()
	if err != nil {
		return err
	}
	if live == 0 {
		return status.Input(fmt.Errorf("%s: no sample counts: each of %s is dead, muted or has weight 0", j.Config.Survey.File.File, readable.Count(j.total(), "trace")))
	}
	if j.live = live; j.Config.Data.Weights == "rms" {
		j.found.scale = float64(live) / sum
		for i := range j.weight {
			j.weight[i] *= j.found.scale
		}
	}
	return nil
}

// weigh is the weight of trace n, but for a factor common to all, given its samples
// and what the mute makes them count.
func (j *Job) weigh(n int, trace, mute []float32) float64 {
	energy, share := 0.0, 0.0
	for k, x := range trace {
		v, w := float64(x), float64(mute[k])
		energy += w * w * v * v
		share += w * w
	}
	d := j.Config.Data
	switch {
	case share == 0, d.Dead == "mask" && survey.Silent(trace):
		return 0
	case d.Weights == "survey":
		return float64(j.Survey.Weight[n])
	case d.Weights == "rms" && energy == 0:
		return 0
	case d.Weights == "rms":
		return math.Sqrt(share / energy)
	}
	return 1
}

// sumWeights adds up the traces' weights of all ranks, and counts those that are not
// zero: shot by shot, so that the sum has the same bits on any number of ranks.
func (j *Job) sumWeights() (sum float64, live int, err error) {
	var mine []byte
	for k, first := range j.mine.shots {
		last := len(j.weight)
		if k+1 < len(j.mine.shots) {
			last = j.mine.shots[k+1]
		}
		of, n := 0.0, uint64(0)
		for _, w := range j.weight[first:last] {
			if of += w; w > 0 {
				n++
			}
		}
		mine = binary.LittleEndian.AppendUint64(mine, math.Float64bits(of))
		mine = binary.LittleEndian.AppendUint64(mine, n)
	}
	all, err := j.shots.Host().AllGather(mine)
	if err != nil {
		return 0, 0, err
	}
	for _, part := range all {
		for ; len(part) > 0; part = part[16:] {
			sum += math.Float64frombits(binary.LittleEndian.Uint64(part))
			live += int(binary.LittleEndian.Uint64(part[8:]))
		}
	}
	return sum, live, nil
}

// weights is the diagonal of W, nil where it is the identity.
func (j *Job) weights(l *dist.Layout) (*dist.Vector, error) {
	if j.weight == nil || j.w != nil {
		return j.w, nil
	}
	v, err := dist.NewVector(j.Device, l)
	if err != nil {
		return nil, err
	}
	m, nt := newMute(j.Config.Data, j.Survey), j.Survey.NT
	each := max(1, gatherElements/nt)
	list := j.traces(j.mine)
	w := make([]float32, min(each, len(list))*nt)
	for first := 0; first < len(list); first += each {
		n := min(each, len(list)-first)
		for i, trace := range list[first : first+n] {
			m.fill(w[i*nt:(i+1)*nt], j.Survey.Offset(int(trace)), j.weight[first+i])
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
	if j.stream {
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
	if j.stream {
		return nil, nil
	}
	w, err := j.weights(d.Layout)
	if err != nil || w == nil {
		return d, err
	}
	return product(d, w)
}
