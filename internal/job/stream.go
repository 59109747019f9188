package job

import (
	"context"
	"encoding/binary"
	"sort"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/inputs"
)

// weighGroup multiplies samples of this rank, from one on, by their weights.
func (j *Job) weighGroup(lo int, data device.Buf) error {
	m, nt := j.Mute, j.Survey.NT
	x, first := device.Slice[float32](data), lo/nt
	list := j.list(first, len(x)/nt)
	w := make([]float32, nt)
	for i, n := range list {
		m.Fill(w, j.Survey.Offset(int(n)), j.traces.weight[first+i])
		for k := range w {
			x[i*nt+k] *= w[k]
		}
	}
	return nil
}

// liftStream spreads the operator over the ranks.
func (j *Job) liftStream(op *Operator) error {
	k := op.Engine.Groups()
	cuts := make([]int, k.Groups()+1)
	for i := range k.Groups() {
		_, end := k.Group(i)
		cuts[i+1] = end / j.Survey.NT
	}
	domain, rng := j.imageLayout(), j.dataLayout()
	op.Operator = dist.Lift(op.kernels[0], domain, rng)
	o := dist.StreamOptions{
		LiftOptions: j.lift(),
		Device:      j.Device,
		Read:        func(ctx context.Context) (dist.Reader, error) { return j.read(ctx, cuts) },
		Norm:        j.traces.norm,
		Largest:     j.traces.sum,
		LargestOnce: j.traces.sumOnce,
	}
	if j.traces.weight != nil {
		o.Weigh = j.weighGroup
	}
	var err error
	op.stream, err = dist.NewStream(k, domain, rng, o)
	return err
}

// writeStream writes the traces that an image predicts, or with residual the recorded
// ones less those, as they are computed.
func (j *Job) writeStream(ctx context.Context, op *Operator, x *dist.Vector, residual bool, path string, src Source) error {
	size, err := dist.Norm(x)
	if err != nil {
		return err
	}
	w, err := j.createTraces(path, src)
	if err != nil {
		return err
	}
	if w != nil {
		defer w.Abort()
	}
	all := true // zero
	err = op.stream.Predict(ctx, x, residual, func(lo int, data device.Buf) error {
		v, first, err := j.round(lo, data)
		if err != nil {
			return err
		}
		nt := j.Survey.NT
		return dist.GatherEach(v, max(1, gatherElements/nt)*nt, func(at int, part device.Buf) error {
			traces, err := finiteTraces(part, at)
			if err != nil {
				return err
			}
			all = all && zero(traces)
			return j.writeOrdered(w, traces, first(at))
		})
	})
	if err != nil {
		return inputs.FileError(err)
	}
	if j.Root() && !residual && all && size > 0 {
		j.warnUnseen()
	}
	return j.AtRoot(func() error { return w.Commit() })
}

// round is what the ranks hold of one round of groups, this one data from an element of
// its own traces on, as one vector; first is the trace, in the order of shots, at an
// element of it.
func (j *Job) round(lo int, data device.Buf) (v *dist.Vector, first func(at int) int, err error) {
	nt := j.Survey.NT
	mine := binary.LittleEndian.AppendUint64(nil, uint64(data.Len()))
	mine = binary.LittleEndian.AppendUint64(mine, uint64(j.mine.First*nt+lo))
	all, err := j.shots.Host().AllGather(mine)
	if err != nil {
		return nil, nil, err
	}
	l := &dist.Layout{N: data.Len(), Type: j.Type(), Shards: j.shots, Copies: j.blocks}
	from, to := make([]int, len(all)), make([]int, len(all))
	total := 0
	for row, b := range all {
		if row == j.shots.Rank() {
			l.Off = total
		}
		from[row], to[row] = total, int(binary.LittleEndian.Uint64(b[8:]))
		total += int(binary.LittleEndian.Uint64(b))
	}
	l.Shape = []int{total}
	return &dist.Vector{Layout: l, Buf: data}, func(at int) int {
		row := sort.Search(len(from), func(i int) bool { return from[i] > at }) - 1
		return (to[row] + at - from[row]) / nt
	}, nil
}
