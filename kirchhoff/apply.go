package kirchhoff

import (
	"context"
	"runtime"

	"github.com/kirchhoff-lsm/lsm/internal/device"
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
	return c.demigrate(ctx, 0, c.block.len(), func(worker, row int, windows []float32) {
		simd.Collapse(c.ends[worker][0].trace, windows)
		c.add(worker, data, row)
	})
}

// demigrate calls done for each trace of the forward's blocks lo to hi with its row
// of the data and its windows.
func (c *CPU) demigrate(ctx context.Context, lo, hi int, done func(worker, row int, windows []float32)) error {
	return parallel(ctx, c.threads, hi-lo, func(worker, i int) error {
		block := lo + i
		pair0, pair1 := c.block.pairRange(block)
		windows := c.windows[worker]
		length := simd.Slots * c.stride
		clear(windows.S[:(pair1-pair0)*length])
		windows.dirty = true
		for tile := 0; tile < c.tiles.tiles; tile += step {
			if err := ctx.Err(); err != nil {
				return err
			}
			c.isa.Forward(&c.fwd, windows.Memory, c.image32, tile, min(tile+step, c.tiles.tiles), block)
		}
		for i := pair0; i < pair1; i++ {
			done(worker, int(c.block.pairs[i].Row), windows.S[(i-pair0)*length:])
		}
		return nil
	})
}

// demigrateExactly sets rows row0 and so on of sums, [row][nt], to the traces of the
// forward's blocks lo to hi, not yet convolved. What a box of tiles gives a trace is
// rounded, so the order of boxes does not matter.
func (c *CPU) demigrateExactly(ctx context.Context, lo, hi, row0 int, sums []float64, quantum float64) error {
	nt := c.p.NT
	return parallel(ctx, c.threads, hi-lo, func(worker, i int) error {
		block := lo + i
		pair0, pair1 := c.block.pairRange(block)
		windows := c.windows[worker]
		if windows.dirty {
			clear(windows.S)
		}
		windows.dirty = true
		for _, pair := range c.block.pairs[pair0:pair1] {
			row := int(pair.Row) - row0
			clear(sums[row*nt : (row+1)*nt])
		}
		for box, b := range c.tiles.boxes {
			if err := ctx.Err(); err != nil {
				return err
			}
			c.isa.Forward(&c.fwd, windows.Memory, c.image32, b.tile, c.tiles.end(box), block)
			c.isa.Drain(&c.fwd, sums, windows.Memory, box, block, row0, quantum)
		}
		windows.dirty = false
		return nil
	})
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
	return parallel(ctx, c.threads, len(c.rows.S)/c.stride, func(worker, trace int) error {
		row := c.rows.S[trace*c.stride : trace*c.stride+nt]
		c.correlateTrace(worker, row, data, c.number(int32(trace)))
		if largest != nil {
			largest[trace] = c.isa.Largest(row)
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

// migrate adds all traces to tiles lo to hi.
func (c *CPU) migrate(ctx context.Context, lo, hi int, quantum float64) {
	for block := 0; block < c.nadj && ctx.Err() == nil; block += step {
		c.isa.Adjoint(&c.op, c.image64, c.rows, lo, hi, block, min(block+step, c.nadj), quantum)
	}
}
