package kirchhoff

import (
	"context"
	"runtime"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// Forward adds the demigrated traces of the image src to dst.
func (c *CPU) Forward(ctx context.Context, dst, src device.Buf) error {
	data, image := c.slices("forward", dst, src)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer runtime.KeepAlive(c)
	if err := c.load(ctx, image); err != nil {
		return err
	}
	return c.demigrateAll(ctx, data)
}

// demigrateAll adds all traces to the data.
func (c *CPU) demigrateAll(ctx context.Context, data []float32) error {
	return c.demigrate(ctx, 0, len(c.traceCuts)-1, func(worker, row int, collapse func([]float32)) {
		collapse(c.ends[worker][0].trace)
		c.add(worker, data, row)
	})
}

// forwardBlocks calls f for each block of the forward's pieces lo to hi.
func (c *CPU) forwardBlocks(ctx context.Context, lo, hi int, f func(worker int, d *demigrator, block int) error) error {
	n := 0
	for _, d := range c.fwd {
		n += d.pieces[hi] - d.pieces[lo]
	}
	return parallel(ctx, c.threads, n, func(worker, i int) error {
		for _, d := range c.fwd {
			if n := d.pieces[hi] - d.pieces[lo]; i >= n {
				i -= n
				continue
			}
			return f(worker, d, d.pieces[lo]+i)
		}
		return nil
	})
}

// demigrate calls done for each trace of the forward's pieces lo to hi with its row
// of the data and what writes the trace, not yet convolved.
func (c *CPU) demigrate(ctx context.Context, lo, hi int, done func(worker, row int, collapse func([]float32))) error {
	if c.op.Bands > 1 {
		return c.demigrateBands(ctx, lo, hi, done)
	}
	return c.forwardBlocks(ctx, lo, hi, func(worker int, d *demigrator, block int) error {
		pair0, pair1 := d.pairRange(block)
		windows := c.windows[worker]
		length := d.trace()
		clear(windows.S[:(pair1-pair0)*length])
		windows.dirty = true
		for tile := 0; tile < c.tiles.tiles; tile += step {
			if err := ctx.Err(); err != nil {
				return err
			}
			d.forward(c.isa, windows.Memory, c.image32, tile, min(tile+step, c.tiles.tiles), block)
		}
		for i := pair0; i < pair1; i++ {
			done(worker, int(d.pairs[i].Row), func(trace []float32) { d.collapse(trace, windows.S[(i-pair0)*length:]) })
		}
		return nil
	})
}

// demigrateBands is demigrate with anti-aliasing.
func (c *CPU) demigrateBands(ctx context.Context, lo, hi int, done func(worker, row int, collapse func([]float32))) error {
	nt := c.p.NT
	return c.forwardBlocks(ctx, lo, hi, func(worker int, d *demigrator, block int) error {
		pair0, pair1 := d.pairRange(block)
		sums := c.antialias[worker].sums[:(pair1-pair0)*nt]
		clear(sums)
		if err := c.boxes(ctx, worker, d, block, sums, -1, 0); err != nil {
			return err
		}
		for i := pair0; i < pair1; i++ {
			done(worker, int(d.pairs[i].Row), func(trace []float32) { simd.Narrow(trace, sums[(i-pair0)*nt:(i-pair0+1)*nt]) })
		}
		return nil
	})
}

// demigrateExactly sets rows row0 and so on of sums, [row][nt], to the traces of one
// of the forward's pieces, not yet convolved. What a box of tiles gives a trace is
// rounded, so the order of boxes does not matter.
func (c *CPU) demigrateExactly(ctx context.Context, piece int, sums []float64, quantum float64) error {
	nt, row0 := c.p.NT, c.traceCuts[piece]
	return c.forwardBlocks(ctx, piece, piece+1, func(worker int, d *demigrator, block int) error {
		pair0, pair1 := d.pairRange(block)
		for _, pair := range d.pairs[pair0:pair1] {
			row := int(pair.Row) - row0
			clear(sums[row*nt : (row+1)*nt])
		}
		return c.boxes(ctx, worker, d, block, sums, row0, quantum)
	})
}

// boxes adds a block of the forward to sums, box by box; see simd's Drain.
func (c *CPU) boxes(ctx context.Context, worker int, d *demigrator, block int, sums []float64, row0 int, quantum float64) error {
	windows := c.windows[worker]
	if windows.dirty {
		clear(windows.S)
	}
	windows.dirty = true
	var scratch []float64
	if d.op.Bands > 1 {
		scratch = c.antialias[worker].scratch
	}
	for box, b := range c.tiles.boxes {
		if err := ctx.Err(); err != nil {
			return err
		}
		d.forward(c.isa, windows.Memory, c.image32, b.tile, c.tiles.end(box), block)
		d.drain(c.isa, sums, windows.Memory, scratch, box, block, row0, quantum)
	}
	windows.dirty = false
	return nil
}

// Adjoint adds the migrated image of the traces src to dst.
func (c *CPU) Adjoint(ctx context.Context, dst, src device.Buf) error {
	data, image := c.slices("adjoint", src, dst)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer runtime.KeepAlive(c)
	if err := c.correlateAll(ctx, data, nil); err != nil {
		return err
	}
	return c.each(ctx, 0, c.tiles.tiles, func(lo, hi int) {
		clear(c.image64.S[lo*simd.TileSize : hi*simd.TileSize])
		c.migrate(ctx, lo, hi, 0)
		unload(c.tiles, image, c.image64.S, c.scale, lo, hi)
	})
}

// correlateAll correlates all traces with the wavelet, and sets largest, if given, to
// the largest sample of each.
func (c *CPU) correlateAll(ctx context.Context, data []float32, largest []float64) error {
	c.ready = nil
	nt := c.p.NT
	size := c.op.Pitch()
	return parallel(ctx, c.threads, len(c.rows.S)/size, func(worker, trace int) error {
		row := c.rows.S[trace*size : trace*size+nt]
		c.correlateTrace(worker, row, data, c.number(int32(trace)))
		if largest != nil {
			largest[trace] = c.isa.Largest(row) // smoothing makes nothing larger
		}
		for band := 1; band < c.op.Bands; band++ {
			at := trace*size + band*c.stride
			c.smooth(worker, c.rows.S[at:at+nt], row, band)
		}
		return nil
	})
}

// correlateTrace sets to to a trace of the data, correlated.
func (w *workspace) correlateTrace(worker int, to, data []float32, trace int) {
	nt := w.p.NT
	d := w.ends[worker][1]
	at := w.dataRow(trace)
	copy(d.trace, data[at*nt:(at+1)*nt])
	w.correlate.apply(w.isa, to, d, false)
}

// smooth sets to to a band of a trace.
func (w *workspace) smooth(worker int, to, trace []float32, band int) {
	x := w.antialias[worker].trace
	copy(x.trace, trace)
	f := w.bands.triangle[band]
	isa, skip := w.isa, len(f.taps)/2
	isa.Filter(to, x.all[w.bands.longest()-skip:], f.taps, false)
}

// migrate adds all traces to tiles lo to hi.
func (c *CPU) migrate(ctx context.Context, lo, hi int, quantum float64) {
	for block := 0; block < c.nadj && ctx.Err() == nil; block += step {
		c.isa.Adjoint(&c.op, c.image64, c.rows, lo, hi, block, min(block+step, c.nadj), quantum)
	}
}
