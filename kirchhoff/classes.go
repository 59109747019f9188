package kirchhoff

import (
	"context"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Classes is an operator in parts, each with an image of its own. The engine of a
// class, Class[i], maps between its image and the whole data, of which it adds to and
// reads its own traces alone. All share tables and scratch: one application of any of
// them runs at a time.
type Classes struct {
	Class []Engine

	name  string
	typ   device.Type
	close func()

	intact func() error // of tables that the classes share and keep; nil: there are none
}

// Name is the engine's name in the configuration.
func (c *Classes) Name() string { return c.name }

// Type is the element type of the data and image buffers.
func (c *Classes) Type() device.Type { return c.typ }

// Close frees tables and scratch.
func (c *Classes) Close() {
	for _, e := range c.Class {
		e.Close()
	}
	c.close()
}

// Class is what one class has of a problem.
type Class struct {
	Traces  []int32 // their numbers, ascending, or none
	All     bool    // all traces, instead of Traces
	Opening Window  // of the angle between the two rays, instead of the problem's; zero: the problem's
}

// traces are the traces of a class of p.
func (c *Class) traces(p *Problem) []int32 {
	if c.All {
		return count(p.NumTraces())
	}
	return c.Traces
}

// of is p with the traces and the window of a class.
func (c *Class) of(p *Problem) *Problem {
	q := *p
	q.Positions = p.pick(c.traces(p))
	if c.Opening != (Window{}) {
		q.Opening = c.Opening
	}
	return &q
}

// NewClasses makes the cpu engine for classes of p. It takes the memory of one engine
// of all their traces. Classes with a window need a problem with one.
func NewClasses(ctx context.Context, p *Problem, class []Class) (*Classes, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	w, err := newWorkspace(ctx, p)
	if err != nil {
		return nil, err
	}
	all := &CPU{workspace: w}
	c := &Classes{name: all.Name(), typ: all.Type(), close: all.Close}
	if err = all.allocate(p); err == nil {
		err = all.tables(ctx, p)
	}
	all.seal()
	c.intact = all.Intact
	var whole *CPU // the engine of a class of all traces
	for _, k := range class {
		if err != nil {
			break
		}
		var e *CPU
		if k.All && whole != nil {
			other := *whole
			e = &other
		} else {
			e = &CPU{workspace: w.of(k.traces(p)), shared: true, lent: true, op: all.op}
			err = e.list(&e.workspace.p)
		}
		if k.All {
			whole = e
		}
		e.setOpening(k.of(p).limits().opening)
		c.Class = append(c.Class, e)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// setOpening gives the engine its own window, if it shares blocks with others.
func (c *CPU) setOpening(w simd.Window) {
	c.op.Opening = w
	c.fwd = slices.Clone(c.fwd)
	for i, d := range c.fwd {
		own := *d
		own.op.Opening = w
		c.fwd[i] = &own
	}
}

// NewRecomputeClasses is NewClasses for tables that do not fit into memory: each class
// computes those of its own traces, see NewRecompute.
func NewRecomputeClasses(ctx context.Context, p *Problem, class []Class, budget int64) (*Classes, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	whole := p.whole()
	w, err := newWorkspace(ctx, whole)
	if err != nil {
		return nil, err
	}
	all := &Recompute{workspace: w}
	c := &Classes{name: all.Name(), typ: all.Type(), close: all.Close}
	for _, k := range class {
		e, err := newRecompute(ctx, k.of(whole), w.of(k.traces(p)), budget)
		if err != nil {
			c.close()
			return nil, err
		}
		c.Class = append(c.Class, e)
	}
	return c, nil
}

// NewReferenceClasses is NewClasses for the reference engine.
func NewReferenceClasses(ctx context.Context, p *Problem, class []Class) (*Classes, error) {
	all, err := NewReference(ctx, p)
	if err != nil {
		return nil, err
	}
	c := &Classes{name: all.Name(), typ: all.Type(), close: all.Close}
	for _, k := range class {
		e, of := *all, k.of(p)
		e.p.Positions, e.rows = of.Positions, k.traces(p)
		e.p.Opening, e.lim = of.Opening, of.limits()
		c.Class = append(c.Class, &e)
	}
	return c, nil
}

// pick is the positions of some of p's traces, with all places.
func (p *Problem) pick(traces []int32) *survey.Positions {
	out := *p.Positions
	out.Source, out.Receiver = make([]int32, len(traces)), make([]int32, len(traces))
	for i, t := range traces {
		out.Source[i], out.Receiver[i] = p.Positions.Source[t], p.Positions.Receiver[t]
	}
	return &out
}

// of is the workspace of some of w's traces.
func (w *workspace) of(traces []int32) *workspace {
	c := *w
	c.p.Positions, c.rows = w.p.pick(traces), traces
	c.traceCuts = c.p.traceCuts()
	return &c
}
