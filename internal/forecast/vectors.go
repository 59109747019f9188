package forecast

import (
	"context"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/internal/agreement"
	"github.com/kirchhoff-lsm/lsm/internal/formulation"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/wavelet"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// vectors returns the bytes that the solver and its problem hold
// besides the traces. It makes the same problem on a device that counts and solves it for
// two iterations. The share's part of the image and of the data stand for the whole
// there. Errors are ignored here; they are reported when the real problem is made.
func (c *count) vectors() int64 {
	v := &imagined{count: c, on: device.NewCounter(device.NewHost(1)), data: dist.Local(c.Type(), c.share.Traces(), c.Survey.NT)}
	v.image = dist.Local(c.Type(), append([]int{c.share.Own[1] - c.share.Own[0]}, c.Image.Shape[1:]...)...)
	if n := c.Classes.N; n > 0 {
		v.image = dist.Stack(slices.Repeat([]*dist.Layout{v.image}, n)...)
	}
	s := v.setting()
	if c.Config.Solver.Start.IsSet() {
		s.Start = v.vector(v.image)
	}
	if c.Held.Stream {
		s.Passes = v
	} else {
		s.Data = v.vector(v.data)
	}
	peak, _ := formulation.Peak(s)
	if c.Held.Stream {
		return peak
	}
	if n := c.Classes.N; n > 1 {
		v.vector(v.image.Parts[0]) // their sum
		if c.Config.Output.Filter == "agreement" {
			v.vector(v.image.Parts[0])
		}
		if c.Classes.Normalized() {
			v.illuminate(s)
		}
		if c.Config.Output.Adjoint.IsSet() {
			v.vector(v.image) // written before the solve, and not at once given back
		}
	}
	if c.Config.Output.Residual.IsSet() {
		v.vector(v.data)
	}
	peak = max(peak, v.on.Peak())
	if c.Engine != "reference" { // which has the traces in double precision, too
		peak -= 4 * c.samples()
	}
	return peak
}

// illuminate counts what the mean of the classes by their illumination takes.
func (v *imagined) illuminate(s *formulation.Setting) {
	if light, err := s.Illumination(context.Background()); err == nil {
		light.Mean(v.vector(v.image))
	}
}

// imagined is a problem that is made to count its vectors.
type imagined struct {
	*count
	on          *device.Counter
	image, data *dist.Layout
}

func (v *imagined) vector(l *dist.Layout) *dist.Vector {
	x, _ := dist.NewVector(v.on, l) // a counter never fails
	return x
}

// setting is that of the operator, without data.
func (v *imagined) setting() *formulation.Setting {
	image, data := v.image, v.data
	s := &formulation.Setting{
		Config: v.Config.Solver, Options: v.SolverOptions(), Image: v.Image,
		World: comm.Self(), Device: v.on,
		Report: progress.Discard(), KeepData: v.Config.Output.Residual.IsSet(), Kept: v.share.Kept(v.Plan),
		Operator: dist.Unapplied(image, data),
		Squared:  func() (dist.Operator, error) { return squared{dist.Unapplied(image, data), v}, nil },
		Gather:   func(*dist.Vector) ([]float32, error) { return nil, nil },
		Scatter:  func(_ []float32, l *dist.Layout) (*dist.Vector, error) { return dist.NewVector(v.on, l) },
	}
	if v.Weighted() && !v.Held.Stream {
		s.Weights = v.vector(data)
	}
	s.Coherent = plan.Coherent(v.Plan) && v.Config.Solver.Iterations > plan.FirstIterations
	if plan.Banded(v.Plan) {
		one := image
		for one.Parts != nil {
			one = one.Parts[0]
		}
		nz := one.Shape[len(one.Shape)-1]
		s.Band, _ = imaging.NewBand(v.on, plan.Pulse(v.Plan), nil, one.N/nz, nz, 1)
	}
	if v.Surface != nil {
		s.Surface = v.Surface.Weight
		s.Below, _ = formulation.Diagonal(v.on, image, s.Surface)
	}
	return s
}

// squared stands for the operator with its weights squared. Its adjoint on the host holds more than
// an adjoint of the operator.
type squared struct {
	dist.Operator
	v *imagined
}

func (s squared) ApplyAdjoint(context.Context, *dist.Vector, *dist.Vector) error {
	v := s.v
	if v.Card != nil || v.Engine == "reference" {
		return nil
	}
	bytes := kirchhoff.SquareBytes(v.problem, kirchhoff.Work{Exact: v.Exact(), Classes: v.Classes.Of(v.Shots.List(v.share.First, v.share.Last))}, !v.Weighted())
	x := v.vector(dist.Local(device.F32, int(bytes/4)))
	x.Free()
	return nil
}

// Domain and the methods below make it solver.Passes over streamed traces.
func (v *imagined) Domain() *dist.Layout       { return v.image }
func (v *imagined) Device() device.Device      { return v.on }
func (v *imagined) DataNorm() (float64, error) { return 1, nil }
func (v *imagined) Carried() []*float64        { return nil }

func (v *imagined) Normal(context.Context, *dist.Vector, *dist.Vector) (float64, error) {
	return 1, nil
}

func (v *imagined) Gradient(context.Context, *dist.Vector, *dist.Vector) (float64, error) {
	return 1, nil
}

// fitBytes is what finding the wavelet from what spikes predict takes besides vectors.
func (c *count) fitBytes() int64 {
	if !c.Spikes {
		return 0
	}
	_, taps := kirchhoff.LinearTaps(plan.Taps(c.Plan, c.Wavelet))
	return wavelet.Bytes(len(taps(c.Wavelet.Samples)), c.Survey.NT, c.Threads)
}

// rootBytes is what rank 0 holds of whole images, for directions of layers, for matching filters and for
// the agreement of halves.
func (c *count) rootBytes() (bytes int64) {
	if r := formulation.RegulariserOf(c.Config.Solver.Regularization); r != nil && r.HostBytes != nil {
		bytes += 4*int64(c.Image.Len()) + r.HostBytes(c.Image)
	}
	if c.Classes.Halves() {
		bytes += 4*int64(c.Image.Len()) + agreement.Bytes(c.Image.Shape)
		if c.Config.Output.Filter == "agreement" {
			bytes += 4 * int64(c.Image.Len())
		}
	}
	if c.Matches() {
		bytes += 12*int64(c.Image.Len()) + c.Filters.Bytes(c.Image.Shape)
	}
	return bytes
}
