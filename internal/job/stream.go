package job

import (
	"context"
	"encoding/binary"
	"sort"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// writeStream writes the traces that an image predicts, or with residual the recorded
// ones less those, as they are computed.
func (j *Job) writeStream(ctx context.Context, op *Operator, x *dist.Vector, residual bool, path string, src Source) error {
	size, err := dist.Norm(x)
	if err != nil {
		return err
	}
	all := true // zero
	err = j.writeSurvey(path, src, func(write func(first int, traces []float32) error) error {
		return op.Stream.Predict(ctx, x, residual, func(lo int, data device.Buf) error {
			v, first, err := j.round(lo, data)
			if err != nil {
				return err
			}
			return j.Gather(v, j.Survey.NT, func(at int, traces []float32) error {
				all = all && zero(traces)
				return write(first(at), traces)
			})
		})
	})
	if err == nil && j.Root() && !residual && all && size > 0 {
		j.warnUnseen()
	}
	return err
}

// round is what the ranks hold of one round of groups, this one data from an element of
// its own traces on, as one vector; first is the trace, in the order of shots, at an
// element of it.
func (j *Job) round(lo int, data device.Buf) (v *dist.Vector, first func(at int) int, err error) {
	nt := j.Survey.NT
	mine := binary.LittleEndian.AppendUint64(nil, uint64(data.Len()))
	mine = binary.LittleEndian.AppendUint64(mine, uint64(j.share.First*nt+lo))
	all, err := j.ShotAxis.Host().AllGather(mine)
	if err != nil {
		return nil, nil, err
	}
	l := &dist.Layout{N: data.Len(), Type: j.Type(), Shards: j.ShotAxis, Copies: j.BlockAxis}
	from, to := make([]int, len(all)), make([]int, len(all))
	total := 0
	for row, b := range all {
		if row == j.ShotAxis.Rank() {
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
