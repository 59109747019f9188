package kirchhoff

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/pieces"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// workspace is what applications need besides tables and lists of traces. All kernels of
// an engine share it.
type workspace struct {
	memory
	*Plan
	isa     simd.ISA
	threads int
	host    *device.Host

	tileCuts []int // first tile of each piece of the adjoint, and the number of tiles

	room      pieces.Room           // guards what follows: one application at a time
	image32   *simd.Memory[float32] // [tile][64]
	image64   *simd.Memory[float64] // [tile][64]
	windows   []*window             // per thread
	ends      [][2]padded           // per thread: a trace to convolve, one to correlate
	antialias []antialiasRoom       // per thread, with bands
	ring32    *simd.Memory[float32] // sums of two pieces of the forward; made when
	ring64    *simd.Memory[float64] // first needed
}

// window is one thread's windows of a block's traces.
type window struct {
	*simd.Memory[float32]
	dirty bool // not all zero
}

// Sizes of the blocks, found by trial: large enough that tables are read seldom,
// small enough that the block's stretches of traces stay in the caches.
var (
	adjointCells = cells{sources: 32, receivers: 16, limit: 32 * 16}
	forwardCells = cells{sources: 4, receivers: 8, limit: 4 * 8}
)

// newWorkspace makes room for applications of p.
func newWorkspace(p *Problem, counting bool) *workspace {
	w := &workspace{memory: memory{counting: counting}, threads: p.threads()}
	m := &w.memory
	w.Plan = outline(p, m)
	bands := 1
	if w.bands != nil {
		bands = w.bands.n
	}
	w.image32 = alloc[float32](m, w.Tiles*simd.TileSize)
	w.image64 = alloc[float64](m, w.Tiles*simd.TileSize)
	for range w.threads {
		w.windows = append(w.windows, &window{Memory: alloc[float32](m, windowLen(bands, p.NT))})
		w.ends = append(w.ends, [2]padded{w.Convolve.padded(m, p.NT), w.Correlate.padded(m, p.NT)})
		if w.bands != nil {
			w.antialias = append(w.antialias, w.bands.room(m, p.NT))
		}
	}
	return w
}

// fill makes a workspace ready.
func (w *workspace) fill(ctx context.Context, p *Problem) (err error) {
	if w.isa, err = chosenISA(); err != nil {
		return err
	}
	w.host = device.NewHost(w.threads)
	w.tileCuts = w.cuts()
	return w.Plan.fill(ctx, p)
}

func (w *workspace) close() {
	w.memory.free()
	w.ring32.Free()
	w.ring64.Free()
	w.image32 = nil
	w.room.End()
}

// step is the number of tiles between two checks of ctx, about a millisecond of work for
// a large block. Results do not depend on it.
const step = 64

// each calls f for tiles from to to on all threads: one superblock at a time, or less if
// there would be too few for the threads.
func (w *workspace) each(ctx context.Context, from, to int, f func(lo, hi int)) error {
	n := to - from
	size := min(step, max(4, n/(4*w.threads)))
	err := parallel(ctx, w.threads, (n+size-1)/size, func(_, i int) error {
		f(from+i*size, min(from+(i+1)*size, to))
		return nil
	})
	if err != nil {
		return err
	}
	return ctx.Err()
}

// loadImage puts an image into tiles.
func (w *workspace) loadImage(ctx context.Context, image []float32) error {
	return w.each(ctx, 0, w.Tiles, func(lo, hi int) { w.load(w.image32.S, image, w.Scale, lo, hi) })
}

// clearSums sets the sums of tiles lo to hi to zero.
func (w *workspace) clearSums(ctx context.Context, lo, hi int) error {
	return w.each(ctx, lo, hi, func(lo, hi int) { clear(w.image64.S[lo*simd.TileSize : hi*simd.TileSize]) })
}

// unloadSums adds the sums of tiles lo to hi, times scale, to an image.
func (w *workspace) unloadSums(ctx context.Context, image, scale []float32, lo, hi int) error {
	return w.each(ctx, lo, hi, func(lo, hi int) { unload(&w.Tiling, image, w.image64.S, scale, lo, hi) })
}

// correlateTrace sets to to a trace correlated with the wavelet.
func (w *workspace) correlateTrace(worker int, to, trace []float32) {
	d := w.ends[worker][1]
	copy(d.trace, trace)
	w.Correlate.apply(w.isa, to, d, false)
}

// smooth sets to to a band of a trace.
func (w *workspace) smooth(worker int, to, trace []float32, band int) {
	x := w.antialias[worker].trace
	copy(x.trace, trace)
	f := w.bands.triangle[band]
	w.isa.Filter(to, x.all[w.bands.longest()-len(f.Taps)/2:], f.Taps, false)
}
