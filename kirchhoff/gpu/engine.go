package gpu

import (
	"context"
	"fmt"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/pieces"
)

// Engine is the operator on one card. Its buffers are float32 on that card: the image
// [ImageLen()], the data [ntrace, nt]. Like those of the device, its operations run in
// order and do not wait for the card; an error of the card shows at the next Sync, Dots
// or copy.
type Engine struct {
	buffers
	plan       *kirchhoff.Plan
	layout     kirchhoff.Layout
	processors int
	context    *driver.Context
	kernels    map[string]*driver.Function
	nt, ntrace int
	stride     int // elements between the forward's traces
	bits       int // of a time of the tables behind the point

	groupList  []int32 // [group][groupTiles], −1 for tiles beyond the box
	firstGroup []int   // of each box, and the number of groups
	firstTile  []int   // of each box, and the number of tiles
	columns    []column
	held       held  // by the tables of all columns
	traceCuts  []int // first trace of each piece of the forward, and their number
	boxCuts    []int // first box of each piece of the adjoint, and their number
	firstBlock []int // of each piece of the forward, and the number of blocks

	// Tables, lists and what is computed from the start.
	table, span, groups, boxes device.Buf
	operator                   operator
	adjoint                    traces
	forward                    blocks
	adjointParts, forwardParts int
	window                     int // entries of a window of the forward
	points, scale              device.Buf
	convolve, correlate        taps
	bounds                     device.Buf // float64, what bounds add up on the host

	room   pieces.Room // guards what follows: one application at a time
	closed bool
	rows   device.Buf // [ntrace][pitch][2], correlated traces as pairs, see adjoint.cu
	ready  device.Buf // the data that rows were correlated from, until used
	tiled  device.Buf // float32 [tile][64], the image
	image  device.Buf // float64 [part][tile][64], sums of the adjoint
	traces device.Buf // float64 [part][row][stride], sums of a piece of the forward
	ring   device.Buf // sums of two pieces of the forward; made when first needed
}

// taps is a filter on the card.
type taps struct {
	at    driver.Memory
	count int
	first int
}

var (
	_ kirchhoff.Engine = (*Engine)(nil)
	_ dist.Pieced      = (*Engine)(nil)
)

// New compiles the kernels for a card, computes the tables of p and copies them to the
// card: 4 bytes per place and image point, 12 with Dynamic in 2-D, 20 in 3-D; two less
// with Compact. With an aperture, points are those of the columns where a place has tables.
// p.Threads is the number of threads that compute tables. Its errors are those of
// kirchhoff.Refuse, kirchhoff.NewPlan, Plan.Solve and the compiler. If the card has too
// little memory, the error is a missing resource that states what is needed and what there
// is.
func New(ctx context.Context, dev *card.Device, p *kirchhoff.Problem, w kirchhoff.Work) (*Engine, error) {
	if err := kirchhoff.Refuse(dev.Engine().String(), p, w); err != nil {
		return nil, err
	}
	l, err := kirchhoff.NewPlan(ctx, p)
	if err != nil {
		return nil, err
	}
	e := outline(l, w, dev.Card().Multiprocessors)
	e.dev, e.context = dev, dev.Context()
	if err := e.make(ctx, p); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

func (e *Engine) make(ctx context.Context, p *kirchhoff.Problem) error {
	e.kernels = map[string]*driver.Function{}
	for i, src := range Programs(e.layout) {
		module, err := e.dev.Build(src)
		if err != nil {
			return err
		}
		for _, name := range kernelNames[i] {
			if e.kernels[name], err = module.Function(name); err != nil {
				return err
			}
		}
	}
	receivers, _, _ := sizes(e.layout)
	adjoint := newAdjointLists(e.plan, e.columns, int32(receivers))
	forward := newForwardLists(e.plan.Problem.Positions, e.traceCuts)
	if e.layout.Aperture > 0 {
		forward.makeVisits(e.plan, e.columns)
	}
	e.firstBlock = forward.firsts
	e.allocate(pieces.Longest(adjoint.firsts), pieces.Longest(forward.firsts))
	e.put(adjoint, forward)
	if e.err != nil {
		need := Needs(p, kirchhoff.Work{}, e.processors)
		return fmt.Errorf("kirchhoff: the gpu engine needs %s on the card, %s of it for the tables of %d places: %w",
			humanize.IBytes(uint64(need.Tables+need.Scratch)), humanize.IBytes(uint64(need.Tables)), p.Positions.Len(), e.err)
	}
	return e.fill(ctx, p)
}

// outline returns an engine without memory, with its work cut into pieces and groups.
func outline(l *kirchhoff.Plan, w kirchhoff.Work, processors int) *Engine {
	p := &l.Problem
	e := &Engine{plan: l, layout: l.Layout(), processors: processors, nt: p.NT, ntrace: p.NumTraces(), stride: (p.NT + 3) &^ 3, bits: fractionBits(p)}
	for _, b := range l.Boxes {
		e.firstGroup, e.firstTile = append(e.firstGroup, len(e.groupList)/groupTiles), append(e.firstTile, b.First)
		e.groupList = append(e.groupList, groups(b, p.Grid.Dim())...)
	}
	e.firstGroup, e.firstTile = append(e.firstGroup, len(e.groupList)/groupTiles), append(e.firstTile, l.Tiles)
	e.makeColumns()
	e.cut(w)
	return e
}

// allocate allocates what an engine holds from the start, except lists. runs is the
// number of runs in the adjoint's longest column, longest the number of blocks in the
// longest piece of the forward.
func (e *Engine) allocate(runs, longest int) {
	l, boxes := e.plan, len(e.plan.Boxes)
	ngroups := e.firstGroup[boxes]
	e.table = e.alloc(e.held.rows*e.layout.Words, device.F32)
	if e.layout.Compact {
		e.span = e.alloc(e.held.rows*2, device.F32)
	}
	e.groups = e.alloc(e.held.groups*reachWords, device.F32)
	e.boxes = e.alloc(e.held.boxes*reachWords, device.F32)
	e.rows = e.alloc(2*e.ntrace*e.pitch(), device.F32)
	e.tiled = e.alloc(e.imagePart(), device.F32)
	e.adjointParts = parts(e.processors, ngroups, runs, e.imagePart())
	e.image = e.alloc(e.adjointParts*e.imagePart(), device.F64)
	e.forwardParts = parts(e.processors, longest, boxes, e.tracePart())
	e.traces = e.alloc(e.forwardParts*e.tracePart(), device.F64)
	e.points = e.alloc(e.imagePart(), device.F32)
	if l.Problem.Dynamic {
		e.scale = e.alloc(l.Problem.ImageLen(), device.F32)
	}
}

// put copies lists to the card.
func (e *Engine) put(adj *adjointLists, fwd *forwardLists) {
	l, b := e.plan, &e.buffers
	e.adjoint = traces{words(b, e.groupList), words(b, adj.runs), words(b, adj.rows), words(b, adj.receivers),
		words(b, adj.parts(e.adjointParts))}
	e.forward = blocks{words(b, fwd.places), words(b, fwd.traces), words(b, int32s(e.firstTile)), words(b, cut(len(l.Boxes), e.forwardParts)),
		words(b, fwd.visits), words(b, fwd.firstVisits)}
	e.convolve = taps{words(b, l.Convolve.Taps), len(l.Convolve.Taps), l.Convolve.First}
	e.correlate = taps{words(b, l.Correlate.Taps), len(l.Correlate.Taps), l.Correlate.First}
	_, slabs, chunks := e.chunks()
	e.bounds = e.alloc(max(e.ntrace, slabs*chunks), device.F64)
	if e.err != nil {
		return
	}
	if e.err = put(e.points, l.Points); e.err == nil && e.scale != nil {
		e.err = put(e.scale, l.Scale)
	}
	e.operator = e.newOperator()
}

// cut cuts [0, n) into parts of nearly the same size. It returns where they begin,
// followed by n.
func cut(n, parts int) []int32 {
	list := make([]int32, parts+1)
	for i := range list {
		list[i] = int32(n * i / parts)
	}
	return list
}

func int32s(list []int) []int32 {
	out := make([]int32, len(list))
	for i, v := range list {
		out[i] = int32(v)
	}
	return out
}

// Kernels implements kirchhoff.Engine. The engine is its own only kernel.
func (e *Engine) Kernels() []dist.Kernel { return []dist.Kernel{e} }

// Groups implements kirchhoff.Engine.
func (e *Engine) Groups() dist.Grouped { return nil }

// Squared implements kirchhoff.Engine. Engines on cards do not offer it.
func (e *Engine) Squared() dist.Kernel { return nil }

// Name is the engine's name in the configuration: cuda or hip.
func (e *Engine) Name() string { return e.dev.Engine().String() }

// Info implements kirchhoff.Engine.
func (e *Engine) Info() string {
	text := "float32, " + e.dev.Name()
	if e.plan.Problem.Compact {
		text += ", times in 16 bits"
	}
	return text
}

// Type is float32.
func (e *Engine) Type() device.Type { return device.F32 }

// TableBytes is the memory held by the tables, on the card.
func (e *Engine) TableBytes() int64 {
	return int64(e.held.rows) * e.rowBytes()
}

// Intact implements kirchhoff.Engine. It checks nothing, since cards correct their memory
// themselves.
func (e *Engine) Intact() error { return nil }

// Close frees the engine's memory on the card. It waits for an application that is being
// issued.
func (e *Engine) Close() {
	e.room.Lock()
	defer e.room.Unlock()
	e.closed, e.ready = true, nil
	e.room.End()
	e.free()
}
