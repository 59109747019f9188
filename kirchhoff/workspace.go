package kirchhoff

import (
	"context"
	"fmt"
	"sync"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// workspace is what an application needs besides tables: the image in tiles, the
// wavelet, windows. Engines that hold tables in turn share one.
type workspace struct {
	p       Problem // without Velocity and Amplitude
	traces  int     // of the data
	isa     simd.ISA
	threads int
	host    *device.Host
	tiles   *tiling
	scale   []float32 // [ImageLen()], the image's share of the weights; nil for 1
	stride  int       // elements between rows of traces
	peak    float64

	traceCuts []int // first trace of each piece of the forward, and the number of traces
	tileCuts  []int // first tile of each piece of the adjoint, and the number of tiles

	convolve, correlate *filter
	bands               *bands // nil without anti-aliasing

	rows []int32 // row of the data of each trace; nil: its own number
	// inCells says of each trace what inCells does, where engines of some of the traces
	// need it of all.
	inCells []bool
	*room
}

// room is the memory of an application. Engines of classes of traces share it.
type room struct {
	mu        sync.Mutex            // guards what follows: one application at a time
	current   *application          // the last begun in pieces
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

// strideOf is the distance between rows of nt samples. Rows an odd number of cache
// lines apart share no sets.
func strideOf(nt int) int {
	const line = 16
	return ((nt+2*simd.TileSize+line-1)/line | 1) * line
}

func newWorkspace(ctx context.Context, p *Problem) (*workspace, error) {
	isa, err := chosenISA()
	if err != nil {
		return nil, err
	}
	lo, hi := p.slab()
	w := &workspace{p: *p, traces: p.NumTraces(), isa: isa, threads: p.threads(), stride: strideOf(p.NT), tiles: newTiling(p.Grid, [2]int{lo, hi}), room: &room{}}
	w.host = device.NewHost(w.threads)
	w.scale = p.imageScale()
	if w.peak, err = peak(ctx, p, w.tiles); err != nil {
		return nil, err
	}
	if w.bands, err = newBands(p); err != nil {
		return nil, err
	}
	w.p.Velocity, w.p.Amplitude = nil, nil
	w.traceCuts, w.tileCuts = p.traceCuts(), w.tiles.cuts()
	w.convolve, w.correlate = newFilters(p.taps(), p.Wavelet.Zero, p.NT)
	if err := w.allocate(); err != nil {
		w.free()
		return nil, err
	}
	return w, nil
}

// imageScale is 2/v or, where cos θ = |p_s + p_r|/2, 1/v.
func (p *Problem) imageScale() []float32 {
	if !p.Dynamic {
		return nil
	}
	factor := 2.0
	if p.Grid.Dim() == 3 {
		factor = 1
	}
	lo, _ := p.slab()
	scale := make([]float32, p.ImageLen())
	for i := range scale {
		scale[i] = float32(factor / p.Velocity[lo*p.plane()+i])
	}
	return scale
}

func (w *workspace) allocate() (err error) {
	if w.image32, err = simd.Alloc[float32](w.tiles.tiles * simd.TileSize); err != nil {
		return err
	}
	if w.image64, err = simd.Alloc[float64](w.tiles.tiles * simd.TileSize); err != nil {
		return err
	}
	bands := 1
	if w.bands != nil {
		bands = w.bands.n
	}
	for range w.threads {
		m, err := simd.Alloc[float32](windowLen(bands, w.p.NT))
		if err != nil {
			return err
		}
		w.windows = append(w.windows, &window{Memory: m})
		w.ends = append(w.ends, [2]padded{w.convolve.padded(w.p.NT), w.correlate.padded(w.p.NT)})
		if w.bands != nil {
			w.antialias = append(w.antialias, w.bands.room(w.p.NT))
		}
	}
	return nil
}

func (w *workspace) free() {
	for _, m := range w.windows {
		m.Free()
	}
	w.bands.free()
	w.image32.Free()
	w.image64.Free()
	w.ring32.Free()
	w.ring64.Free()
	w.image32, w.current = nil, nil
}

// step is the number of tiles between two looks at ctx: about a millisecond of
// work for a large block. It has no influence on results.
const step = 64

// each calls f for tiles from to to on all threads: a superblock at a time, or less
// where there would be too few for the threads.
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

// load puts the image into tiles.
func (w *workspace) load(ctx context.Context, image []float32) error {
	return w.each(ctx, 0, w.tiles.tiles, func(lo, hi int) { w.tiles.load(w.image32.S, image, w.scale, lo, hi) })
}

// dataRow is the row of the data that belongs to a trace.
func (w *workspace) dataRow(trace int) int {
	if w.rows == nil {
		return trace
	}
	return int(w.rows[trace])
}

// add adds to a trace of the data the one in a worker's first end, convolved.
func (w *workspace) add(worker int, data []float32, trace int) {
	nt := w.p.NT
	at := w.dataRow(trace)
	w.convolve.apply(w.isa, data[at*nt:(at+1)*nt], w.ends[worker][0], true)
}

func (w *workspace) slices(op string, data, image device.Buf) (d, m []float32) {
	d, m = device.Slice[float32](data), device.Slice[float32](image)
	checkSizes(op, &w.p, w.traces, len(d), len(m))
	if w.image32 == nil {
		panic(fmt.Sprintf("kirchhoff: %s of a closed engine", op))
	}
	return d, m
}
