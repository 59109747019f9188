package gpu

import (
	"context"
	"fmt"
	"sort"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/pieces"
)

// kernel is the operator of one image on the card. It implements dist.Pieced.
type kernel struct {
	engine   *Engine
	image    *kirchhoff.Image
	numbered        // by the traces of the image
	kept     *lists // of the only unit, with tables that are kept; otherwise nil
}

// numbered holds the lists that the card's kernels index by the number of a trace.
type numbered struct {
	row     accel.Memory // row of the data; 0: the trace's own number
	middles accel.Memory // midpoint, with an aperture
}

// of returns what filters take for traces lo to hi: the data from the first of them on, or
// all data and the list of their rows.
func (n numbered) of(data device.Buf, nt, lo, hi int) (device.Buf, accel.Memory) {
	if n.row == 0 {
		return data.Slice(lo*nt, (hi-lo)*nt), 0
	}
	return data, n.row + accel.Memory(4*lo)
}

func newKernel(e *Engine, m *kirchhoff.Image) *kernel {
	return &kernel{engine: e, image: m, numbered: e.number(&e.buffers, m.Own, m.Rows)}
}

// number copies to the card what is looked up for the traces of p. rows are their rows of
// the data, nil for their own numbers.
func (e *Engine) number(b *buffers, p *kirchhoff.Problem, rows []int32) (n numbered) {
	if rows != nil {
		n.row = words(b, rows)
	}
	if axes := e.geometry.layout.Aperture; axes > 0 {
		n.middles = words(b, middles(p, axes))
	}
	return n
}

// lists holds some traces of a kernel in the order of both directions, with the tables of
// their places. The forward's rows are numbers of the kernel's traces, while those of the
// adjoint count the traces of these lists.
type lists struct {
	kernel   *kernel
	numbered // by these traces
	count    int
	memory   *buffers

	operator                   operator
	adjoint                    traces
	forward                    blocks
	firstBlock                 []int // of each piece of the forward, and the number of blocks
	adjointParts, forwardParts int
}

// open makes a unit ready: its lists and, unless they are kept, its tables. The caller holds
// the room's lock.
func (k *kernel) open(ctx context.Context, u kirchhoff.Unit) (*lists, error) {
	if k.kept != nil {
		return k.kept, nil
	}
	q, trace := k.image.Part(u)
	l, t := k.engine.geometry.plan.Of(q), k.engine.tables
	if k.engine.work.Remake {
		t = k.engine.geometry.newTables(l)
		if err := k.engine.remake(ctx, q, t); err != nil {
			return nil, err
		}
	}
	b := &buffers{dev: k.engine.buffers.dev, round: true}
	rows := trace
	switch {
	case k.image.Rows != nil:
		rows = make([]int32, len(trace))
		for i, n := range trace {
			rows[i] = k.image.Rows[n]
		}
	case len(trace) == k.image.Data: // all of them
		rows = nil
	}
	o := k.newLists(l, t, trace, k.engine.number(b, q, rows), b)
	if b.err != nil {
		b.free()
	}
	return o, b.err
}

// remake makes the tables of a unit's places. The card does so beside its remaining work for the
// previous unit, in the memory of the unit before that one.
func (e *Engine) remake(ctx context.Context, p *kirchhoff.Problem, t *tables) error {
	if t.held.rows > e.held.rows {
		panic(fmt.Sprintf("kirchhoff: tables of %d tiles in memory for %d", t.held.rows, e.held.rows))
	}
	e.opened = append(e.opened, e.context.Mark(e.context.Main()))
	e.context.After(e.making, e.opened[0])
	e.opened, e.turn = e.opened[1:], (e.turn+1)%len(e.banks)
	t.memoryOfTables = e.banks[e.turn]
	if err := e.fill(ctx, p, t); err != nil {
		return err
	}
	e.context.Follow(e.context.Main(), e.making)
	return nil
}

// fill makes the tables of p's places in the memory of t.
func (e *Engine) fill(ctx context.Context, p *kirchhoff.Problem, t *tables) error {
	defer e.buffers.dev.Clock.Time(e.making, device.MarkTables)()
	var n lengths
	if e.geometry.plan.Tiles > 0 {
		var err error
		if n, err = e.packer.pack(ctx, p, t); err != nil {
			return err
		}
	}
	if e.window == 0 { // the first unit's serves all
		e.window = windowEntries(e.buffers.dev.Card(), e.geometry.layout, n)
	}
	return nil
}

// opener is open with ctx.
func (k *kernel) opener(ctx context.Context) func(kirchhoff.Unit) (*lists, error) {
	return func(u kirchhoff.Unit) (*lists, error) { return k.open(ctx, u) }
}

// newLists makes the lists of l's traces in memory of b. trace holds their numbers in the
// image.
func (k *kernel) newLists(l *kirchhoff.Plan, t *tables, trace []int32, n numbered, b *buffers) *lists {
	o := &lists{kernel: k, numbered: n, count: len(trace), memory: b}
	receivers, _, _ := sizes(k.engine.geometry.layout)
	adj, fwd := newAdjointLists(l, t.columns, int32(receivers)), newForwardLists(l.Problem.Positions, cutsOf(trace, k.image.TraceCuts))
	if k.engine.geometry.layout.Aperture > 0 {
		fwd.makeVisits(l, t.columns)
	}
	fwd.number(trace)
	o.firstBlock = fwd.firsts
	boxes := len(l.Boxes)
	o.adjointParts = min(k.engine.adjointParts, parts(k.engine.processors, k.engine.geometry.firstGroup[boxes], pieces.Longest(adj.firsts), k.engine.geometry.imagePart()))
	o.forwardParts = min(k.engine.forwardParts, parts(k.engine.processors, pieces.Longest(fwd.firsts), len(k.engine.geometry.halves)-1, k.engine.tracePart()))
	o.adjoint = traces{k.engine.groups, words(b, adj.runs), words(b, adj.rows), words(b, adj.receivers), words(b, adj.parts(o.adjointParts))}
	o.forward = blocks{words(b, fwd.places), words(b, fwd.traces), k.engine.halfList, words(b, cut(len(k.engine.geometry.halves)-1, o.forwardParts)),
		words(b, fwd.visits), words(b, fwd.firstVisits)}
	o.operator = k.newOperator(t)
	if k.engine.geometry.layout.Aperture > 0 {
		o.operator.columns, o.operator.middles = words(b, k.engine.geometry.columnList(t)), o.middles
	}
	return o
}

// cutsOf returns, for ascending numbers of traces, which of them are the first of each of
// the pieces that begin at cuts.
func cutsOf(trace []int32, cuts []int) []int {
	out := make([]int, len(cuts))
	for i, at := range cuts {
		out[i] = sort.Search(len(trace), func(n int) bool { return int(trace[n]) >= at })
	}
	return out
}

// with returns the same lists for a kernel of the same traces with another window.
func (o *lists) with(k *kernel) *lists {
	q := *o
	q.kernel, q.operator.opening = k, k.image.Own.Opening.Fade()
	return &q
}

// keep makes the lists of the only unit in memory of b.
func (k *kernel) keep(b *buffers) error {
	q, trace := k.image.Part(k.image.Units[0])
	k.kept = k.newLists(k.engine.geometry.plan.Of(q), k.engine.tables, trace, k.numbered, b)
	return b.err
}

// Close frees lists that are not kept.
func (o *lists) Close() {
	if o != o.kernel.kept {
		o.memory.free()
	}
}

// add adds the adjoint of the rows in all tiles to the sums, by the function of the given name.
func (o *lists) add(name string, quantum float64) {
	part := o.kernel.engine.geometry.imagePart()
	o.migrate(name, 0, len(o.kernel.engine.geometry.plan.Boxes), o.kernel.engine.image.Slice(part, o.adjointParts*part), quantum)
	o.kernel.engine.collect(kind(true), o.kernel.engine.image.Slice(0, part), o.kernel.engine.image, 1+o.adjointParts, part)
}

// demigrate adds the traces of one piece of the forward to its sums. row0 is the first.
func (o *lists) demigrate(piece, row0 int, quantum float64) {
	if o.kernel.engine.geometry.plan.Tiles == 0 {
		return
	}
	there, block := o.operator, o.firstBlock[piece]
	there.middles = o.kernel.middles
	o.kernel.engine.launch("forward", o.firstBlock[piece+1]-block, o.forwardParts, lanes, 2*forwardStage(o.kernel.engine.geometry.layout)+4*lanes*o.kernel.engine.window,
		there, o.forward, o.kernel.engine.tiled, o.kernel.engine.traces, int32(block), int32(row0), int32(o.kernel.engine.stride),
		int32(o.kernel.engine.window), int64(o.kernel.engine.tracePart()), int64((o.kernel.image.TraceCuts[piece+1]-row0)*o.kernel.engine.stride), magic(quantum))
}

// migrate sets sums, in parts, to the adjoint of the traces in the tiles of boxes lo to hi,
// by the function of the given name.
func (o *lists) migrate(name string, lo, hi int, sums device.Buf, quantum float64) {
	group := o.kernel.engine.geometry.firstGroup[lo]
	o.kernel.engine.launch(name, o.kernel.engine.geometry.firstGroup[hi]-group, o.adjointParts, threads, 2*adjointStage(o.kernel.engine.geometry.layout),
		o.operator, o.adjoint, o.kernel.engine.rows, sums, int32(group), int32(o.kernel.engine.geometry.firstTile[lo]), int64(o.kernel.engine.geometry.imagePart()), magic(quantum))
}
