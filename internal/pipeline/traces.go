package pipeline

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/sync/errgroup"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/coherence"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// RankTraces are this rank's, in the order of shots, and what one reading of them told. With
// data.read = "stream" a rank never holds all of them: they are read group by group, a
// group being some shots, whenever a gradient is computed.
type RankTraces struct {
	plan    *Plan // without what the traces tell
	process *Process
	share   *Share

	Samples []float32     // [trace, NT] until Data moves them; nil where they are streamed
	Weight  []float64     // of each trace; nil: all 1
	Took    time.Duration // one reading of streamed traces

	coherence *coherence.Weights // of the samples, which Weigh multiplies by; nil: all 1

	file    *h5.SurveyReader // open where they are streamed
	rooms   []device.Buf     // of the host, that groups were read into last, of no reader now
	feed    *gpu.Feed        // of groups to the card; nil without one
	weights *groupWeights    // of a group, on the card
	done    []func()         // free what Close has to free

	counts             *TraceWeights
	weighs             bool        // weights may differ from 1, or traces are streamed
	shots              []shotTally // of this rank's
	norm, sum, sumOnce float64     // of streamed traces of all ranks, added up without rounding
}

// shotTally holds the counts and sums over the traces of a shot.
type shotTally struct {
	Dead, Live float64 // traces without a sample other than zero, with a weight above 0
	Peak       float64 // largest magnitude of their samples

	// For streamed traces: the square of the norm of W d, and the sums of the largest
	// samples of the traces of W²d and W d.
	Squares, Largest, Once float64
}

// ReadTraces reads this rank's traces and gathers what must be known about those of all
// ranks. It holds the traces unless cuts gives the groups in which they are streamed
// (kirchhoff.Work). It is collective.
func ReadTraces(p *Plan, h *Process, s *Share, cuts []int) (*RankTraces, Found, error) {
	t := &RankTraces{plan: p, process: h, share: s}
	t.weighs = p.Held.Stream || p.Knowing(Found{Dead: 1}).Weighted()
	file, made, err := p.Inputs.OpenTraces(h.Ranks, p.Config)
	if err := h.Ranks.Together(err); err != nil {
		return nil, Found{}, err
	}
	t.counts = NewTraceWeights(p.Config.Data, p.Geometry.Survey)
	if cuts != nil {
		t.file = file
		err = t.readOnce(cuts)
	} else {
		err = t.readAll(file)
	}
	found := Found{Made: made}
	if err = h.Ranks.Together(err); err == nil {
		err = t.addTallies(&found)
	}
	if err != nil {
		t.Close()
		return nil, found, err
	}
	return t, found, nil
}

// Close closes the file of streamed traces, and frees the buffers that brought them to the card.
func (t *RankTraces) Close() {
	if t == nil {
		return
	}
	if t.file != nil {
		t.file.Close()
		t.file = nil
	}
	for _, f := range t.done {
		f()
	}
	t.done, t.rooms, t.feed, t.weights = nil, nil, nil, nil
}

// readAll reads the traces at once.
func (t *RankTraces) readAll(file *h5.SurveyReader) error {
	defer file.Close()
	defer t.process.Ranks.Report.Time("read survey")()
	nt := t.plan.Geometry.Survey.NT
	t.Samples = make([]float32, t.share.Traces()*nt)
	if err := file.ReadTraceList(t.Samples, t.plan.Inputs.InFile(t.listTraces(0, t.share.Traces()))); err != nil {
		return err
	}
	if t.plan.White != nil {
		end := t.process.Ranks.Report.Time("whiten")
		t.plan.White.Traces(t.Samples, nt, t.plan.Hardware.Threads)
		end()
	}
	for shot := range t.share.Shots {
		first, last := t.share.Shot(shot)
		if err := t.tallyShot(first, device.Wrap(t.process.Host, t.Samples[first*nt:last*nt])); err != nil {
			return err
		}
	}
	return nil
}

// readOnce reads the traces once before they are streamed.
func (t *RankTraces) readOnce(cuts []int) error {
	defer t.process.Ranks.Report.Time("read survey")()
	began, nt := time.Now(), t.plan.Geometry.Survey.NT
	folder := filepath.Dir(t.plan.Config.Output.File.File)
	if size, err := t.file.Arrange(t.plan.Inputs.InFile(t.listTraces(0, t.share.Traces())), cuts, folder); err != nil {
		return err
	} else if size > 0 {
		t.process.Ranks.Report.Infof("traces copied in the order of shots, %s in %s: chunks of %s hold traces of many shots", humanize.IBytes(uint64(size)), folder, t.plan.Config.Survey.File.File)
	}
	next, stop, err := t.startReading(context.Background(), cuts, nil)
	if err != nil {
		return err
	}
	defer stop()
	shot := 0
	for i := range len(cuts) - 1 {
		data, err := next()
		if err != nil {
			return err
		}
		for ; shot < len(t.share.Shots) && t.share.Shots[shot] < cuts[i+1]; shot++ {
			first, last := t.share.Shot(shot)
			if err := t.tallyShot(first, data.Slice((first-cuts[i])*nt, (last-first)*nt)); err != nil {
				return err
			}
		}
	}
	t.Took = time.Since(began)
	return nil
}

// tallyShot tallies the traces of a shot, which begin with the given one of this rank's. It
// replaces streamed traces by W d.
func (t *RankTraces) tallyShot(first int, data device.Buf) error {
	nt, x := t.plan.Geometry.Survey.NT, device.Slice[float32](data)
	w := make([]float32, nt)
	var of shotTally
	for i, n := range t.listTraces(first, len(x)/nt) {
		trace := x[i*nt : (i+1)*nt]
		weight := 1.0
		if t.weighs {
			weight = t.counts.Of(int(n), trace, w)
			t.Weight = append(t.Weight, weight)
		}
		if weight > 0 {
			of.Live++
		}
		if survey.Silent(trace) {
			of.Dead++
		}
		of.Peak = max(of.Peak, float64(survey.Peak(trace)))
		if !t.plan.Held.Stream {
			continue
		}
		a, b := 0.0, 0.0
		for k, v := range trace {
			trace[k] = v * w[k] * float32(weight)
			wd := math.Abs(float64(trace[k]))
			a, b = max(a, wd), max(b, wd*float64(w[k]))
		}
		of.Once += a
		of.Largest += b * weight
	}
	if t.plan.Held.Stream {
		dots, err := t.process.Host.Dots([2]device.Buf{data, data})
		if err != nil {
			return err
		}
		of.Squares = dots[0]
	}
	t.shots = append(t.shots, of)
	return nil
}

// listTraces returns the numbers in the survey of n of this rank's traces, beginning at first.
func (t *RankTraces) listTraces(first, n int) []int32 {
	return t.plan.Geometry.Shots.List(t.share.First+first, t.share.First+first+n)
}

// gatherTallies returns what the shots of all ranks tell, in their order: the same on each.
func (t *RankTraces) gatherTallies() (all []shotTally, err error) {
	own, err := binary.Append(nil, binary.LittleEndian, t.shots)
	if err != nil {
		return nil, err
	}
	parts, err := t.process.ShotAxis.Host().AllGather(own)
	for _, part := range parts {
		of := make([]shotTally, len(part)/binary.Size(shotTally{}))
		if _, err := binary.Decode(part, binary.LittleEndian, of); err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	return all, err
}

// addTallies adds up what the traces of all ranks tell, and refuses traces that cannot make an
// image. It is collective.
func (t *RankTraces) addTallies(f *Found) error {
	shots, err := t.gatherTallies()
	if err != nil {
		return err
	}
	var all shotTally
	var squares, largest, once []float64
	for _, s := range shots {
		all.Dead, all.Live = all.Dead+s.Dead, all.Live+s.Live
		all.Peak = max(all.Peak, s.Peak)
		squares, largest, once = append(squares, s.Squares), append(largest, s.Largest), append(once, s.Once)
	}
	file := t.plan.Config.Survey.File.File
	if f.Dead = int(all.Dead); f.Dead == t.plan.Geometry.Shots.Traces() {
		what := fmt.Sprintf("all %d traces are", f.Dead)
		if f.Dead == 1 {
			what = "its only trace is"
		}
		return status.Input(fmt.Errorf("%s: %s dead (every sample is zero)", file, what))
	}
	if err := CheckTraces(file, all.Peak, t.plan.Wavelet); err != nil {
		return err
	}
	if !t.plan.Knowing(*f).Weighted() {
		t.Weight = nil
	} else {
		if all.Live == 0 {
			return status.Input(fmt.Errorf("%s: no sample counts: each of %s is dead, muted or has weight 0", file, readable.Count(t.plan.Geometry.Shots.Traces(), "trace")))
		}
		f.Live = int(all.Live)
	}
	if !t.plan.Held.Stream {
		return nil
	}
	for to, of := range map[*float64][]float64{&t.norm: squares, &t.sum: largest, &t.sumOnce: once} {
		if *to, err = dist.SumExactly(comm.Self(), of, nil); err != nil {
			return err
		}
	}
	t.norm = math.Sqrt(t.norm)
	return nil
}

// startReading begins to read this rank's traces in the given groups, ahead of whoever takes them
// with next, into two buffers in turn. With a feed they are on the card then. stop waits for
// what is being read. The buffers are the next reader's.
func (t *RankTraces) startReading(ctx context.Context, cuts []int, feed *gpu.Feed) (next func() (device.Buf, error), stop func(), err error) {
	type group struct {
		data device.Buf
		err  error
	}
	rooms, full := t.rooms, make(chan group)
	t.rooms = nil
	longest, _ := FindTwoLongest(cuts)
	if n := longest * t.plan.Geometry.Survey.NT; len(rooms) == 0 || rooms[0].Len() < n {
		if rooms, err = t.allocateBuffers(n); err != nil {
			return nil, nil, err
		}
	}
	if feed != nil {
		feed.Start()
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer close(full)
		for i := 0; i < len(cuts)-1 && ctx.Err() == nil; i++ {
			// The reader of group i−1 has freed the buffer of the group before it.
			data := rooms[i%2].Slice(0, (cuts[i+1]-cuts[i])*t.plan.Geometry.Survey.NT)
			err := t.readGroup(device.Slice[float32](data), cuts[i])
			if err == nil && feed != nil {
				data, err = feed.Send(data)
			}
			select {
			case full <- group{data, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	next = func() (device.Buf, error) {
		if feed != nil {
			feed.Take()
		}
		g, ok := <-full
		if !ok {
			return nil, context.Canceled
		}
		return g.data, g.err
	}
	return next, func() {
		cancel()
		for range full {
		}
		t.rooms = rooms
	}, nil
}

// readGroup reads some of this rank's traces, from the given one on.
func (t *RankTraces) readGroup(dst []float32, first int) error {
	nt := t.plan.Geometry.Survey.NT
	if err := t.file.ReadTraceList(dst, t.plan.Inputs.InFile(t.listTraces(first, len(dst)/nt))); err != nil {
		return FileError(err)
	}
	t.plan.White.Traces(dst, nt, t.plan.Hardware.Threads)
	return FileError(t.file.Unchanged())
}

// allocateBuffers makes two buffers of n samples on the host, which a card copies from by itself.
func (t *RankTraces) allocateBuffers(n int) (rooms []device.Buf, err error) {
	for range 2 {
		var room device.Buf
		if t.process.Card == nil {
			room, err = t.process.Host.Alloc(n, device.F32)
		} else {
			var done func()
			if room, done, err = t.process.Card.Stage(n, device.F32); err == nil {
				t.done = append(t.done, done)
			}
		}
		if err != nil {
			return nil, err
		}
		rooms = append(rooms, room)
	}
	return rooms, nil
}

// prepareCard makes ready what brings groups of at most n samples to the card.
func (t *RankTraces) prepareCard(n int) (err error) {
	if t.feed, err = t.process.Card.NewFeed(n, device.F32); err != nil {
		return err
	}
	t.done = append(t.done, t.feed.Close)
	if t.Weight == nil {
		return nil
	}
	w, err := t.process.Card.Alloc(n, device.F32)
	t.weights = &groupWeights{at: -1, room: w}
	return err
}

// groupWeights are the weights of the samples of a group, in a room on the card. They serve both times
// that a pass weighs the group.
type groupWeights struct {
	at   int // the group's first sample; -1: none
	room device.Buf
}

// WeighBy has Weigh multiply samples by further weights from now on.
func (t *RankTraces) WeighBy(c *coherence.Weights) {
	t.coherence = c
	if t.weights != nil {
		t.weights.at = -1
	}
}

// Coherence are the weights of WeighBy, nil for none.
func (t *RankTraces) Coherence() *coherence.Weights { return t.coherence }

// Weigh multiplies this rank's samples from lo on by their weights.
func (t *RankTraces) Weigh(lo int, data device.Buf) error {
	if t.weights == nil {
		t.multiplyByWeights(lo, device.Slice[float32](data))
		return nil
	}
	w := t.weights.room.Slice(0, data.Len())
	if t.weights.at != lo {
		t.weights.at = -1
		nt := t.plan.Geometry.Survey.NT
		if err := device.Upload(w, t.Weights(lo/nt, data.Len()/nt)); err != nil {
			return err
		}
		t.weights.at = lo
	}
	return t.process.Device.Multiply(data, w)
}

// Weights returns the weights of n of this rank's traces from first on, [n, NT].
func (t *RankTraces) Weights(first, n int) []float32 {
	w := slices.Repeat([]float32{1}, n*t.plan.Geometry.Survey.NT)
	t.multiplyByWeights(first*t.plan.Geometry.Survey.NT, w)
	return w
}

// multiplyByWeights multiplies samples on the host.
func (t *RankTraces) multiplyByWeights(lo int, x []float32) {
	m, nt := t.plan.Mute, t.plan.Geometry.Survey.NT
	first := lo / nt
	list := t.listTraces(first, len(x)/nt)
	var group errgroup.Group
	each := len(list)/t.plan.Hardware.Threads + 1
	for from := 0; from < len(list); from += each {
		group.Go(func() error {
			w := make([]float32, nt)
			for i := from; i < min(from+each, len(list)); i++ {
				whole := 1.0
				if t.Weight != nil {
					whole = t.Weight[first+i]
				}
				m.Fill(w, t.plan.Geometry.Survey.Offset(int(list[i])), whole)
				if t.coherence != nil {
					t.coherence.Multiply(w, first+i)
				}
				for k := range w {
					x[i*nt+k] *= w[k]
				}
			}
			return nil
		})
	}
	group.Wait() // nothing fails
}
