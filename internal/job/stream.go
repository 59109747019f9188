package job

import (
	"context"
	"encoding/binary"
	"math"
	"sort"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// With data.read = "stream" a rank never holds all of its traces. They are read group
// by group, a group being some shots, whenever a gradient is computed.

// cutShots are the first traces of groups of shots with at most the given number of
// traces, or of one shot, and the number of traces.
func cutShots(s share, most int) (cuts []int) {
	n := s.last - s.first
	for i, at := range s.shots {
		end := n
		if i+1 < len(s.shots) {
			end = s.shots[i+1]
		}
		if len(cuts) == 0 || end-cuts[len(cuts)-1] > most {
			cuts = append(cuts, at)
		}
	}
	return append(cuts, n)
}

// longest is the number of traces in the largest group.
func longest(cuts []int) (most int) {
	for i := range len(cuts) - 1 {
		most = max(most, cuts[i+1]-cuts[i])
	}
	return most
}

// secondLongest is the number of traces in the largest group but one, 0 where there is one
// group: of two buffers that groups are read into in turn, one holds no more.
func secondLongest(cuts []int) (second int64) {
	most := int64(0)
	for i := range len(cuts) - 1 {
		n := int64(cuts[i+1] - cuts[i])
		second = max(second, min(n, most))
		most = max(most, n)
	}
	return second
}

// Of a group: bytes that its traces take in all buffers, at most where a shot has less.
const (
	groupBytes   = 64 << 20
	groupBuffers = 3 // two that are read, one that is computed
)

// reader reads groups of this rank's traces ahead of whoever takes them.
type reader struct {
	job  *Job
	full chan filled
	free chan device.Buf
	last device.Buf
	bufs []device.Buf
	stop context.CancelFunc
	done chan struct{}
}

// filled is a group as it was read.
type filled struct {
	room, data device.Buf
	err        error
}

// read begins to read this rank's traces in the given groups.
func (j *Job) read(ctx context.Context, cuts []int) (dist.Reader, error) {
	ctx, stop := context.WithCancel(ctx)
	r := &reader{job: j, full: make(chan filled), free: make(chan device.Buf, 2), stop: stop, done: make(chan struct{})}
	r.bufs, j.rooms = j.rooms, nil
	if n := longest(cuts) * j.Survey.NT; len(r.bufs) == 0 || r.bufs[0].Len() < n {
		r.bufs = nil
		for range 2 {
			room, err := j.Device.Alloc(n, device.F32)
			if err != nil {
				stop()
				return nil, err
			}
			r.bufs = append(r.bufs, room)
		}
	}
	for _, room := range r.bufs {
		r.free <- room
	}
	go func() {
		defer close(r.done)
		defer close(r.full)
		for i := range len(cuts) - 1 {
			var room device.Buf
			select {
			case room = <-r.free:
			case <-ctx.Done():
				return
			}
			data := room.Slice(0, (cuts[i+1]-cuts[i])*j.Survey.NT)
			err := j.readTraces(device.Slice[float32](data), cuts[i])
			select {
			case r.full <- filled{room, data, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return r, nil
}

// readTraces reads some of this rank's traces, from the given one on.
func (j *Job) readTraces(dst []float32, first int) error {
	n := len(dst) / j.Survey.NT
	part := share{first: j.mine.first + first, last: j.mine.first + first + n}
	if err := j.traceFile.ReadTraceList(dst, j.inFile(j.traces(part))); err != nil {
		return FileError(err)
	}
	j.whitenAhead(dst)
	return FileError(j.traceFile.Unchanged())
}

// Next implements dist.Reader.
func (r *reader) Next() (device.Buf, error) {
	if r.last != nil {
		r.free <- r.last
		r.last = nil
	}
	f, ok := <-r.full
	if !ok {
		return nil, context.Canceled
	}
	r.last = f.room
	return f.data, f.err
}

// Close implements dist.Reader. It waits for what is being read. Its buffers are the next
// reader's.
func (r *reader) Close() {
	r.stop()
	<-r.done
	r.job.rooms = r.bufs
}

// surveyTraces reads all of this rank's traces once: counts the dead ones, and finds
// what has to be known of the data before they are streamed.
func (j *Job) surveyTraces() error {
	began, nt := time.Now(), j.Survey.NT
	defer func() { j.found.took = time.Since(began) }()
	cuts := j.Memory().groups
	r, err := j.read(context.Background(), cuts)
	if err != nil {
		return err
	}
	defer r.Close()
	shot := 0
	for i := range len(cuts) - 1 {
		data, err := r.Next()
		if err != nil {
			return err
		}
		for ; shot < len(j.mine.shots) && j.mine.shots[shot] < cuts[i+1]; shot++ {
			first, last := j.shot(shot)
			if err := j.found.look(j, first, data.Slice((first-cuts[i])*nt, (last-first)*nt)); err != nil {
				return err
			}
		}
	}
	return nil
}

// shot is the first trace of one of this rank's shots and that after its last.
func (j *Job) shot(i int) (first, last int) {
	if i+1 == len(j.mine.shots) {
		return j.mine.shots[i], j.mine.last - j.mine.first
	}
	return j.mine.shots[i], j.mine.shots[i+1]
}

// found is what one reading of the traces tells. Numbers are added up over all ranks
// without rounding: they are those of any partition.
type found struct {
	dead int     // traces of this rank
	peak float32 // largest magnitude of this rank's samples

	// Of each of this rank's shots: the square of the norm of W d, and the sums of the
	// largest samples of the traces of W²d and W d. Weights are those of weigh.
	weight                 []float64
	squares, largest, once []float64

	// Of all ranks, with weights times scale where that is not 0.
	scale              float64
	norm, sum, sumOnce float64

	took time.Duration // one reading of this rank's traces
}

// look takes in the traces of a shot, the first of which is the given one of this
// rank's, and leaves W d of them.
func (f *found) look(j *Job, first int, data device.Buf) error {
	m, nt := newMute(j.Config.Data, j.Survey), j.Survey.NT
	w := make([]float32, nt)
	x := device.Slice[float32](data)
	list := j.traces(share{first: j.mine.first + first, last: j.mine.first + first + len(x)/nt})
	largest, once := 0.0, 0.0
	for _, n := range list {
		trace := x[:nt]
		x = x[nt:]
		if survey.Silent(trace) {
			f.dead++
		}
		f.peak = max(f.peak, survey.Peak(trace))
		m.fill(w, j.Survey.Offset(int(n)), 1)
		weight := j.weigh(int(n), trace, w)
		f.weight = append(f.weight, weight)
		a, b := 0.0, 0.0
		for k, v := range trace {
			trace[k] = v * w[k] * float32(weight)
			wd := math.Abs(float64(trace[k]))
			a, b = max(a, wd), max(b, wd*float64(w[k]))
		}
		once += a
		largest += b * weight
	}
	dots, err := j.Device.Dots([2]device.Buf{data, data})
	if err != nil {
		return err
	}
	f.squares, f.largest, f.once = append(f.squares, real(dots[0])), append(f.largest, largest), append(f.once, once)
	return nil
}

// total adds up over all ranks.
func (f *found) total(c comm.Comm) error {
	if f.scale == 0 {
		f.scale = 1
	}
	for _, sum := range []struct {
		to   *float64
		of   []float64
		unit float64
	}{{&f.norm, f.squares, f.scale * f.scale}, {&f.sum, f.largest, f.scale * f.scale}, {&f.sumOnce, f.once, f.scale}} {
		v, err := dist.SumExactly(c, sum.of)
		if err != nil {
			return err
		}
		*sum.to = v * sum.unit
	}
	f.norm = math.Sqrt(f.norm)
	return nil
}

// weighGroup multiplies samples of this rank, from one on, by their weights.
func (j *Job) weighGroup(lo int, data device.Buf) error {
	m, nt := newMute(j.Config.Data, j.Survey), j.Survey.NT
	x, first := device.Slice[float32](data), lo/nt
	list := j.traces(share{first: j.mine.first + first, last: j.mine.first + first + len(x)/nt})
	w := make([]float32, nt)
	for i, n := range list {
		m.fill(w, j.Survey.Offset(int(n)), j.weight[first+i])
		for k := range w {
			x[i*nt+k] *= w[k]
		}
	}
	return nil
}

// readings is how often a streamed solve reads the traces.
func (j *Job) readings() int {
	every, n := j.Config.Solver.TrueResidualEvery, j.Config.Solver.Iterations
	if every == 0 || n == 0 {
		return 1
	}
	return 1 + (n+every-1)/every
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
		Largest:     j.found.sum,
		LargestOnce: j.found.sumOnce,
	}
	if j.weight != nil {
		o.Weigh = j.weighGroup
	}
	var err error
	op.stream, err = dist.NewStream(k, domain, rng, o)
	return err
}

// streamed is the least-squares problem of the traces.
type streamed struct {
	*dist.Stream
	norm float64
}

func (s *streamed) DataNorm() float64 { return s.norm }

func (s *streamed) Penalty(context.Context, *dist.Vector) (float64, error) { return 0, nil }

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
		return FileError(err)
	}
	if j.root() && !residual && all && size > 0 {
		j.warnUnseen()
	}
	return j.atRoot(func() error { return w.Commit() })
}

// round is what the ranks hold of one round of groups, this one data from an element of
// its own traces on, as one vector; first is the trace, in the order of shots, at an
// element of it.
func (j *Job) round(lo int, data device.Buf) (v *dist.Vector, first func(at int) int, err error) {
	nt := j.Survey.NT
	mine := binary.LittleEndian.AppendUint64(nil, uint64(data.Len()))
	mine = binary.LittleEndian.AppendUint64(mine, uint64(j.mine.first*nt+lo))
	all, err := j.shots.Host().AllGather(mine)
	if err != nil {
		return nil, nil, err
	}
	l := &dist.Layout{N: data.Len(), Type: j.elementType(), Shards: j.shots, Copies: j.blocks}
	from, to := make([]int, len(all)), make([]int, len(all))
	total := 0
	for row, b := range all {
		if row == j.row() {
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
