package pipeline

import (
	"context"
	"math"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/coherence"
)

// findCoherence finds the weights of data.weights = "coherence" from what an iterate x predicts, and puts
// them into the problem. It is collective and costs a forward.
func (s *solving) findCoherence(ctx context.Context, x *dist.Vector) error {
	defer s.op.process.Ranks.Report.Time("coherence weights")()
	y, err := s.f.ReflectivityOf(x)
	if err != nil {
		return err
	}
	found := coherence.New(CoherenceWindows(s.op.plan.Geometry, s.op.plan.Times, s.op.plan.Hardware.Threads), s.op.share.Traces(), s.op.plan.Geometry.Survey.NT)
	var squares []float64 // of the norm of streamed data with their new weights
	err = s.op.process.Again(func(bool) error {
		if squares = nil; s.op.plan.Held.Stream {
			return s.op.stream.Compare(ctx, y, func(lo int, predicted, recorded device.Buf) error {
				more, err := s.op.findShots(found, lo, predicted, recorded)
				squares = append(squares, more...)
				return err
			})
		}
		predicted, err := s.f.Setting.Predict(ctx, y)
		if err != nil {
			return err
		}
		defer predicted.Free()
		_, err = s.op.findShots(found, 0, predicted.Buf, s.f.Weighed().Buf)
		return s.op.process.Ranks.Together(err)
	})
	if err != nil {
		return err
	}
	if s.op.plan.Held.Stream {
		square, err := dist.SumExactly(s.op.process.ShotAxis, squares, nil)
		if err != nil {
			return err
		}
		s.op.stream.Reweighed(math.Sqrt(square))
	}
	s.collect()
	return s.useCoherence(found)
}

// findShots finds the weights of whole shots. predicted and recorded hold their traces, from this rank's
// sample lo on. It returns the sum of squares of each record with its new weights.
func (op *Operator) findShots(c *coherence.Weights, lo int, predicted, recorded device.Buf) (squares []float64, err error) {
	nt, w := op.plan.Geometry.Survey.NT, CoherenceWindows(op.plan.Geometry, op.plan.Times, op.plan.Hardware.Threads)
	for shot := range op.share.Shots {
		first, last := op.share.Shot(shot)
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
		c.Find(w, op.plan.Geometry.Survey, op.plan.Geometry.Shots.List(op.share.First+first, op.share.First+last), first, traces[0], traces[1])
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

// useCoherence multiplies the weights of the problem and its data by those that were found.
func (s *solving) useCoherence(found *coherence.Weights) error {
	mean := 0.0
	for _, v := range found.Values {
		mean += float64(v) / coherence.One
	}
	s.op.traces.WeighBy(found)
	sums := []float64{mean, float64(len(found.Values))}
	if err := s.op.process.ShotAxis.Host().AllReduce(sums, comm.Sum); err != nil {
		return err
	}
	s.op.process.Ranks.Report.Infof("weights: by what the image predicts after %d iterations; their mean is %.2f", s.method.State().Iteration, sums[0]/max(1, sums[1]))
	if s.op.plan.Held.Stream {
		return nil // which are weighed as they are read
	}
	v, err := dist.NewVector(s.op.process.Device, s.op.lifted.Range())
	if err != nil {
		return err
	}
	if err := s.op.fillCoherence(found, v); err != nil {
		return err
	}
	return s.f.Reweigh(v)
}

// fillCoherence sets a vector of data to the weights of its samples.
func (op *Operator) fillCoherence(c *coherence.Weights, v *dist.Vector) error {
	nt := op.plan.Geometry.Survey.NT
	w := make([]float32, nt)
	for trace := range op.share.Traces() {
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

// savedWeights is a vector with the values of the weights found, on the host, as checkpoints keep it. Where
// none were found it is for those of a checkpoint.
func (s *solving) savedWeights() map[string]*dist.Vector {
	c := coherence.New(CoherenceWindows(s.op.plan.Geometry, s.op.plan.Times, s.op.plan.Hardware.Threads), 0, s.op.plan.Geometry.Survey.NT)
	l := &dist.Layout{
		Shape: []int{s.op.plan.Geometry.Shots.Traces(), c.Nodes}, Off: s.op.share.First * c.Nodes, N: s.op.share.Traces() * c.Nodes,
		Type: device.F32, Shards: s.op.process.ShotAxis, Copies: s.op.process.BlockAxis,
	}
	values := make([]float32, l.N)
	if of := s.op.traces.Coherence(); of != nil {
		for k, v := range of.Values {
			values[k] = float32(v)
		}
	}
	return map[string]*dist.Vector{savedName: {Layout: l, Buf: device.Wrap(s.op.process.Host, values)}}
}

// savedName is the name of weights in a checkpoint.
const savedName = "coherence"

// restoreWeights puts the weights of a checkpoint into the problem.
func (s *solving) restoreWeights(saved map[string]*dist.Vector) error {
	found := coherence.New(CoherenceWindows(s.op.plan.Geometry, s.op.plan.Times, s.op.plan.Hardware.Threads), s.op.share.Traces(), s.op.plan.Geometry.Survey.NT)
	for k, v := range device.Slice[float32](saved[savedName].Buf) {
		found.Values[k] = uint16(v)
	}
	return s.useCoherence(found)
}
