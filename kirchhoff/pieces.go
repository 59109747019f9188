package kirchhoff

import (
	"context"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// An application in pieces. The adjoint's are groups of boxes of tiles, whose sums
// are in the order of tiles: float64 with a quantum, else float32. The forward's are
// groups of shots, whose sums are traces not yet convolved, of the same types; two of
// them have memory.
//
// The units of exact sums are, in the adjoint, a run of traces (see blocking) and a
// tile, in the forward a trace and a box.
const (
	mostImagePieces, leastTiles  = 6, 512
	mostTracePieces, leastTraces = 32, 2048
	ring                         = 2 // pieces of the forward that have memory
)

// cuts returns the first tile of each piece and the number of tiles: it depends on
// the slab alone.
func (t *tiling) cuts() []int {
	starts := make([]int, len(t.boxes))
	for i, b := range t.boxes {
		starts[i] = b.tile
	}
	return group(starts, t.tiles, mostImagePieces, leastTiles)
}

// traceCuts returns the first trace of each piece and the number of traces: it
// depends on the traces alone. Those that are not sorted by source are one piece.
func (p *Problem) traceCuts() []int {
	source := p.Positions.Source
	starts := []int{0}
	if slices.IsSorted(source) {
		for i := 1; i < len(source); i++ {
			// Blocks do not reach over pieces, so whole ones are best.
			if source[i]/laneCells.sources != source[i-1]/laneCells.sources {
				starts = append(starts, i)
			}
		}
	}
	return group(starts, len(source), mostTracePieces, leastTraces)
}

// group makes of parts that begin at starts, n elements in all, at most the given
// number of groups of nearly the same size, and no more than have least elements.
func group(starts []int, n, most, least int) []int {
	cuts := []int{0}
	if n == 0 {
		return cuts
	}
	groups := max(1, min(most, n/least))
	last := 0
	for _, at := range starts {
		if g := at * groups / n; g > last {
			cuts, last = append(cuts, at), g
		}
	}
	return append(cuts, n)
}

// tables is what an application in pieces asks of an engine.
type tables interface {
	// sumTiles sets the sums of tiles lo to hi of image64, in order from the first.
	sumTiles(ctx context.Context, lo, hi int, quantum float64) error
	// sumTraces sets the sums of one piece of the forward, in order from the first:
	// exact with a quantum, else plain.
	sumTraces(ctx context.Context, piece int, plain []float32, exact []float64, quantum float64) error
}

// application is one under way: a dist.Application.
type application struct {
	*workspace
	cuts   []int
	ahead  int
	scale  []float32 // of the image in the adjoint; nil for 1
	sum    func(lo, hi, piece int) (device.Buf, error)
	finish func(lo, hi, piece int) error
}

func (a *application) Pieces() int { return len(a.cuts) - 1 }
func (a *application) Ahead() int  { return a.ahead }

func (a *application) Sum(i int) (buf device.Buf, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.check()
	return a.sum(a.cuts[i], a.cuts[i+1], i)
}

func (a *application) Finish(i int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.check()
	if i == a.Pieces()-1 {
		a.current = nil
	}
	return a.finish(a.cuts[i], a.cuts[i+1], i)
}

func (a *application) check() {
	if a.current != a {
		panic("kirchhoff: an application goes on after its end, or that of the engine, or after another was begun")
	}
}

// backward begins an adjoint in pieces.
func (w *workspace) backward(ctx context.Context, t tables, image []float32, quantum float64) *application {
	a := &application{workspace: w, cuts: w.tileCuts, ahead: len(w.tileCuts), scale: w.scale}
	w.current = a
	const size = simd.TileSize
	if quantum != 0 {
		a.sum = func(lo, hi, _ int) (device.Buf, error) {
			err := t.sumTiles(ctx, lo, hi, quantum)
			return device.Wrap(w.host, w.image64.S[lo*size:hi*size]), err
		}
		a.finish = func(lo, hi, _ int) error {
			return w.each(ctx, lo, hi, func(lo, hi int) { unload(w.tiles, image, w.image64.S, a.scale, lo, hi) })
		}
		return a
	}
	a.sum = func(lo, hi, _ int) (device.Buf, error) {
		if err := t.sumTiles(ctx, lo, hi, 0); err != nil {
			return nil, err
		}
		err := w.each(ctx, lo, hi, func(lo, hi int) {
			for i := lo * size; i < hi*size; i++ {
				w.image32.S[i] = float32(w.image64.S[i])
			}
		})
		return device.Wrap(w.host, w.image32.S[lo*size:hi*size]), err
	}
	a.finish = func(lo, hi, _ int) error {
		return w.each(ctx, lo, hi, func(lo, hi int) { unload(w.tiles, image, w.image32.S, a.scale, lo, hi) })
	}
	return a
}

// forward begins a forward in pieces.
func (w *workspace) forward(ctx context.Context, t tables, data, image []float32, quantum float64) (dist.Application, error) {
	if err := w.makeRing(quantum != 0); err != nil {
		return nil, err
	}
	if err := w.load(ctx, image); err != nil {
		return nil, err
	}
	a := &application{workspace: w, cuts: w.traceCuts, ahead: ring}
	w.current = a
	if quantum != 0 {
		part := slots(w, w.ring64)
		a.sum = func(lo, hi, piece int) (device.Buf, error) {
			sums := part(lo, hi, piece)
			err := t.sumTraces(ctx, piece, nil, sums, quantum)
			return device.Wrap(w.host, sums), err
		}
		a.finish = func(lo, hi, piece int) error { return convolveRows(ctx, w, data, part(lo, hi, piece), lo) }
		return a, nil
	}
	part := slots(w, w.ring32)
	a.sum = func(lo, hi, piece int) (device.Buf, error) {
		sums := part(lo, hi, piece)
		err := t.sumTraces(ctx, piece, sums, nil, 0)
		return device.Wrap(w.host, sums), err
	}
	a.finish = func(lo, hi, piece int) error { return convolveRows(ctx, w, data, part(lo, hi, piece), lo) }
	return a, nil
}

// makeRing allocates the sums of two pieces of the forward.
func (w *workspace) makeRing(exact bool) error {
	if exact {
		return grow(&w.ring64, w.p.ringLen())
	}
	return grow(&w.ring32, w.p.ringLen())
}

// grow makes room for n elements.
func grow[T float32 | float64](m **simd.Memory[T], n int) (err error) {
	if *m != nil && len((*m).S) >= n {
		return nil
	}
	(*m).Free()
	*m, err = simd.Alloc[T](n)
	return err
}

// ringLen is the number of samples in two pieces of the forward.
func (p *Problem) ringLen() int {
	cuts := p.traceCuts()
	longest := 0
	for i := range len(cuts) - 1 {
		longest = max(longest, cuts[i+1]-cuts[i])
	}
	return min(ring, len(cuts)-1) * longest * p.NT
}

// slots returns where the sums of a piece of the forward are.
func slots[T float32 | float64](w *workspace, m *simd.Memory[T]) func(lo, hi, piece int) []T {
	nt := w.p.NT
	length := w.p.ringLen() / max(1, min(ring, len(w.traceCuts)-1))
	return func(lo, hi, piece int) []T {
		return m.S[piece%ring*length:][:(hi-lo)*nt]
	}
}

// convolveRows adds traces, [row − row0][nt], convolved, to the data.
func convolveRows[T float32 | float64](ctx context.Context, w *workspace, data []float32, traces []T, row0 int) error {
	nt := w.p.NT
	return parallel(ctx, w.threads, len(traces)/nt, func(worker, i int) error {
		u := w.ends[worker][0].trace
		switch row := any(traces[i*nt : (i+1)*nt]).(type) {
		case []float32:
			copy(u, row)
		case []float64:
			simd.Narrow(u, row)
		}
		w.add(worker, data, row0+i)
		return nil
	})
}

// Begin implements dist.Pieced.
func (c *CPU) Begin(ctx context.Context, d dist.Direction, dst, src device.Buf, quantum float64) (dist.Application, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d == dist.Forward {
		data, image := c.slices("forward", dst, src)
		return c.forward(ctx, c, data, image, quantum)
	}
	data, image := c.slices("adjoint", src, dst)
	if len(c.ready) == 0 || &c.ready[0] != &data[0] {
		if err := c.correlateAll(ctx, data, nil); err != nil {
			return nil, err
		}
	}
	c.ready = nil
	return c.backward(ctx, c, image, quantum), nil
}

func (c *CPU) sumTiles(ctx context.Context, lo, hi int, quantum float64) error {
	return c.each(ctx, lo, hi, func(lo, hi int) {
		clear(c.image64.S[lo*simd.TileSize : hi*simd.TileSize])
		c.migrate(ctx, lo, hi, quantum)
	})
}

func (c *CPU) sumTraces(ctx context.Context, piece int, plain []float32, exact []float64, quantum float64) error {
	if quantum != 0 {
		return c.demigrateExactly(ctx, piece, exact, quantum)
	}
	row0, nt := c.traceCuts[piece], c.p.NT
	return c.demigrate(ctx, piece, piece+1, func(_, row int, collapse func([]float32)) {
		collapse(plain[(row-row0)*nt : (row-row0+1)*nt])
	})
}
