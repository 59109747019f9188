package gpu

import (
	"context"
	"fmt"
	"slices"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// pairing is the work of one block of a Hessian.
type pairing struct {
	buffers
	*Hessian
	block  blockThere
	needed []int // numbers of the tiles in Cuts
	tiles  []tileThere
	pairs  [][2]int32 // of tiles
	w2     []float32
	batch  int // traces whose falls are on the card at once

	onCard  struct{ tiles, pairs driver.Memory }
	weights driver.Memory // [trace that counts]; 0 for ones
	falls   device.Buf    // [tile][batch][FallWords]; nil for those that the Hessian keeps
	sums    device.Buf
}

// newPairing prepares a block's work.
func (h *Hessian) newPairing(needed []int, pairs [][2]int, w2 []float32) *pairing {
	w := &pairing{buffers: buffers{dev: h.held.dev}, Hessian: h, needed: needed, w2: w2}
	kept := false
	w.batch = fallBatch
	switch {
	case w.uneven():
		w.batch = meetPart // each trace has products of its own
	case h.falls != nil:
		w.batch, kept = len(h.Traces()), true
	}
	for i, tile := range needed {
		at := i * w.batch
		if kept {
			at = tile * w.batch
		}
		w.tiles = append(w.tiles, tileThere{int64(at), int32(h.Cuts()[tile]), int32(h.Cuts()[tile+1])})
	}
	for _, p := range pairs {
		w.pairs = append(w.pairs, [2]int32{int32(p[0]), int32(p[1])})
	}
	w.allocate(len(h.Traces()), kept)
	if w2 != nil && !w.uneven() {
		mine := make([]float32, len(h.Traces()))
		for i, trace := range h.Traces() {
			mine[i] = w2[trace]
		}
		w.weights = words(&w.buffers, mine)
	}
	return w
}

// uneven reports whether weights are those of samples.
func (w *pairing) uneven() bool { return len(w.w2) == w.traces*w.nt }

// allocate allocates what a block takes. With kept its falls are on the card or have memory there.
func (w *pairing) allocate(traces int, kept bool) {
	w.onCard.tiles, w.onCard.pairs = words(&w.buffers, w.tiles), words(&w.buffers, w.pairs)
	if !kept {
		w.falls = w.alloc(len(w.tiles)*w.batch*kirchhoff.FallWords, device.F32)
	}
	w.sums = w.alloc(min(w.most, len(w.pairs)*parted(min(traces, w.batch)))*tilePairs, device.F32)
}

// parted is the number of parts that so many traces have.
func parted(traces int) int { return (traces + meetPart - 1) / meetPart }

// run adds the block.
func (w *pairing) run(ctx context.Context) error {
	if w.falls == nil {
		if err := w.keep(ctx); err != nil {
			return err
		}
		return w.add(ctx, len(w.Traces()), w.weights, w.even, 0)
	}
	var samples []float32
	if w.uneven() {
		samples = w.w2
	}
	at := 0
	return w.each(ctx, w.needed, samples, func(f *kirchhoff.Falls, own []kirchhoff.Products, n int) error {
		for i := range w.needed {
			if err := w.send(w.falls, i*w.batch, f.Tile(i, n)); err != nil {
				return err
			}
		}
		weights, grams, step := w.weights, w.even, int32(0)
		if weights != 0 {
			weights += driver.Memory(4 * at)
		}
		at += n
		var products buffers
		if own != nil {
			products.dev, step = w.dev, 1
			defer products.free()
			if grams = putProducts(&products, own...); products.err != nil {
				return products.err
			}
		}
		return w.add(ctx, n, weights, grams, step)
	})
}

// keep finds the falls of tiles that have none yet.
func (w *pairing) keep(ctx context.Context) error {
	missing := slices.DeleteFunc(slices.Clone(w.needed), func(tile int) bool { return w.made[tile] })
	if len(missing) == 0 {
		return nil
	}
	at, all := 0, len(w.Traces())
	err := w.each(ctx, missing, nil, func(f *kirchhoff.Falls, _ []kirchhoff.Products, n int) error {
		for i, tile := range missing {
			if err := w.send(w.Hessian.falls, tile*all+at, f.Tile(i, n)); err != nil {
				return err
			}
		}
		at += n
		return nil
	})
	for _, tile := range missing {
		w.made[tile] = err == nil
	}
	return err
}

// each calls do with the falls of all traces that count on tiles, so many at a time as the host finds
// at once.
func (w *pairing) each(ctx context.Context, tiles []int, samples []float32, do func(f *kirchhoff.Falls, own []kirchhoff.Products, n int) error) error {
	batch := min(w.batch, fallBatch)
	f, err := w.NewFalls(tiles, samples, batch)
	if err != nil {
		return err
	}
	defer f.Free()
	for traces := range slices.Chunk(w.Traces(), batch) {
		own, err := f.Find(ctx, traces)
		if err == nil {
			err = do(f, own, len(traces))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// send copies falls to the card, from fall number at on.
func (w *pairing) send(to device.Buf, at int, falls []int32) error {
	return put(w.dev.Context().Main(), to.Slice(at*kirchhoff.FallWords, len(falls)), falls)
}

// add adds the first so many traces whose falls are on the card.
func (w *pairing) add(ctx context.Context, traces int, weights, grams driver.Memory, step int32) error {
	falls := w.falls
	if falls == nil {
		falls = w.Hessian.falls
	}
	c := w.dev.Context()
	parts := min(parted(traces), w.sums.Len()/tilePairs)
	pairs := w.sums.Len() / tilePairs / parts
	for lo := 0; lo < len(w.pairs); lo += pairs {
		n := min(pairs, len(w.pairs)-lo)
		list := w.onCard.pairs + driver.Memory(8*lo)
		for first := 0; first < traces; first += parts * meetPart {
			if err := ctx.Err(); err != nil {
				return err
			}
			some := min(parts, parted(traces-first))
			c.Launch(c.Main(), w.meet, driver.Shape{Blocks: [3]int{n, some, 1}, Threads: [3]int{meetThreads, 1, 1}},
				list, w.onCard.tiles, memory(falls), int32(first), int32(traces), weights, grams, step, memory(w.sums))
			c.Launch(c.Main(), w.gather, driver.Shape{Blocks: [3]int{n, tilePairs / meetThreads, 1}, Threads: [3]int{meetThreads, 1, 1}},
				w.block, list, w.onCard.tiles, memory(w.sums), int32(some))
		}
	}
	return nil
}

// failed adds to an error what the block needs.
func (w *pairing) failed(err error) error {
	b := w.block
	return fmt.Errorf("kirchhoff: a block of %d × %d elements of the Hessian needs %s on the card: %w",
		b.rows[1]-b.rows[0], b.cols[1]-b.cols[0], humanize.IBytes(uint64(w.bytes)), err)
}

// putProducts copies products to the card and returns where their grams are.
func putProducts(b *buffers, all ...kirchhoff.Products) driver.Memory {
	var v, rows int
	for _, p := range all {
		v, rows = v+len(p.V), rows+len(p.Row)
	}
	values, numbers := b.alloc(v, device.F32), b.alloc(rows, device.F32)
	grams := make([]gramThere, len(all))
	v, rows = 0, 0
	for i, p := range all {
		if b.err != nil {
			return 0
		}
		to, row := values.Slice(v, len(p.V)), numbers.Slice(rows, len(p.Row))
		if b.err = put(b.dev.Context().Main(), to, p.V); b.err == nil {
			b.err = put(b.dev.Context().Main(), row, p.Row)
		}
		grams[i] = gramThere{memory(to), memory(row), int32(p.Rows), int32(p.Bands), int32(p.Wide), int32(p.Stride)}
		v, rows = v+len(p.V), rows+len(p.Row)
	}
	return words(b, grams)
}
