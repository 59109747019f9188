package kirchhoff

import (
	"context"
	"sort"

	"github.com/kirchhoff-lsm/lsm/internal/workers"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// window is one thread's windows of a block's traces.
type window struct {
	*simd.Memory[float32]
	dirty bool // not all zero
}

// crossing is a thread's room for a trace between the data and the kernels, by phase: made by these, to
// convolve, and of the data, to correlate.
type crossing struct{ made, data []padded }

// Sizes of the blocks, found by trial: large enough that tables are read seldom,
// small enough that the block's stretches of traces stay in the caches.
var (
	adjointCells = cells{sources: 32, receivers: 16, limit: 32 * 16}
	forwardCells = cells{sources: 4, receivers: 8, limit: 4 * 8}
)

// allocate makes room for applications.
func (e *cpu) allocate() {
	m, nt := &e.memory, e.plan.Problem.NT
	e.image32 = alloc[float32](m, e.plan.Tiles*simd.TileSize)
	e.image64 = alloc[float64](m, e.plan.Tiles*simd.TileSize)
	for range e.threads {
		e.windows = append(e.windows, &window{Memory: alloc[float32](m, e.plan.windowLen())})
		e.picks = append(e.picks, newPicked(m))
		var c crossing
		for phase, f := range e.plan.convolutions() {
			c.made = append(c.made, f.padded(m, nt))
			c.data = append(c.data, e.plan.correlations()[phase].padded(m, nt))
		}
		e.crossings = append(e.crossings, c)
		if e.plan.phases() > 1 {
			e.minus = append(e.minus, alloc[float32](m, e.plan.mostTiles()*simd.TileSize))
		}
		if e.plan.bands.n > 1 {
			e.antialias = append(e.antialias, antialiasRoom{trace: e.plan.bands.triangle[e.plan.bands.n-1].padded(m, nt),
				sums: onHeap[float64](m, e.plan.phases()*forwardCells.limit*nt), scratch: onHeap[float64](m, nt+2*simd.ScratchEnd)})
		}
	}
}

// step is the largest number of tiles that a thread takes at once. Results do not depend
// on it.
const step = 64

// each calls f for tiles from to to on all threads.
func (e *cpu) each(ctx context.Context, from, to int, f func(lo, hi int)) error {
	return e.eachBox(ctx, from, to, func(_, _, lo, hi int) { f(lo, hi) })
}

// eachBox calls f for tiles from to to on all threads: box by box, or less at a time if
// there would be too few for the threads.
func (e *cpu) eachBox(ctx context.Context, from, to int, f func(worker, box, lo, hi int)) error {
	size := min(step, max(4, (to-from)/(4*e.threads)))
	type stretch struct{ box, lo, hi int }
	var list []stretch
	first := sort.Search(len(e.plan.Boxes), func(i int) bool { return e.plan.end(i) > from })
	for box := first; box < len(e.plan.Boxes) && e.plan.Boxes[box].First < to; box++ {
		for lo := max(from, e.plan.Boxes[box].First); lo < min(to, e.plan.end(box)); lo += size {
			list = append(list, stretch{box, lo, min(lo+size, to, e.plan.end(box))})
		}
	}
	err := workers.Each(ctx, e.threads, len(list), func(worker, i int) error {
		f(worker, list[i].box, list[i].lo, list[i].hi)
		return nil
	})
	if err != nil {
		return err
	}
	return ctx.Err()
}

// loadImage puts an image into tiles.
func (e *cpu) loadImage(ctx context.Context, image []float32) error {
	return e.each(ctx, 0, e.plan.Tiles, func(lo, hi int) { e.plan.load(e.image32.S, image, e.plan.Scale, lo, hi) })
}

// clearSums sets the sums of tiles lo to hi to zero.
func (e *cpu) clearSums(ctx context.Context, lo, hi int) error {
	return e.each(ctx, lo, hi, func(lo, hi int) { clear(e.image64.S[lo*simd.TileSize : hi*simd.TileSize]) })
}

// unloadSums adds the sums of tiles lo to hi, times scale, to an image.
func (e *cpu) unloadSums(ctx context.Context, image, scale []float32, lo, hi int) error {
	return e.each(ctx, lo, hi, func(lo, hi int) { unload(&e.plan.Tiling, image, e.image64.S, scale, lo, hi) })
}

// correlateTrace sets to to a trace correlated with the wavelet of a phase.
func (e *cpu) correlateTrace(worker, phase int, to, trace []float32) {
	x := e.crossings[worker].data[phase]
	copy(x.trace, trace)
	e.plan.correlations()[phase].apply(e.isa, to, x, false)
}

// smoothBand sets to to a band of a trace.
func (e *cpu) smoothBand(worker int, to, trace []float32, band int) {
	x := e.antialias[worker].trace
	copy(x.trace, trace)
	f := e.plan.bands.triangle[band]
	e.isa.Filter(to, x.all[e.plan.bands.longest()-len(f.Taps)/2:], f.Taps, false)
}
