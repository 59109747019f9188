package operators

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// Operator is a Kirchhoff operator on arrays of its caller.
type Operator struct {
	closing sync.RWMutex // held for reading by applications
	engine  kirchhoff.Engine
	host    *device.Host
	image   int     // points
	data    int     // samples of all traces
	depth   int     // points along z
	first   []int32 // first index along z at which the traces of each kernel count

	faulty atomic.Bool // an application has panicked
}

// New makes the operator of s. It stops with ctx.
func New(ctx context.Context, s *Spec) (*Operator, error) {
	p, err := s.problem()
	if err != nil {
		return nil, err
	}
	work, first := s.work(p.NumTraces())
	engine := kirchhoff.New
	switch s.Engine {
	case "cpu":
	case "double":
		engine = kirchhoff.NewDouble
	case "reference":
		engine = kirchhoff.NewReference
	default:
		return nil, status.Usage(fmt.Errorf(`engine is %q, this library has "cpu", "double" and "reference"`, s.Engine))
	}
	if err := kirchhoff.Refuse(s.Engine, p, work); err != nil {
		return nil, status.Usage(err)
	}
	if err := counts.Fit("the operator", float64(needs(s.Engine, p, work))); err != nil {
		return nil, err
	}
	e, err := engine(ctx, p, work)
	if err != nil {
		if s.Traveltimes == "table" && status.Code(err) == status.Other {
			err = status.Input(err)
		}
		return nil, err
	}
	shape := s.Grid.Shape
	return &Operator{engine: e, host: device.NewHost(s.Threads), image: p.ImageLen(), data: p.NumTraces() * p.NT,
		depth: shape[len(shape)-1], first: first}, nil
}

// needs is the memory that an engine takes, in bytes.
func needs(engine string, p *kirchhoff.Problem, w kirchhoff.Work) int64 {
	var n kirchhoff.Need
	switch engine {
	case "cpu":
		n = kirchhoff.Needs(p, w)
	case "double":
		n = kirchhoff.DoubleNeeds(p, w)
	default:
		n = kirchhoff.ReferenceNeeds(p)
	}
	return n.Tables + n.Scratch + max(n.Traces, n.Making) + n.Heap
}

// work is an image for each first depth that traces have, and these depths; without any, one
// image.
func (s *Spec) work(traces int) (w kirchhoff.Work, first []int32) {
	distinct := slices.Clone(s.FirstDepth)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	if len(distinct) == 0 || len(distinct) == 1 && distinct[0] <= 0 {
		return w, []int32{0}
	}
	for _, depth := range distinct {
		c := kirchhoff.Class{}
		for trace := range traces {
			if s.FirstDepth[trace] == depth {
				c.Traces = append(c.Traces, int32(trace))
			}
		}
		w.Classes = append(w.Classes, c)
	}
	return w, distinct
}

// Type is the type of the elements of images and data.
func (o *Operator) Type() device.Type { return o.engine.Type() }

// Host is the device whose buffers the operator takes.
func (o *Operator) Host() *device.Host { return o.host }

// Info describes the engine.
func (o *Operator) Info() string { return o.engine.Name() + ": " + o.engine.Info() }

// ErrClosed is the error of an operator that was closed.
var ErrClosed = status.Usage(errors.New("the operator has been destroyed"))

// Close frees the operator, after the applications that are under way.
func (o *Operator) Close() error {
	o.closing.Lock()
	defer o.closing.Unlock()
	if o.engine == nil {
		return ErrClosed
	}
	o.engine.Close()
	o.engine = nil
	return nil
}

// check returns an error for buffers of wrong lengths, and for an operator that is closed or faulty.
func (o *Operator) check(image, data device.Buf) error {
	switch {
	case o.engine == nil:
		return ErrClosed
	case o.faulty.Load():
		return ErrFaulty
	case image.Len() != o.image:
		return status.Usage(fmt.Errorf("image has %d points, the operator's has %d", image.Len(), o.image))
	case data.Len() != o.data:
		return status.Usage(fmt.Errorf("data have %d samples, the operator's have %d", data.Len(), o.data))
	}
	return nil
}

// ErrFaulty is the error of an operator one of whose applications has panicked.
var ErrFaulty = errors.New("the operator has failed before, and its memory cannot be trusted: make another")

// apply calls f, which applies the operator. A panic of f goes on to the caller, and applications
// that end later are errors.
func (o *Operator) apply(image, data device.Buf, f func() error) (err error) {
	o.closing.RLock()
	defer o.closing.RUnlock()
	if err := o.check(image, data); err != nil {
		return err
	}
	returned := false
	defer func() {
		if !returned {
			o.faulty.Store(true)
		} else if o.faulty.Load() {
			err = ErrFaulty
		}
	}()
	err = f()
	returned = true
	return err
}

// Forward overwrites data with the traces of image.
func (o *Operator) Forward(ctx context.Context, data, image device.Buf) error {
	return o.apply(image, data, func() error { return o.forward(ctx, data, image) })
}

func (o *Operator) forward(ctx context.Context, data, image device.Buf) error {
	if err := o.host.Zero(data); err != nil {
		return err
	}
	for i, k := range o.engine.Kernels() {
		from := image
		if o.first[i] > 0 {
			var err error
			if from, err = o.below(image, o.first[i]); err != nil {
				return err
			}
		}
		if err := k.Forward(ctx, data, from); err != nil {
			return err
		}
	}
	return nil
}

// Adjoint overwrites image with the migrated data.
func (o *Operator) Adjoint(ctx context.Context, image, data device.Buf) error {
	return o.apply(image, data, func() error { return o.adjoint(ctx, image, data) })
}

func (o *Operator) adjoint(ctx context.Context, image, data device.Buf) error {
	if err := o.host.Zero(image); err != nil {
		return err
	}
	for i, k := range o.engine.Kernels() {
		if o.first[i] <= 0 {
			if err := k.Adjoint(ctx, image, data); err != nil {
				return err
			}
			continue
		}
		part, err := o.host.Alloc(o.image, image.Type())
		if err != nil {
			return err
		}
		if err := k.Adjoint(ctx, part, data); err != nil {
			return err
		}
		if part, err = o.below(part, o.first[i]); err != nil {
			return err
		}
		if err := o.host.Axpby(1, part, 1, image); err != nil {
			return err
		}
	}
	return nil
}

// below is a copy of an image with zeros above a depth.
func (o *Operator) below(image device.Buf, depth int32) (device.Buf, error) {
	part, err := o.host.Alloc(o.image, image.Type())
	if err != nil {
		return nil, err
	}
	if err := o.host.Copy(part, image); err != nil {
		return nil, err
	}
	if part.Type() == device.F32 {
		clearTop(device.Slice[float32](part), o.depth, int(depth))
	} else {
		clearTop(device.Slice[float64](part), o.depth, int(depth))
	}
	return part, nil
}

// clearTop clears the first points of each column of nz.
func clearTop[T float32 | float64](image []T, nz, first int) {
	for column := 0; column < len(image); column += nz {
		clear(image[column : column+min(first, nz)])
	}
}
