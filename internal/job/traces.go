package job

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/forecast"
	"github.com/kirchhoff-lsm/lsm/internal/inputs"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// traces are this rank's, in the order of shots, and what one reading of them told. With
// data.read = "stream" a rank never holds all of them: they are read group by group, a
// group being some shots, whenever a gradient is computed.
type traces struct {
	held      []float32         // [trace, NT] until Data moves them; nil where they are streamed
	recording *inputs.Recording // open where they are streamed
	rooms     []device.Buf      // that groups were read into last, of no reader now

	weight []float64     // of each trace; nil: all 1
	took   time.Duration // one reading of them

	dead int     // of them
	peak float32 // largest magnitude of their samples

	// Of each shot of streamed traces: the square of the norm of W d, and the sums of
	// the largest samples of the traces of W²d and W d.
	squares, largest, once []float64

	// The same of all ranks, added up without rounding: the norm itself, and the sums.
	norm, sum, sumOnce float64
}

// readTraces reads this rank's traces, to hold them or to find out about them, and what
// has to be known of those of all ranks.
func (j *Job) readTraces() error {
	rec, err := j.OpenTraces(j.Ranks, j.Config)
	if err := j.Together(err); err != nil {
		return err
	}
	if j.Held.Stream {
		j.traces.recording = rec
		err = j.lookAhead()
	} else {
		err = j.hold(rec)
	}
	if err := j.Together(err); err != nil {
		return err
	}
	return j.knowAll(plan.Found{Made: rec.Made})
}

// hold reads the traces at once.
func (j *Job) hold(rec *inputs.Recording) error {
	defer rec.Close()
	defer j.Report.Time("read survey")()
	nt := j.Survey.NT
	j.traces.held = make([]float32, j.mine.Traces()*nt)
	if err := rec.Read(j.traces.held, j.Shots.List(j.mine.First, j.mine.Last)); err != nil {
		return err
	}
	end := j.Report.Time("whiten")
	j.White.Traces(j.traces.held, nt, j.Threads)
	end()
	w := make([]float32, nt)
	for i, n := range j.Shots.List(j.mine.First, j.mine.Last) {
		j.look(int(n), j.traces.held[i*nt:(i+1)*nt], w)
	}
	return nil
}

// lookAhead reads the traces once before they are streamed.
func (j *Job) lookAhead() error {
	defer j.Report.Time("read survey")()
	began, nt := time.Now(), j.Survey.NT
	cuts := j.Memory().Groups
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
		for ; shot < len(j.mine.Shots) && j.mine.Shots[shot] < cuts[i+1]; shot++ {
			first, last := j.mine.Shot(shot)
			if err := j.lookAtShot(first, data.Slice((first-cuts[i])*nt, (last-first)*nt)); err != nil {
				return err
			}
		}
	}
	j.traces.took = time.Since(began)
	return nil
}

// look takes in trace n of the survey, the next of this rank's, and leaves the weights of
// its samples by the mute in w. The trace's own weight is known but for a factor common to
// all.
func (j *Job) look(n int, trace, w []float32) (weight float64) {
	silent := survey.Silent(trace)
	if silent {
		j.traces.dead++
	}
	j.traces.peak = max(j.traces.peak, survey.Peak(trace))
	j.Mute.Fill(w, j.Survey.Offset(n), 1)
	energy, share := 0.0, 0.0
	for k, x := range trace {
		v, w := float64(x), float64(w[k])
		energy += w * w * v * v
		share += w * w
	}
	d := j.Config.Data
	switch {
	case share == 0, d.Dead == "mask" && silent:
	case d.Weights == "survey":
		weight = float64(j.Survey.Weight[n])
	case d.Weights == "rms" && energy == 0:
	case d.Weights == "rms":
		weight = math.Sqrt(share / energy)
	default:
		weight = 1
	}
	j.traces.weight = append(j.traces.weight, weight)
	return weight
}

// lookAtShot takes in the traces of a shot, the first of which is the given one of this
// rank's, and leaves W d of them.
func (j *Job) lookAtShot(first int, data device.Buf) error {
	nt, x := j.Survey.NT, device.Slice[float32](data)
	w := make([]float32, nt)
	largest, once := 0.0, 0.0
	for i, n := range j.list(first, len(x)/nt) {
		trace := x[i*nt : (i+1)*nt]
		weight := j.look(int(n), trace, w)
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
	j.traces.squares, j.traces.largest, j.traces.once = append(j.traces.squares, real(dots[0])), append(j.traces.largest, largest), append(j.traces.once, once)
	return nil
}

// list is the numbers in the survey of n of this rank's traces, from one on.
func (j *Job) list(first, n int) []int32 {
	return j.Shots.List(j.mine.First+first, j.mine.First+first+n)
}

// knowAll finds out about the traces of all ranks, and refuses those of which nothing can
// be made. It is collective.
func (j *Job) knowAll(f plan.Found) error {
	file := j.Config.Survey.File.File
	dead, peak := []float64{float64(j.traces.dead)}, []float64{float64(j.traces.peak)}
	if err := j.shots.Host().AllReduce(dead, comm.Sum); err != nil {
		return err
	}
	if err := j.shots.Host().AllReduce(peak, comm.Max); err != nil {
		return err
	}
	if f.Dead = int(dead[0]); f.Dead == j.Shots.Traces() {
		what := fmt.Sprintf("all %d traces are", f.Dead)
		if f.Dead == 1 {
			what = "its only trace is"
		}
		return status.Input(fmt.Errorf("%s: %s dead (every sample is zero)", file, what))
	}
	if err := inputs.CheckTraces(file, peak[0], j.Wavelet); err != nil {
		return err
	}
	scale := 1.0
	if j.Plan = j.Knowing(f); !j.Weighted() {
		j.traces.weight = nil
	} else {
		sum, live, err := j.sumWeights()
		if err != nil {
			return err
		}
		if live == 0 {
			return status.Input(fmt.Errorf("%s: no sample counts: each of %s is dead, muted or has weight 0", file, readable.Count(j.Shots.Traces(), "trace")))
		}
		if j.Config.Data.Weights == "rms" {
			scale = float64(live) / sum
			for i := range j.traces.weight {
				j.traces.weight[i] *= scale
			}
		}
		f.Live = live
		j.Plan = j.Knowing(f)
	}
	if !j.Held.Stream {
		return nil
	}
	for _, s := range []struct {
		to   *float64
		of   []float64
		unit float64
	}{{&j.traces.norm, j.traces.squares, scale * scale}, {&j.traces.sum, j.traces.largest, scale * scale}, {&j.traces.sumOnce, j.traces.once, scale}} {
		v, err := dist.SumExactly(j.shots, s.of)
		if err != nil {
			return err
		}
		*s.to = v * s.unit
	}
	j.traces.norm = math.Sqrt(j.traces.norm)
	return nil
}

// sumWeights adds up the traces' weights of all ranks, and counts those that are not
// zero: shot by shot, so that the sum has the same bits on any number of ranks.
func (j *Job) sumWeights() (sum float64, live int, err error) {
	var own []byte
	for i := range j.mine.Shots {
		first, last := j.mine.Shot(i)
		of, n := 0.0, uint64(0)
		for _, w := range j.traces.weight[first:last] {
			if of += w; w > 0 {
				n++
			}
		}
		own = binary.LittleEndian.AppendUint64(own, math.Float64bits(of))
		own = binary.LittleEndian.AppendUint64(own, n)
	}
	all, err := j.shots.Host().AllGather(own)
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

// Reading is how long one reading of this rank's streamed traces took.
func (j *Job) Reading() time.Duration { return j.traces.took }

// Data moves this rank's traces into a vector of the operator's range, nil where they
// are streamed.
func (j *Job) Data(op *Operator) (*dist.Vector, error) {
	if j.Found.Dead > 0 {
		j.Report.Warn(forecast.DeadText(j.Plan))
	}
	if j.Held.Stream {
		return nil, nil
	}
	data := j.traces.held
	j.traces.held = nil // the vector has them now
	if op.Range().Type == device.F32 && j.Device == device.Device(j.Host) {
		return &dist.Vector{Layout: op.Range(), Buf: device.Wrap(j.Host, data)}, nil
	}
	d, err := dist.NewVector(j.Device, op.Range())
	if err != nil {
		return nil, err
	}
	return d, device.Upload(d.Buf, data)
}

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
	r.bufs, j.traces.rooms = j.traces.rooms, nil
	if n := forecast.Longest(cuts) * j.Survey.NT; len(r.bufs) == 0 || r.bufs[0].Len() < n {
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
	go r.run(ctx, cuts)
	return r, nil
}

// run reads group after group into buffers that are free.
func (r *reader) run(ctx context.Context, cuts []int) {
	defer close(r.done)
	defer close(r.full)
	for i := range len(cuts) - 1 {
		var room device.Buf
		select {
		case room = <-r.free:
		case <-ctx.Done():
			return
		}
		data := room.Slice(0, (cuts[i+1]-cuts[i])*r.job.Survey.NT)
		err := r.job.readGroup(device.Slice[float32](data), cuts[i])
		select {
		case r.full <- filled{room, data, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// readGroup reads some of this rank's traces, from the given one on.
func (j *Job) readGroup(dst []float32, first int) error {
	nt := j.Survey.NT
	if err := j.traces.recording.Read(dst, j.list(first, len(dst)/nt)); err != nil {
		return err
	}
	j.White.Traces(dst, nt, j.Threads)
	return j.traces.recording.Unchanged()
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
	r.job.traces.rooms = r.bufs
}
