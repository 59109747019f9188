package kirchhoff

import (
	"context"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/workers"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// kernel is the operator of one image on the cpu. It implements dist.Pieced.
type kernel struct {
	cpu     *cpu
	image   *Image
	inCells []bool // see the function
	kept    *lists // of the only unit, with tables that are kept; otherwise nil
}

// open makes a unit ready: its lists and, unless they are kept, its tables.
func (k *kernel) open(ctx context.Context, u Unit) (*lists, error) {
	if k.kept != nil {
		return k.kept, nil
	}
	q, traces := k.image.Part(u)
	t := k.cpu.tables
	if t == nil {
		t = newTables(k.cpu.plan, newCover(q, &k.cpu.plan.Tiling), false)
		if err := t.make(ctx, q); err != nil {
			t.free()
			return nil, err
		}
	}
	o := newLists(k, t, q, traces)
	if o.err != nil {
		o.Close()
		return nil, o.err
	}
	return o, nil
}

// opener is open with ctx.
func (k *kernel) opener(ctx context.Context) func(Unit) (*lists, error) {
	return func(u Unit) (*lists, error) { return k.open(ctx, u) }
}

// eachUnit opens the units one after the other and calls f with each.
func (k *kernel) eachUnit(ctx context.Context, f func(*lists) error) error {
	return Each(k.image, k.opener(ctx), f)
}

// lists holds some traces of a kernel in the blocks of both directions, with the tables
// of their places and room for the traces.
type lists struct {
	memory
	kernel *kernel
	tables *tables

	op       simd.Operator // of any box, without its tables and traces
	part     *Problem      // of the traces
	backward *blocking     // the adjoint's blocks
	// fwd has the forward's blocks. The rows of their pairs are numbers of the kernel's
	// traces, while those of the adjoint's pairs count the traces of these lists.
	fwd   []*demigrator
	trace []int32               // number of each trace in the kernel
	rows  *simd.Memory[float32] // [trace][phase][pitch], correlated traces in all bands
	ready []float32             // the data that rows were correlated from, until used
}

// allocate makes room for n traces in the given number of bands.
func (o *lists) allocate(t *tables, n, bands int) {
	o.op = t.op
	o.op.Bands = bands
	o.rows = alloc[float32](&o.memory, n*o.phases()*o.op.Pitch())
}

// phases is the number of versions of a trace.
func (o *lists) phases() int { return o.kernel.cpu.plan.phases() }

// perTrace is the memory of block lists for a trace: a pair and its part of a run, in
// each direction.
const perTrace = 2 * (12 + 4)

// newLists makes the lists of p's traces. trace holds their numbers in the kernel.
func newLists(k *kernel, t *tables, p *Problem, trace []int32) *lists {
	o := &lists{kernel: k, tables: t, trace: trace, part: p}
	o.allocate(t, p.NumTraces(), t.usedBands(p.Positions))
	o.op.Opening = k.image.Own.Opening.kernel()
	o.backward = &blocking{}
	o.backward.add(p.Positions, count(p.NumTraces()), adjointCells)
	o.backward.finish(p, &o.memory)
	o.cut(p)
	return o
}

// with returns the same lists for a kernel of the same traces with another window.
func (o *lists) with(k *kernel) *lists {
	q := *o
	q.kernel, q.op.Opening = k, k.image.Own.Opening.kernel()
	q.fwd = nil
	for _, d := range o.fwd {
		e := *d
		e.op.Opening = q.op.Opening
		q.fwd = append(q.fwd, &e)
	}
	return &q
}

// count is 0, 1, … n − 1.
func count(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// cut makes the forward's blocks, each within one piece: first cells, then blocks of the
// other traces.
func (o *lists) cut(p *Problem) {
	pieces := [2][][]int32{make([][]int32, len(o.kernel.image.TraceCuts)-1), make([][]int32, len(o.kernel.image.TraceCuts)-1)}
	lanes := o.kernel.cpu.isa.HasCells(o.op.Mode) && o.kernel.cpu.plan.bands.n == 1
	if lanes && o.kernel.inCells == nil {
		o.kernel.inCells = inCells(o.kernel.image.Own.Positions)
	}
	for i, trace := range o.trace {
		k, kind := o.kernel.image.findPiece(trace), 1
		if lanes && o.kernel.inCells[trace] {
			kind = 0
		}
		pieces[kind][k] = append(pieces[kind][k], int32(i))
	}
	for kind, traces := range pieces {
		if !slices.ContainsFunc(traces, func(t []int32) bool { return len(t) > 0 }) {
			continue
		}
		d := &demigrator{op: o.op, cells: kind == 0}
		d.cut(p, traces, enough(o.kernel.cpu.threads, len(traces)))
		for i := range d.pairs {
			pair := &d.pairs[i]
			pair.row = o.trace[pair.row]
		}
		if d.cells {
			d.op.Stride = laneStride(d.op.NT)
			d.placeLanes(p.Positions)
		}
		d.finish(p, &o.memory)
		o.fwd = append(o.fwd, d)
	}
}

// enough is how many blocks of the forward keep the threads busy to the end: a few for each
// thread in all pieces together, and two in each piece, since pieces may be computed one by one.
// More would make them smaller, and blocks of few sources read the tables of receivers more often.
func enough(threads, pieces int) int { return threads * max(4, 2*pieces) }

// Close frees lists that are not kept, and the tables that were made for them.
func (o *lists) Close() {
	if o == o.kernel.kept {
		return
	}
	o.memory.free()
	if o.tables != o.kernel.cpu.tables {
		o.tables.free()
	}
}

// forwardBlocks calls f for each block of the forward's pieces lo to hi.
func (o *lists) forwardBlocks(ctx context.Context, lo, hi int, f func(worker int, d *demigrator, block int) error) error {
	type job struct {
		*demigrator
		block int
	}
	var jobs []job
	for _, d := range o.fwd {
		for block := d.pieces[lo]; block < d.pieces[hi]; block++ {
			jobs = append(jobs, job{d, block})
		}
	}
	return workers.Each(ctx, o.kernel.cpu.threads, len(jobs), func(worker, i int) error { return f(worker, jobs[i].demigrator, jobs[i].block) })
}

// demigrate computes the forward's pieces lo to hi. It writes each trace, not yet
// convolved, to where to says for each phase, and then calls done. Both get the trace's number in the
// kernel.
func (o *lists) demigrate(ctx context.Context, lo, hi int, to func(worker, trace, phase int) []float32, done func(worker, trace int)) error {
	nt := o.kernel.cpu.plan.Problem.NT
	return o.forwardBlocks(ctx, lo, hi, func(worker int, d *demigrator, block int) error {
		pair0, pair1 := d.pairRange(block)
		n := pair1 - pair0
		var sums []float64 // with several bands
		var err error
		if o.op.Bands > 1 {
			sums = o.kernel.cpu.antialias[worker].sums[:o.phases()*n*nt]
			clear(sums)
			err = o.boxes(ctx, worker, d, block, sums, -1, 0)
		} else {
			err = o.addTiles(ctx, worker, d, block, o.phases()*n)
		}
		if err != nil {
			return err
		}
		for i, pair := range d.pairs[pair0:pair1] {
			for phase := range o.phases() {
				trace, slot := to(worker, int(pair.row), phase), phase*n+i
				if sums != nil {
					simd.Narrow(trace, sums[slot*nt:(slot+1)*nt])
				} else {
					d.collapse(trace, o.kernel.cpu.windows[worker].S[slot*d.trace():])
				}
			}
			done(worker, int(pair.row))
		}
		return nil
	})
}

// addTiles sets the n windows of a block of the forward to all tiles' share of its traces.
func (o *lists) addTiles(ctx context.Context, worker int, d *demigrator, block, n int) error {
	windows := o.kernel.cpu.windows[worker]
	clear(windows.S[:n*d.trace()])
	windows.dirty = true
	for box := range o.kernel.cpu.plan.Boxes {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, of := range o.kernel.cpu.plan.pairings {
			if op := o.pick(worker, &d.op, d.blocking, block, box, of, o.phases()); op != nil {
				d.forward(o.kernel.cpu.isa, op, windows.Memory, o.imageOf(worker, box, of))
			}
		}
	}
	return nil
}

// imageOf is the image in a box's tiles, times −1 for a pairing with minus.
func (o *lists) imageOf(worker, box int, of pairing) []float32 {
	image := o.kernel.cpu.image32.S[o.kernel.cpu.plan.Boxes[box].First*simd.TileSize : o.kernel.cpu.plan.end(box)*simd.TileSize]
	if !of.minus {
		return image
	}
	minus := o.kernel.cpu.minus[worker].S[:len(image)]
	for i, v := range image {
		minus[i] = -v
	}
	return minus
}

// demigrateExactly sets rows of sums, [row][phase][nt], from row0 on to the traces of one of the
// forward's pieces, not yet convolved. The contribution of each box of tiles to a trace
// is rounded, so the order of boxes does not matter.
func (o *lists) demigrateExactly(ctx context.Context, piece int, sums []float64, quantum float64) error {
	size, row0 := o.phases()*o.kernel.cpu.plan.Problem.NT, o.kernel.image.TraceCuts[piece]
	return o.forwardBlocks(ctx, piece, piece+1, func(worker int, d *demigrator, block int) error {
		pair0, pair1 := d.pairRange(block)
		for _, pair := range d.pairs[pair0:pair1] {
			row := int(pair.row) - row0
			clear(sums[row*size : (row+1)*size])
		}
		return o.boxes(ctx, worker, d, block, sums, row0*o.phases(), quantum)
	})
}

// boxes adds a block of the forward to sums, box by box; see simd's Drain.
func (o *lists) boxes(ctx context.Context, worker int, d *demigrator, block int, sums []float64, row0 int, quantum float64) error {
	windows := o.kernel.cpu.windows[worker]
	if windows.dirty {
		clear(windows.S)
	}
	windows.dirty = true
	var scratch []float64
	if d.op.Bands > 1 {
		scratch = o.kernel.cpu.antialias[worker].scratch
	}
	for box := range o.kernel.cpu.plan.Boxes {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, of := range o.kernel.cpu.plan.pairings {
			if op := o.pick(worker, &d.op, d.blocking, block, box, of, o.phases()); op != nil {
				d.forward(o.kernel.cpu.isa, op, windows.Memory, o.imageOf(worker, box, of))
				d.drain(o.kernel.cpu.isa, op, sums, windows.Memory, scratch, row0, quantum)
			}
		}
	}
	windows.dirty = false
	return nil
}

// correlateAll correlates the traces with the wavelet of each phase. If largest is not nil, it sets that,
// [trace][phase], to the largest sample of each.
func (o *lists) correlateAll(ctx context.Context, data []float32, largest []float64) error {
	o.ready = nil
	nt, size, phases := o.kernel.cpu.plan.Problem.NT, o.op.Pitch(), o.phases()
	return workers.Each(ctx, o.kernel.cpu.threads, len(o.trace)*phases, func(worker, i int) error {
		row := o.rows.S[i*size : i*size+nt]
		o.kernel.cpu.correlateTrace(worker, i%phases, row, o.kernel.row(data, int(o.trace[i/phases])))
		if largest != nil {
			largest[i] = o.kernel.cpu.isa.Largest(row) // smoothing makes nothing larger
		}
		for band := 1; band < o.op.Bands; band++ {
			at := i*size + band*o.op.Stride
			o.kernel.cpu.smoothBand(worker, o.rows.S[at:at+nt], row, band)
		}
		return nil
	})
}

// migrate adds the adjoint of the traces to the sums of tiles lo to hi; with fresh it
// sets them. Before the first tiles it correlates the data, unless that is done.
func (o *lists) migrate(ctx context.Context, data []float32, lo, hi int, quantum float64, fresh bool) error {
	if lo == 0 {
		if len(o.ready) == 0 || &o.ready[0] != &data[0] {
			if err := o.correlateAll(ctx, data, nil); err != nil {
				return err
			}
		}
		o.ready = nil
	}
	return o.kernel.cpu.eachBox(ctx, lo, hi, func(worker, box, lo, hi int) {
		sums := o.kernel.cpu.image64.S[lo*simd.TileSize : hi*simd.TileSize]
		if fresh {
			clear(sums)
		}
		first, negative := o.kernel.cpu.plan.Boxes[box].First, false
		for _, of := range o.kernel.cpu.plan.pairings {
			if of.minus && !negative { // those are the last
				negate(sums)
				negative = true
			}
			o.blocks(ctx, worker, box, of, o.phases(), func(op *simd.Operator) {
				o.kernel.cpu.isa.Adjoint(op, o.kernel.cpu.image64.S[first*simd.TileSize:], o.rows, lo-first, hi-first, quantum)
			})
		}
		if negative {
			negate(sums)
		}
	})
}

// negate multiplies sums by −1.
func negate(sums []float64) {
	for i := range sums {
		sums[i] = -sums[i]
	}
}

// blocks calls f for each of the adjoint's blocks that has traces which count in a box by a pairing.
func (o *lists) blocks(ctx context.Context, worker, box int, of pairing, phases int, f func(op *simd.Operator)) {
	for block := 0; block < o.backward.len() && ctx.Err() == nil; block++ {
		if op := o.pick(worker, &o.op, o.backward, block, box, of, phases); op != nil {
			f(op)
		}
	}
}
