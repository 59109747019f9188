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
func (t *Tiling) cuts() []int {
	starts := make([]int, len(t.Boxes))
	for i, b := range t.Boxes {
		starts[i] = b.First
	}
	return Pieces(starts, t.Tiles, mostImagePieces, leastTiles)
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
	return Pieces(starts, len(source), mostTracePieces, leastTraces)
}

// Pieces makes of parts that begin at starts, n elements in all, at most the given number
// of groups of nearly the same size, and no more than have least elements each. It returns
// where they begin, and n.
func Pieces(starts []int, n, most, least int) []int {
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

// application is one under way: a dist.Application.
type application struct {
	*workspace
	cuts   []int
	ahead  int
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

// Begin implements dist.Pieced. Its error is a quantum where the budget for tables
// does not hold the places of a run.
func (k *kernel) Begin(ctx context.Context, d dist.Direction, dst, src device.Buf, quantum float64) (dist.Application, error) {
	if err := k.exactly(quantum); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if d == dist.Forward {
		data, image := k.slices("forward", dst, src)
		return k.forward(ctx, data, image, quantum)
	}
	data, image := k.slices("adjoint", src, dst)
	migrate := k.migration(ctx, data, quantum)
	return k.backward(ctx, image, k.Scale, quantum, func(lo, hi int) error { return k.sumTiles(ctx, lo, hi, k.kept == nil, migrate) }), nil
}

// backward begins an adjoint in pieces; sum sets the sums of tiles lo to hi. Without a
// quantum they are handed out in float32.
func (w *workspace) backward(ctx context.Context, image, scale []float32, quantum float64, sum func(lo, hi int) error) *application {
	a := &application{workspace: w, cuts: w.tileCuts, ahead: len(w.tileCuts)}
	w.current = a
	const size = simd.TileSize
	a.sum = func(lo, hi, _ int) (device.Buf, error) {
		err := sum(lo, hi)
		if err != nil || quantum != 0 {
			return device.Wrap(w.host, w.image64.S[lo*size:hi*size]), err
		}
		err = w.each(ctx, lo, hi, func(lo, hi int) {
			for i := lo * size; i < hi*size; i++ {
				w.image32.S[i] = float32(w.image64.S[i])
			}
		})
		return device.Wrap(w.host, w.image32.S[lo*size:hi*size]), err
	}
	a.finish = func(lo, hi, _ int) error {
		if quantum != 0 {
			return w.unloadSums(ctx, image, scale, lo, hi)
		}
		return w.each(ctx, lo, hi, func(lo, hi int) { unload(&w.Tiling, image, w.image32.S, scale, lo, hi) })
	}
	return a
}

// forward begins a forward in pieces. Its sums are traces, float64 with a quantum, else
// float32.
func (k *kernel) forward(ctx context.Context, data, image []float32, quantum float64) (dist.Application, error) {
	n, length := ringLen(k.traceCuts, k.Problem.NT)
	sums, err := k.makeRing(n, quantum != 0)
	if err != nil {
		return nil, err
	}
	if err := k.loadImage(ctx, image); err != nil {
		return nil, err
	}
	a := &application{workspace: k.workspace, cuts: k.traceCuts, ahead: ring}
	k.current = a
	c := &cursor{kernel: k}
	slot := func(lo, hi, piece int) device.Buf { return sums.Slice(piece%ring*length, (hi-lo)*k.Problem.NT) }
	a.sum = func(lo, hi, piece int) (device.Buf, error) {
		return slot(lo, hi, piece), c.sumTraces(ctx, piece, slot(lo, hi, piece), quantum)
	}
	a.finish = func(lo, hi, piece int) error { return k.convolveRows(ctx, data, slot(lo, hi, piece), lo) }
	return a, nil
}

// makeRing allocates the sums of two pieces of the forward, n samples.
func (w *workspace) makeRing(n int, exact bool) (device.Buf, error) {
	if exact {
		err := grow(&w.ring64, n)
		return device.Wrap(w.host, w.ring64.S), err
	}
	err := grow(&w.ring32, n)
	return device.Wrap(w.host, w.ring32.S), err
}

// grow makes room for n elements.
func grow[T float32 | float64](m **simd.Memory[T], n int) (err error) {
	if *m != nil && len((*m).S) >= n {
		return nil
	}
	(*m).Free()
	if *m, err = simd.Alloc[T](n); err != nil {
		*m = &simd.Memory[T]{}
	}
	return err
}

// ringLen is the number of samples in the pieces of the forward that have memory, and in
// one of them.
func ringLen(cuts []int, nt int) (all, piece int) {
	for i := range len(cuts) - 1 {
		piece = max(piece, (cuts[i+1]-cuts[i])*nt)
	}
	return min(ring, len(cuts)-1) * piece, piece
}

// convolveRows adds traces, [row − row0][nt], convolved, to the data.
func (k *kernel) convolveRows(ctx context.Context, data []float32, traces device.Buf, row0 int) error {
	nt := k.Problem.NT
	return parallel(ctx, k.threads, traces.Len()/nt, func(worker, i int) error {
		u, row := k.ends[worker][0].trace, traces.Slice(i*nt, nt)
		if row.Type() == device.F32 {
			copy(u, device.Slice[float32](row))
		} else {
			simd.Narrow(u, device.Slice[float64](row))
		}
		k.addTrace(worker, data, row0+i)
		return nil
	})
}

// sumTraces sets the sums of one piece of the forward.
func (o *lists) sumTraces(ctx context.Context, piece int, sums device.Buf, quantum float64) error {
	if quantum != 0 {
		return o.demigrateExactly(ctx, piece, device.Slice[float64](sums), quantum)
	}
	row0, nt, to := o.traceCuts[piece], o.Problem.NT, device.Slice[float32](sums)
	return o.demigrate(ctx, piece, piece+1, func(_, trace int, collapse func([]float32)) {
		collapse(to[(trace-row0)*nt : (trace-row0+1)*nt])
	})
}
