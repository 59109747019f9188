package job

import (
	"context"
	"math"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/coherence"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
)

// findCoherence finds the weights of data.weights = "coherence" from what an iterate x predicts, and puts
// them into the problem. It is collective and costs a forward.
func (s *solve) findCoherence(ctx context.Context, x *dist.Vector) error {
	defer s.Report.Time("coherence weights")()
	y, err := s.f.ReflectivityOf(x)
	if err != nil {
		return err
	}
	all := Surveys(s.Job)
	found := make([]*coherence.Weights, len(all))
	for i, j := range all {
		found[i] = coherence.New(plan.CoherenceWindows(j.Plan), j.Share.Traces(), j.Survey.NT)
	}
	var squares []float64 // of the norm of streamed data with their new weights
	err = s.Again(func(bool) error {
		if squares = nil; s.Held.Stream {
			return s.Stream.Compare(ctx, y, func(lo int, predicted, recorded device.Buf) error {
				more, err := findShots(s.Job, found[0], lo, predicted, recorded)
				squares = append(squares, more...)
				return err
			})
		}
		predicted, err := s.f.Predict(ctx, y)
		if err != nil {
			return err
		}
		defer predicted.Free()
		data := s.f.WeightedRows()
		for i, part := range predicted.Rows() {
			if err == nil {
				_, err = findShots(all[i], found[i], 0, part.Buf, data[i].Buf)
			}
		}
		return s.Together(err)
	})
	if err != nil {
		return err
	}
	if s.Held.Stream {
		square, err := dist.SumExactly(s.ShotAxis, squares, nil)
		if err != nil {
			return err
		}
		s.Stream.Reweighed(math.Sqrt(square))
	}
	s.collect()
	return s.useCoherence(found)
}

// findShots finds the weights of whole shots, of which these are prediction and record from sample lo
// of this rank's on. It returns the sum of squares of each record with its new weights.
func findShots(j *Job, c *coherence.Weights, lo int, predicted, recorded device.Buf) (squares []float64, err error) {
	nt, w := j.Survey.NT, plan.CoherenceWindows(j.Plan)
	for shot := range j.Share.Shots {
		first, last := j.Share.Shot(shot)
		at, n := first*nt-lo, (last-first)*nt
		if at < 0 || at+n > predicted.Len() {
			continue
		}
		var traces [2][]float32
		for i, buf := range []device.Buf{predicted, recorded} {
			if traces[i], err = inSingle(buf.Slice(at, n)); err != nil {
				return nil, err
			}
		}
		c.Find(w, j.Survey, j.Shots.List(j.Share.First+first, j.Share.First+last), first, traces[0], traces[1])
		square := 0.0
		for trace := first; trace < last; trace++ {
			x := traces[1][(trace-first)*nt:][:nt]
			c.Multiply(x, trace)
			for _, v := range x {
				square += float64(v) * float64(v)
			}
		}
		squares = append(squares, square)
	}
	return squares, nil
}

// inSingle copies a buffer to the host, in single precision.
func inSingle(b device.Buf) ([]float32, error) {
	x := make([]float32, b.Len())
	return x, device.Download(x, b)
}

// useCoherence multiplies the weights of the problem and its data by those that were found, one set for each survey.
func (s *solve) useCoherence(found []*coherence.Weights) error {
	all := Surveys(s.Job)
	mean, of := 0.0, 0.0
	for i, j := range all {
		for _, v := range found[i].Values {
			mean += float64(v) / coherence.One
		}
		of += float64(len(found[i].Values))
		j.Traces.WeighBy(found[i])
	}
	sums := []float64{mean, of}
	if err := s.ShotAxis.Host().AllReduce(sums, comm.Sum); err != nil {
		return err
	}
	s.Report.Infof("weights: by what the image predicts after %d iterations; their mean is %.2f", s.State().Iteration, sums[0]/max(1, sums[1]))
	if s.Held.Stream {
		return nil // which are weighed as they are read
	}
	var rows []*dist.Vector
	for i, j := range all {
		v, err := dist.NewVector(j.Device, j.Range())
		if err != nil {
			return err
		}
		if err := fillCoherence(j, found[i], v); err != nil {
			return err
		}
		rows = append(rows, v)
	}
	return s.f.Reweigh(rows)
}

// fillCoherence sets a vector of data to the weights of its samples.
func fillCoherence(j *Job, c *coherence.Weights, v *dist.Vector) error {
	nt := j.Survey.NT
	w := make([]float32, nt)
	for trace := range j.Share.Traces() {
		for k := range w {
			w[k] = 1
		}
		c.Multiply(w, trace)
		if err := device.Upload(v.Buf.Slice(trace*nt, nt), w); err != nil {
			return err
		}
	}
	return nil
}

// savedWeights are vectors with the values of all weights found, on the host, as checkpoints keep them. Where
// none were found they are for those of a checkpoint.
func (s *solve) savedWeights() map[string]*dist.Vector {
	list := map[string]*dist.Vector{}
	for i, j := range Surveys(s.Job) {
		c := coherence.New(plan.CoherenceWindows(j.Plan), 0, j.Survey.NT)
		l := &dist.Layout{
			Shape: []int{j.Shots.Traces(), c.Nodes}, Off: j.Share.First * c.Nodes, N: j.Share.Traces() * c.Nodes,
			Type: device.F32, Shards: j.ShotAxis, Copies: j.BlockAxis,
		}
		values := make([]float32, l.N)
		if of := j.Traces.Coherence(); of != nil {
			for k, v := range of.Values {
				values[k] = float32(v)
			}
		}
		list[savedNames[i]] = &dist.Vector{Layout: l, Buf: device.Wrap(j.Host, values)}
	}
	return list
}

// savedNames are the names of weights in a checkpoint, of the survey and of its repetition.
var savedNames = [2]string{"coherence", "coherence_monitor"}

// restoreWeights puts the weights of a checkpoint into the problem.
func (s *solve) restoreWeights(saved map[string]*dist.Vector) error {
	all := Surveys(s.Job)
	found := make([]*coherence.Weights, len(all))
	for i, j := range all {
		found[i] = coherence.New(plan.CoherenceWindows(j.Plan), j.Share.Traces(), j.Survey.NT)
		for k, v := range device.Slice[float32](saved[savedNames[i]].Buf) {
			found[i].Values[k] = uint16(v)
		}
	}
	return s.useCoherence(found)
}
