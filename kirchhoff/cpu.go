package kirchhoff

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/kirchhoff-lsm/lsm/internal/device"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// CPU is the operator in float32 on the host's vector units. Its buffers are
// float32: the image [Grid.Len()], the data [ntrace, nt].
//
// The adjoint works tile by tile: all traces of a block in turn add to the 64
// points of a tile, in registers, and blocks are added up in float64. The forward
// works block by block: each thread owns its traces. Either way no two threads
// write to the same place, and the order of sums is fixed.
type CPU struct {
	p       Problem
	isa     simd.ISA
	threads int

	tiles *tiling
	op    simd.Operator // tables, and the adjoint's blocks
	fwd   simd.Operator // the same tables, the forward's blocks
	nadj  int           // blocks of the adjoint
	block *blocking     // of the forward
	scale []float32     // [Grid.Len()], the image's share of the weights; nil for 1

	convolve, correlate *filter

	mu      sync.Mutex              // guards the scratch: one application at a time
	image32 *simd.Memory[float32]   // [tile][64]
	image64 *simd.Memory[float64]   // [tile][64]
	rows    *simd.Memory[float32]   // [ntrace][stride], correlated traces
	work    []*simd.Memory[float32] // per thread: the windows of one block
	ends    [][2]padded             // per thread: a trace to convolve, one to correlate
}

// NewCPU computes the tables of p: 4 bytes per place and image point, 12 with
// Dynamic in 2-D, 20 in 3-D; two less with Compact. The environment variable LSM_CPU_ISA (avx512, avx2,
// portable) forces one set of kernels; they agree to rounding. Errors are those of
// Validate, of the traveltime method, of ctx, and too little memory.
func NewCPU(ctx context.Context, p *Problem) (*CPU, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	isa, err := simd.Parse(os.Getenv("LSM_CPU_ISA"))
	if err != nil {
		return nil, status.Usage(fmt.Errorf("%w (LSM_CPU_ISA)", err))
	}
	c := &CPU{p: *p, isa: isa, threads: p.threads(), tiles: newTiling(p.Grid)}
	if p.Dynamic {
		factor := 2.0 // of A = 2 cos θ …
		if p.Grid.Dim() == 3 {
			factor = 1 // cos θ = |p_s + p_r|/2
		}
		c.scale = make([]float32, p.Grid.Len())
		for i, v := range p.Velocity {
			c.scale[i] = float32(factor / v)
		}
	}
	c.p.Velocity, c.p.Amplitude = nil, nil
	c.convolve, c.correlate = newFilters(p.taps(), p.Wavelet.Zero, p.NT)
	if err := c.allocate(p.mode()); err != nil {
		c.Close()
		return nil, err
	}
	if err := c.tables(ctx, p); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Sizes of the blocks, found by trial: large enough that tables are read seldom,
// small enough that the block's stretches of traces stay in the caches.
const (
	adjointSources, adjointReceivers = 8, 16
	forwardSources, forwardReceivers = 4, 8
)

func (c *CPU) allocate(mode simd.Mode) error {
	places, tiles := c.p.Positions.Len(), c.tiles.tiles
	// Rows an odd number of cache lines apart share no sets.
	const line = 16
	stride := ((c.p.NT+2*simd.TileSize+line-1)/line | 1) * line
	o := &c.op
	o.Places, o.Stride, o.Mode, o.NT = places, stride, mode, c.p.NT
	var err error
	if o.Table, err = simd.Alloc[uint32](tiles * places * mode.Row()); err != nil {
		return err
	}
	if o.Span, err = simd.Alloc[simd.Span](tiles * places); err != nil {
		return err
	}
	shifts := 0
	if mode&simd.Compact != 0 {
		shifts = tiles * places
	}
	if o.Shift, err = simd.Alloc[uint8](shifts); err != nil {
		return err
	}
	if c.image32, err = simd.Alloc[float32](tiles * simd.TileSize); err != nil {
		return err
	}
	if c.image64, err = simd.Alloc[float64](tiles * simd.TileSize); err != nil {
		return err
	}
	if c.rows, err = simd.Alloc[float32](c.p.NumTraces() * stride); err != nil {
		return err
	}
	c.fwd = *o
	adjoint := newBlocking(c.p.Positions, adjointSources, adjointReceivers, adjointSources*adjointReceivers)
	if err := put(o, adjoint); err != nil {
		return err
	}
	c.nadj = adjoint.len()
	// Smaller blocks where there would be too few for the threads. Every trace is
	// summed by itself, so results do not change.
	for sources, receivers := int32(forwardSources), int32(forwardReceivers); ; receivers /= 2 {
		c.block = newBlocking(c.p.Positions, sources, receivers, int(sources*receivers))
		if c.block.len() >= 4*c.threads || receivers == 1 {
			break
		}
	}
	if err := put(&c.fwd, c.block); err != nil {
		return err
	}
	c.work = make([]*simd.Memory[float32], c.threads)
	for i := range c.threads {
		if c.work[i], err = simd.Alloc[float32](forwardSources * forwardReceivers * simd.Slots * stride); err != nil {
			return err
		}
		c.ends = append(c.ends, [2]padded{c.convolve.padded(c.p.NT), c.correlate.padded(c.p.NT)})
	}
	return nil
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
	k := &packer{tiling: c.tiles, dt: p.DT, t0: p.T0, nt: p.NT, mode: c.op.Mode, places: c.op.Places,
		table: c.op.Table.S, span: c.op.Span.S, shift: c.op.Shift.S}
	var w *weights
	if p.Dynamic {
		w = newWeights(p)
	}
	scratch := sync.Pool{New: func() any { return new(slowness) }}
	sink := func(place int, f traveltime.Field) error {
		if w == nil {
			return k.pack(place, f.Time, nil)
		}
		s := scratch.Get().(*slowness)
		defer scratch.Put(s)
		if err := w.of(s, place, f); err != nil {
			return err
		}
		return k.pack(place, f.Time, s)
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
	return 4*int64(len(c.op.Table.S)) + 8*int64(len(c.op.Span.S)) + int64(len(c.op.Shift.S))
}

// Triples is the number of (trace, image point) pairs one application visits.
func (c *CPU) Triples() int64 { return c.p.Triples() }

// Close frees the tables. It waits for an application that is running.
func (c *CPU) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.op.Table.Free()
	c.op.Span.Free()
	c.op.Shift.Free()
	for _, o := range []*simd.Operator{&c.op, &c.fwd} {
		o.Pairs.Free()
		o.Runs.Free()
		o.Blocks.Free()
	}
	for _, m := range append(c.work, c.image32, c.rows) {
		m.Free()
	}
	c.image64.Free()
}

// step is the number of tiles between two looks at ctx: about a millisecond of
// work for a large block. It has no influence on results.
const step = 64

// Forward adds the demigrated traces of the image src to dst.
func (c *CPU) Forward(ctx context.Context, dst, src device.Buf) error {
	data, image := c.slices("forward", dst, src)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer runtime.KeepAlive(c)
	err := c.each(ctx, func(lo, hi int) { c.tiles.load(c.image32.S, image, c.scale, lo, hi) })
	if err != nil {
		return err
	}
	return parallel(ctx, c.threads, c.block.len(), func(worker, block int) error {
		pair0, pair1 := c.block.pairRange(block)
		windows := c.work[worker]
		length := simd.Slots * c.fwd.Stride
		clear(windows.S[:(pair1-pair0)*length])
		for tile := 0; tile < c.tiles.tiles; tile += step {
			if err := ctx.Err(); err != nil {
				return err
			}
			c.isa.Forward(&c.fwd, windows, c.image32, tile, min(tile+step, c.tiles.tiles), block)
		}
		nt := c.p.NT
		for i := pair0; i < pair1; i++ {
			u, trace := c.ends[worker][0], int(c.block.pairs[i].Row)
			simd.Collapse(u.trace, windows.S[(i-pair0)*length:])
			c.convolve.apply(c.isa, data[trace*nt:(trace+1)*nt], u, true)
		}
		return nil
	})
}

// Adjoint adds the migrated image of the traces src to dst.
func (c *CPU) Adjoint(ctx context.Context, dst, src device.Buf) error {
	data, image := c.slices("adjoint", src, dst)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer runtime.KeepAlive(c)
	nt, stride := c.p.NT, c.op.Stride
	err := parallel(ctx, c.threads, c.p.NumTraces(), func(worker, trace int) error {
		d := c.ends[worker][1]
		copy(d.trace, data[trace*nt:(trace+1)*nt])
		c.correlate.apply(c.isa, c.rows.S[trace*stride:trace*stride+nt], d, false)
		return nil
	})
	if err != nil {
		return err
	}
	return c.each(ctx, func(lo, hi int) {
		sum := c.image64
		clear(sum.S[lo*simd.TileSize : hi*simd.TileSize])
		for block := 0; block < c.nadj && ctx.Err() == nil; block += step {
			c.isa.Adjoint(&c.op, sum, c.rows, lo, hi, block, min(block+step, c.nadj))
		}
		c.tiles.unload(image, sum.S, c.scale, lo, hi)
	})
}

// each calls f for all tiles on all threads: a superblock at a time, or less where
// there would be too few for the threads.
func (c *CPU) each(ctx context.Context, f func(lo, hi int)) error {
	n := c.tiles.tiles
	size := min(step, max(4, n/(4*c.threads)))
	err := parallel(ctx, c.threads, (n+size-1)/size, func(_, i int) error {
		f(i*size, min((i+1)*size, n))
		return nil
	})
	if err != nil {
		return err
	}
	return ctx.Err()
}

func (c *CPU) slices(op string, data, image device.Buf) (d, m []float32) {
	d, m = device.Slice[float32](data), device.Slice[float32](image)
	checkSizes(op, &c.p, len(d), len(m))
	if c.op.Table == nil || c.op.Table.S == nil {
		panic(fmt.Sprintf("kirchhoff: %s of a closed engine", op))
	}
	return d, m
}
