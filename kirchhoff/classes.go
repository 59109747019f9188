package kirchhoff

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/internal/device"
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

// NewClasses makes the cpu engine for classes of p's traces, class[i] being the numbers
// of those of class i in ascending order; a class may be empty. It takes the memory of
// one engine of all their traces.
func NewClasses(ctx context.Context, p *Problem, class [][]int32) (*Classes, error) {
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
	for _, traces := range class {
		if err != nil {
			break
		}
		e := &CPU{workspace: w.of(traces), shared: true, lent: true, op: all.op}
		c.Class = append(c.Class, e)
		err = e.list(&e.workspace.p)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// NewRecomputeClasses is NewClasses for tables that do not fit into memory: each class
// computes those of its own traces, see NewRecompute.
func NewRecomputeClasses(ctx context.Context, p *Problem, class [][]int32, budget int64) (*Classes, error) {
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
	for _, traces := range class {
		of := *whole
		of.Positions = of.pick(traces)
		e, err := newRecompute(ctx, &of, w.of(traces), budget)
		if err != nil {
			c.close()
			return nil, err
		}
		c.Class = append(c.Class, e)
	}
	return c, nil
}

// NewReferenceClasses is NewClasses for the reference engine.
func NewReferenceClasses(ctx context.Context, p *Problem, class [][]int32) (*Classes, error) {
	all, err := NewReference(ctx, p)
	if err != nil {
		return nil, err
	}
	c := &Classes{name: all.Name(), typ: all.Type(), close: all.Close}
	for _, traces := range class {
		e := *all
		e.p.Positions, e.rows = e.p.pick(traces), traces
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
