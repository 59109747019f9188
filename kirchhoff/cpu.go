package kirchhoff

import (
	"context"
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/pages"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// CPU is the operator in float32 on the host's vector units. Its buffers are
// float32: the image [ImageLen()], the data [ntrace, nt].
//
// The adjoint works tile by tile: all traces of a block in turn add to the 64
// points of a tile, in registers, and blocks are added up in float64. The forward
// works block by block: each thread owns its traces. Either way no two threads
// write to the same place, and the order of sums is fixed.
//
// It is a dist.Pieced kernel; see there for sums that do not depend on how shots
// and slabs are shared out.
type CPU struct {
	*workspace
	shared bool // the workspace is another's
	lent   bool // the tables are another's
	sealed bool // sum is that of the tables as they were made
	sum    uint64

	op   simd.Operator // tables, and the adjoint's blocks
	nadj int           // blocks of the adjoint
	// fwd has the same tables and the forward's blocks. The rows of their pairs are numbers
	// in the workspace, those of the adjoint's the traces' own numbers.
	fwd   []*demigrator
	row   []int32               // number of each trace in the workspace; nil: its own
	rows  *simd.Memory[float32] // [ntrace][pitch], correlated traces in all bands
	ready []float32             // the data of which rows hold the correlation, until used
}

var _ dist.Pieced = (*CPU)(nil)

// NewCPU computes the tables of p: 4 bytes per place and image point, 12 with
// Dynamic or an aperture in 2-D, 20 in 3-D; two less with Compact. The environment variable
// LSM_CPU_ISA (avx512, avx2, portable) forces one set of kernels; they agree to
// rounding. Errors are those of Validate, of the traveltime method, of ctx, and too
// little memory.
func NewCPU(ctx context.Context, p *Problem) (*CPU, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	w, err := newWorkspace(ctx, p)
	if err != nil {
		return nil, err
	}
	c, err := newTables(ctx, p, w, nil)
	if err != nil {
		w.free()
		return nil, err
	}
	c.shared = false
	c.seal()
	return c, nil
}

// newTables makes an engine on a workspace: of p, whose traces are the given ones of the
// workspace (nil: all in turn).
func newTables(ctx context.Context, p *Problem, w *workspace, row []int32) (*CPU, error) {
	c := &CPU{workspace: w, shared: true, row: row}
	for _, step := range []func() error{
		func() error { return c.allocate(p) },
		func() error { return c.tables(ctx, p) },
		func() error { return c.list(p) },
	} {
		if err := step(); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// allocate makes room for the tables.
func (c *CPU) allocate(p *Problem) error {
	places, tiles, mode := p.Positions.Len(), c.tiles.tiles, p.mode()
	o := &c.op
	o.Places, o.Stride, o.Mode, o.NT = places, c.stride, mode, p.NT
	lim := p.limits()
	o.Dynamic, o.Dip, o.Opening = p.Dynamic, lim.dip, lim.opening
	var err error
	if o.Table, err = simd.Alloc[uint32](tiles * places * mode.Row()); err != nil {
		return err
	}
	if o.Span, err = simd.Alloc[simd.Span](tiles * places); err != nil {
		return err
	}
	if o.Reach, err = simd.Alloc[simd.Reach](len(c.tiles.boxes) * places); err != nil {
		return err
	}
	shifts := 0
	if mode&simd.Compact != 0 {
		shifts = tiles * places
	}
	if o.Shift, err = simd.Alloc[uint8](shifts); err != nil || c.bands == nil {
		return err
	}
	o.Taps, o.Half = c.bands.taps, c.bands.half
	if o.Slope, err = simd.Alloc[float32](tiles * places); err != nil {
		return err
	}
	o.Slopes, err = simd.Alloc[simd.Slopes](len(c.tiles.boxes) * places)
	return err
}

// usedBands is one more than the highest band in which a trace may meet a tile.
func (c *CPU) usedBands(p *survey.Positions) int {
	if c.bands == nil {
		return 1
	}
	steepest := make([]float32, c.op.Places)
	for i, s := range c.op.Slopes.S {
		place := i % c.op.Places
		steepest[place] = max(steepest[place], s.Hi)
	}
	most := 0
	for i, s := range p.Source {
		most = max(most, simd.Band(c.bands.n, steepest[s], steepest[p.Receiver[i]]))
	}
	return most + 1
}

// list makes the blocks of p's traces.
func (c *CPU) list(p *Problem) (err error) {
	o := &c.op
	o.Bands = c.usedBands(p.Positions)
	if c.rows, err = simd.Alloc[float32](p.NumTraces() * o.Pitch()); err != nil {
		return err
	}
	adjoint := newBlocking(p.Positions, count(p.NumTraces()), adjointCells)
	if err := put(o, adjoint); err != nil {
		return err
	}
	c.nadj = adjoint.len()
	return c.cut(p)
}

// count is 0, 1, … n − 1.
func count(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// cut makes the forward's blocks, each within one piece: cells first, then other
// traces.
func (c *CPU) cut(p *Problem) error {
	pieces := [2][][]int32{make([][]int32, len(c.traceCuts)-1), make([][]int32, len(c.traceCuts)-1)}
	var in []bool // cells
	if c.isa.HasCells(c.op.Mode) && c.bands == nil {
		in = c.inCells
		if c.row == nil {
			in = inCells(p.Positions)
		}
	}
	k := 0
	for i := range int32(p.NumTraces()) {
		for c.number(i) < c.traceCuts[k] {
			k--
		}
		for c.number(i) >= c.traceCuts[k+1] {
			k++
		}
		kind := 1
		if in != nil && in[c.number(i)] {
			kind = 0
		}
		pieces[kind][k] = append(pieces[kind][k], i)
	}
	for kind, traces := range pieces {
		if !slices.ContainsFunc(traces, func(t []int32) bool { return len(t) > 0 }) {
			continue
		}
		d := &demigrator{op: c.op, cells: kind == 0}
		d.cut(p, traces, 4*c.threads*len(traces))
		for i := range d.pairs {
			pair := &d.pairs[i]
			pair.Row = int32(c.number(pair.Row))
		}
		c.fwd = append(c.fwd, d)
		if err := d.put(p, c.p.NT); err != nil {
			return err
		}
	}
	return nil
}

// number is the number of a trace among those of the workspace.
func (c *CPU) number(trace int32) int {
	if c.row == nil {
		return int(trace)
	}
	return int(c.row[trace])
}

// put copies a block list to where the kernels can read it.
func put(o *simd.Operator, b *blocking) error {
	var err error
	if o.Pairs, err = simd.Copy(b.pairs); err != nil {
		return err
	}
	if o.Runs, err = simd.Copy(b.runs); err != nil {
		return err
	}
	o.Blocks, err = simd.Copy(b.blocks)
	return err
}

// tables computes and packs the tables of all places in use.
func (c *CPU) tables(ctx context.Context, p *Problem) error {
	if c.tiles.tiles == 0 {
		return nil
	}
	k := &packer{tiling: c.tiles, dt: p.DT, t0: p.T0, nt: p.NT, mode: c.op.Mode, places: c.op.Places,
		table: c.op.Table.S, span: c.op.Span.S, shift: c.op.Shift.S, reach: c.op.Reach.S, bands: c.bands}
	if c.bands != nil {
		k.slope, k.slopes = c.op.Slope.S, c.op.Slopes.S
	}
	var w *weights
	if p.Directed() {
		w = newWeights(p)
	}
	type room struct {
		pages.Arena
		slowness
		gradient
	}
	var rooms []*room
	scratch := make(chan *room, c.threads) // one for each thread
	for range c.threads {
		r := new(room)
		r.slowness.memory, r.gradient.memory = &r.Arena, &r.Arena
		rooms = append(rooms, r)
		scratch <- r
	}
	defer func() {
		for _, r := range rooms {
			r.Free()
		}
	}()
	sink := func(place int, f traveltime.Field) error {
		r := <-scratch
		defer func() { scratch <- r }()
		if c.bands != nil {
			slopes, err := c.bands.slopes(&r.gradient, c.tiles, f.Time)
			if err != nil {
				return err
			}
			k.setSlopes(place, slopes)
		}
		if w == nil {
			return k.pack(place, f.Time, nil)
		}
		if err := w.of(&r.slowness, place, f); err != nil {
			return err
		}
		return k.pack(place, f.Time, &r.slowness)
	}
	opt := traveltime.Options{Threads: c.threads, Progress: p.Progress}
	if err := p.Times.Solve(ctx, p.Positions, p.usedPlaces(), opt, sink); err != nil {
		return fmt.Errorf("kirchhoff: traveltimes: %w", err)
	}
	return nil
}

// Name is the engine's name in the configuration.
func (c *CPU) Name() string { return "cpu" }

// Type is float32.
func (c *CPU) Type() device.Type { return device.F32 }

// ISA names the set of kernels in use: avx512, avx2 or portable.
func (c *CPU) ISA() string { return c.isa.String() }

// TableBytes is the memory held by the tables.
func (c *CPU) TableBytes() int64 {
	return 4*int64(len(c.op.Table.S)) + 8*int64(len(c.op.Span.S)) + 8*int64(len(c.op.Reach.S)) + int64(len(c.op.Shift.S)) + c.slopeBytes()
}

func (c *CPU) slopeBytes() int64 {
	if c.bands == nil {
		return 0
	}
	return 4*int64(len(c.op.Slope.S)) + 8*int64(len(c.op.Slopes.S))
}

// Triples is the number of (trace, image point) pairs one application visits.
func (c *CPU) Triples() int64 { return c.p.Triples() }

// Close frees the tables. It waits for an application that is running.
func (c *CPU) Close() {
	if !c.shared {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.free()
	}
	if !c.lent {
		c.op.Table.Free()
		c.op.Span.Free()
		c.op.Reach.Free()
		c.op.Shift.Free()
		c.op.Slope.Free()
		c.op.Slopes.Free()
	}
	freeLists(&c.op)
	for _, d := range c.fwd {
		freeLists(&d.op)
	}
	c.rows.Free()
}

// freeLists frees a block list.
func freeLists(o *simd.Operator) {
	o.Pairs.Free()
	o.Runs.Free()
	o.Blocks.Free()
	o.Lanes.Free()
}
