package pipeline

import (
	"context"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/agreement"
	"github.com/kirchhoff-lsm/lsm/internal/formulation"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/wavelet"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// countVectors returns the bytes that the solver and its problem hold
// besides the traces. It makes the same problem on a device that counts and solves it for
// two iterations. The share's part of the image and of the data stand for the whole
// there. Errors are ignored here; they are reported when the real problem is made.
func (c *memoryCount) countVectors() int64 {
	v := &countedProblem{count: c, on: device.NewCounter(device.NewHost(1)), data: dist.Local(c.plan.Type(), c.share.Traces(), c.plan.Geometry.Survey.NT)}
	v.image = dist.Local(c.plan.Type(), append([]int{c.share.Own[1] - c.share.Own[0]}, c.plan.Geometry.Image.Shape[1:]...)...)
	if n := c.plan.Classes.N; n > 0 {
		v.image = dist.Stack(slices.Repeat([]*dist.Layout{v.image}, n)...)
	}
	s := v.setting()
	if c.plan.Config.Solver.Start.IsSet() {
		s.Start = v.vector(v.image)
	}
	if c.plan.Held.Stream {
		s.Passes = v
	} else {
		s.Data = v.vector(v.data)
	}
	peak, _ := formulation.Peak(s)
	if c.plan.Held.Stream {
		return peak
	}
	if n := c.plan.Classes.N; n > 1 {
		v.vector(v.image.Parts[0]) // their sum
		if c.plan.Config.Output.Filter == "agreement" {
			v.vector(v.image.Parts[0])
		}
		if c.plan.Classes.Normalized() {
			v.illuminate(s)
		}
		if c.plan.Config.Output.Adjoint.IsSet() {
			v.vector(v.image) // written before the solve, and not freed at once
		}
	}
	if c.plan.Config.Output.Residual.IsSet() {
		v.vector(v.data)
	}
	peak = max(peak, v.on.Peak())
	if c.plan.Hardware.Engine != "reference" { // which has the traces in double precision, too
		peak -= 4 * c.samples()
	}
	return peak
}

// illuminate counts what the mean of the classes by their illumination takes.
func (v *countedProblem) illuminate(s *formulation.Setting) {
	if light, err := s.Illumination(context.Background()); err == nil {
		light.Mean(v.vector(v.image))
	}
}

// countedProblem is a problem that is made to count its vectors.
type countedProblem struct {
	count       *memoryCount
	on          *device.Counter
	image, data *dist.Layout
}

func (v *countedProblem) vector(l *dist.Layout) *dist.Vector {
	x, _ := dist.NewVector(v.on, l) // a counter never fails
	return x
}

// setting returns the operator's setting, without data.
func (v *countedProblem) setting() *formulation.Setting {
	p, unapplied := v.count.plan, dist.Unapplied(v.image, v.data)
	var weights *dist.Vector
	if p.Weighted() && !p.Held.Stream {
		weights = v.vector(v.data)
	}
	s, _ := newSetting(p, v.count.share, v.on, 1, unapplied, weights, nil) // a counter never fails
	s.World, s.Report = comm.Self(), progress.Discard()
	s.Squared = func() (dist.Operator, error) { return countedSquare{unapplied, v}, nil }
	s.Gather = func(*dist.Vector) ([]float32, error) { return nil, nil }
	s.Scatter = func(_ []float32, l *dist.Layout) (*dist.Vector, error) { return dist.NewVector(v.on, l) }
	return s
}

// countedSquare stands for the operator with its weights squared. Its adjoint on the host holds more than
// an adjoint of the operator.
type countedSquare struct {
	dist.Operator
	v *countedProblem
}

func (s countedSquare) ApplyAdjoint(context.Context, *dist.Vector, *dist.Vector) error {
	v := s.v
	if v.count.plan.Hardware.Card != nil || v.count.plan.Hardware.Engine == "reference" {
		return nil
	}
	bytes := kirchhoff.SquareBytes(v.count.problem, kirchhoff.Work{Exact: v.count.plan.Exact(), Classes: v.count.plan.Classes.Of(v.count.plan.Geometry.Shots.List(v.count.share.First, v.count.share.Last))}, !v.count.plan.Weighted())
	x := v.vector(dist.Local(device.F32, int(bytes/4)))
	x.Free()
	return nil
}

// Domain and the methods below make it solver.Passes over streamed traces.
func (v *countedProblem) Domain() *dist.Layout       { return v.image }
func (v *countedProblem) Device() device.Device      { return v.on }
func (v *countedProblem) DataNorm() (float64, error) { return 1, nil }
func (v *countedProblem) Carried() []*float64        { return nil }

func (v *countedProblem) Normal(context.Context, *dist.Vector, *dist.Vector) (float64, error) {
	return 1, nil
}

func (v *countedProblem) Gradient(context.Context, *dist.Vector, *dist.Vector) (float64, error) {
	return 1, nil
}

// countWaveletFit returns what finding the wavelet from what spikes predict takes besides vectors.
func (c *memoryCount) countWaveletFit() int64 {
	if !c.plan.Spikes {
		return 0
	}
	_, taps := kirchhoff.LinearTaps(TapsOf(c.plan.Config.Kirchhoff, c.plan.Geometry, c.plan.Wavelet))
	return wavelet.Bytes(len(taps(c.plan.Wavelet.Samples)), c.plan.Geometry.Survey.NT, c.plan.Hardware.Threads)
}

// countWholeImages returns what rank 0 holds of whole images, for directions of layers, for matching filters and for
// the agreement of halves.
func (c *memoryCount) countWholeImages() (bytes int64) {
	if r := formulation.RegulariserOf(c.plan.Config.Solver.Regularization); r != nil && r.HostBytes != nil {
		bytes += 4*int64(c.plan.Geometry.Image.Len()) + r.HostBytes(c.plan.Geometry.Image)
	}
	if c.plan.Classes.Halves() {
		bytes += 4*int64(c.plan.Geometry.Image.Len()) + agreement.Bytes(c.plan.Geometry.Image.Shape)
		if c.plan.Config.Output.Filter == "agreement" {
			bytes += 4 * int64(c.plan.Geometry.Image.Len())
		}
	}
	if c.plan.Config.Solver.Matches() {
		bytes += 12*int64(c.plan.Geometry.Image.Len()) + c.plan.Filters.Bytes(c.plan.Geometry.Image.Shape)
	}
	return bytes
}
