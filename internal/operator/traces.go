package operator

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/inputs"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Traces are this rank's, in the order of shots, and what one reading of them told. With
// data.read = "stream" a rank never holds all of them: they are read group by group, a
// group being some shots, whenever a gradient is computed.
type Traces struct {
	*plan.Plan // without what the traces tell
	*Here
	share *plan.Share

	Samples []float32     // [trace, NT] until Data moves them; nil where they are streamed
	Weight  []float64     // of each trace; nil: all 1
	Took    time.Duration // one reading of streamed traces

	file  *h5.SurveyReader // open where they are streamed
	rooms []device.Buf     // that groups were read into last, of no reader now

	dead int     // of them
	peak float32 // largest magnitude of their samples

	// Of streamed traces: of each shot the square of the norm of W d, and the sums of the
	// largest samples of the traces of W²d and W d.
	squares, largest, once []float64
	norm, sum, sumOnce     float64 // of all ranks, added up without rounding
}

// ReadTraces reads this rank's traces, to hold them or, where cuts are the groups that they
// are streamed in (kirchhoff.NewStream), to find out about them; and what has to be known
// of those of all ranks. It is collective.
func ReadTraces(p *plan.Plan, h *Here, s *plan.Share, cuts []int) (*Traces, plan.Found, error) {
	t := &Traces{Plan: p, Here: h, share: s}
	file, made, err := p.OpenTraces(h.Ranks, p.Config)
	if err := h.Together(err); err != nil {
		return nil, plan.Found{}, err
	}
	if cuts != nil {
		t.file = file
		err = t.lookAhead(cuts)
	} else {
		err = t.hold(file)
	}
	found := plan.Found{Made: made}
	if err = h.Together(err); err == nil {
		err = t.knowAll(&found)
	}
	if err != nil {
		t.Close()
		return nil, found, err
	}
	return t, found, nil
}

// Close closes the file of streamed traces.
func (t *Traces) Close() {
	if t != nil && t.file != nil {
		t.file.Close()
		t.file = nil
	}
}

// hold reads the traces at once.
func (t *Traces) hold(file *h5.SurveyReader) error {
	defer file.Close()
	defer t.Report.Time("read survey")()
	nt := t.Survey.NT
	t.Samples = make([]float32, t.share.Traces()*nt)
	if err := file.ReadTraceList(t.Samples, t.InFile(t.list(0, t.share.Traces()))); err != nil {
		return err
	}
	end := t.Report.Time("whiten")
	t.White.Traces(t.Samples, nt, t.Threads)
	end()
	w := make([]float32, nt)
	for i, n := range t.list(0, t.share.Traces()) {
		t.look(int(n), t.Samples[i*nt:(i+1)*nt], w)
	}
	return nil
}

// lookAhead reads the traces once before they are streamed.
func (t *Traces) lookAhead(cuts []int) error {
	defer t.Report.Time("read survey")()
	began, nt := time.Now(), t.Survey.NT
	r, err := t.read(context.Background(), cuts)
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
		for ; shot < len(t.share.Shots) && t.share.Shots[shot] < cuts[i+1]; shot++ {
			first, last := t.share.Shot(shot)
			if err := t.lookAtShot(first, data.Slice((first-cuts[i])*nt, (last-first)*nt)); err != nil {
				return err
			}
		}
	}
	t.Took = time.Since(began)
	return nil
}

// look takes in trace n of the survey, the next of this rank's, and leaves the weights of
// its samples by the mute in w. The trace's own weight is known but for a factor common to
// all.
func (t *Traces) look(n int, trace, w []float32) (weight float64) {
	silent := survey.Silent(trace)
	if silent {
		t.dead++
	}
	t.peak = max(t.peak, survey.Peak(trace))
	t.Mute.Fill(w, t.Survey.Offset(n), 1)
	energy, share := 0.0, 0.0
	for k, x := range trace {
		v, w := float64(x), float64(w[k])
		energy += w * w * v * v
		share += w * w
	}
	d := t.Config.Data
	switch {
	case share == 0, d.Dead == "mask" && silent:
	case d.Weights == "survey":
		weight = float64(t.Survey.Weight[n])
	case d.Weights == "rms" && energy == 0:
	case d.Weights == "rms":
		weight = math.Sqrt(share / energy)
	default:
		weight = 1
	}
	t.Weight = append(t.Weight, weight)
	return weight
}

// lookAtShot takes in the traces of a shot, the first of which is the given one of this
// rank's, and leaves W d of them.
func (t *Traces) lookAtShot(first int, data device.Buf) error {
	nt, x := t.Survey.NT, device.Slice[float32](data)
	w := make([]float32, nt)
	largest, once := 0.0, 0.0
	for i, n := range t.list(first, len(x)/nt) {
		trace := x[i*nt : (i+1)*nt]
		weight := t.look(int(n), trace, w)
		a, b := 0.0, 0.0
		for k, v := range trace {
			trace[k] = v * w[k] * float32(weight)
			wd := math.Abs(float64(trace[k]))
			a, b = max(a, wd), max(b, wd*float64(w[k]))
		}
		once += a
		largest += b * weight
	}
	dots, err := t.Device.Dots([2]device.Buf{data, data})
	if err != nil {
		return err
	}
	t.squares, t.largest, t.once = append(t.squares, real(dots[0])), append(t.largest, largest), append(t.once, once)
	return nil
}

// list is the numbers in the survey of n of this rank's traces, from one on.
func (t *Traces) list(first, n int) []int32 {
	return t.Shots.List(t.share.First+first, t.share.First+first+n)
}

// knowAll finds out about the traces of all ranks, and refuses those of which nothing can
// be made. It is collective.
func (t *Traces) knowAll(f *plan.Found) error {
	file := t.Config.Survey.File.File
	dead, peak := []float64{float64(t.dead)}, []float64{float64(t.peak)}
	if err := t.ShotAxis.Host().AllReduce(dead, comm.Sum); err != nil {
		return err
	}
	if err := t.ShotAxis.Host().AllReduce(peak, comm.Max); err != nil {
		return err
	}
	if f.Dead = int(dead[0]); f.Dead == t.Shots.Traces() {
		what := fmt.Sprintf("all %d traces are", f.Dead)
		if f.Dead == 1 {
			what = "its only trace is"
		}
		return status.Input(fmt.Errorf("%s: %s dead (every sample is zero)", file, what))
	}
	if err := inputs.CheckTraces(file, peak[0], t.Wavelet); err != nil {
		return err
	}
	scale := 1.0
	if p := t.Knowing(*f); !p.Weighted() {
		t.Weight = nil
	} else {
		sum, live, err := t.sumWeights()
		if err != nil {
			return err
		}
		if live == 0 {
			return status.Input(fmt.Errorf("%s: no sample counts: each of %s is dead, muted or has weight 0", file, readable.Count(t.Shots.Traces(), "trace")))
		}
		if t.Config.Data.Weights == "rms" {
			scale = float64(live) / sum
			for i := range t.Weight {
				t.Weight[i] *= scale
			}
		}
		f.Live = live
	}
	if !t.Held.Stream {
		return nil
	}
	for _, s := range []struct {
		to   *float64
		of   []float64
		unit float64
	}{{&t.norm, t.squares, scale * scale}, {&t.sum, t.largest, scale * scale}, {&t.sumOnce, t.once, scale}} {
		v, err := dist.SumExactly(t.ShotAxis, s.of)
		if err != nil {
			return err
		}
		*s.to = v * s.unit
	}
	t.norm = math.Sqrt(t.norm)
	return nil
}

// sumWeights adds up the traces' weights of all ranks, and counts those that are not
// zero: shot by shot, so that the sum has the same bits on any number of ranks.
func (t *Traces) sumWeights() (sum float64, live int, err error) {
	var own []byte
	for i := range t.share.Shots {
		first, last := t.share.Shot(i)
		of, n := 0.0, uint64(0)
		for _, w := range t.Weight[first:last] {
			if of += w; w > 0 {
				n++
			}
		}
		own = binary.LittleEndian.AppendUint64(own, math.Float64bits(of))
		own = binary.LittleEndian.AppendUint64(own, n)
	}
	all, err := t.ShotAxis.Host().AllGather(own)
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

// reader reads groups of this rank's traces ahead of whoever takes them, into two buffers
// in turn.
type reader struct {
	traces *Traces
	rooms  []device.Buf
	full   chan group
	stop   context.CancelFunc
}

// group is one as it was read.
type group struct {
	data device.Buf
	err  error
}

// read begins to read this rank's traces in the given groups.
func (t *Traces) read(ctx context.Context, cuts []int) (dist.Reader, error) {
	r := &reader{traces: t, rooms: t.rooms, full: make(chan group)}
	t.rooms = nil
	if n := longest(cuts) * t.Survey.NT; len(r.rooms) == 0 || r.rooms[0].Len() < n {
		r.rooms = nil
		for range 2 {
			room, err := t.Device.Alloc(n, device.F32)
			if err != nil {
				return nil, err
			}
			r.rooms = append(r.rooms, room)
		}
	}
	ctx, r.stop = context.WithCancel(ctx)
	go func() {
		defer close(r.full)
		for i := 0; i < len(cuts)-1 && ctx.Err() == nil; i++ {
			// Whoever took group i−1 has given back the buffer of the one before.
			data := r.rooms[i%2].Slice(0, (cuts[i+1]-cuts[i])*t.Survey.NT)
			err := t.readGroup(device.Slice[float32](data), cuts[i])
			select {
			case r.full <- group{data, err}:
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

// readGroup reads some of this rank's traces, from the given one on.
func (t *Traces) readGroup(dst []float32, first int) error {
	nt := t.Survey.NT
	if err := t.file.ReadTraceList(dst, t.InFile(t.list(first, len(dst)/nt))); err != nil {
		return inputs.FileError(err)
	}
	t.White.Traces(dst, nt, t.Threads)
	return inputs.FileError(t.file.Unchanged())
}

// Next implements dist.Reader.
func (r *reader) Next() (device.Buf, error) {
	g, ok := <-r.full
	if !ok {
		return nil, context.Canceled
	}
	return g.data, g.err
}

// Close implements dist.Reader. It waits for what is being read. Its buffers are the next
// reader's.
func (r *reader) Close() {
	r.stop()
	for range r.full {
	}
	r.traces.rooms = r.rooms
}

// weigh multiplies samples of this rank, from one on, by their weights.
func (t *Traces) weigh(lo int, data device.Buf) error {
	m, nt := t.Mute, t.Survey.NT
	x, first := device.Slice[float32](data), lo/nt
	list := t.list(first, len(x)/nt)
	w := make([]float32, nt)
	for i, n := range list {
		m.Fill(w, t.Survey.Offset(int(n)), t.Weight[first+i])
		for k := range w {
			x[i*nt+k] *= w[k]
		}
	}
	return nil
}

// longest is the number of traces in the largest group.
func longest(cuts []int) (most int) {
	for i := range len(cuts) - 1 {
		most = max(most, cuts[i+1]-cuts[i])
	}
	return most
}
