package kirchhoff

import (
	"context"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/pieces"
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

// cuts returns the first tile of each piece, followed by the number of tiles. It depends
// on the slab alone.
func (t *Tiling) cuts() []int {
	starts := make([]int, len(t.Boxes))
	for i, b := range t.Boxes {
		starts[i] = b.First
	}
	return pieces.Cut(starts, t.Tiles, mostImagePieces, leastTiles)
}

// traceCuts returns the first trace of each piece, followed by the number of traces. It
// depends on the traces alone. Traces that are not sorted by source form one piece.
func (p *Problem) traceCuts() []int {
	source := p.Positions.Source
	starts := []int{0}
	if slices.IsSorted(source) {
		for i := 1; i < len(source); i++ {
			// Blocks do not span pieces, so pieces should hold whole blocks.
			if source[i]/laneCells.sources != source[i-1]/laneCells.sources {
				starts = append(starts, i)
			}
		}
	}
	return pieces.Cut(starts, len(source), mostTracePieces, leastTraces)
}

// Begin implements dist.Pieced. It returns an error if there is a quantum and the budget
// for tables does not hold the places of a run.
func (k *kernel) Begin(ctx context.Context, d dist.Direction, dst, src device.Buf, quantum float64) (dist.Application, error) {
	if err := k.exactly(quantum); err != nil {
		return nil, err
	}
	k.room.Lock()
	defer k.room.Unlock()
	if d == dist.Forward {
		data, image := k.slices("forward", dst, src)
		return k.forward(ctx, data, image, quantum)
	}
	data, image := k.slices("adjoint", src, dst)
	migrate := k.migration(ctx, data, quantum)
	return k.backward(ctx, image, k.Scale, quantum, func(lo, hi int) error { return k.sumTiles(ctx, lo, hi, k.kept == nil, migrate) }), nil
}

// backward begins an adjoint in pieces. sum sets the sums of tiles lo to hi. Without a
// quantum the pieces are float32.
func (w *workspace) backward(ctx context.Context, image, scale []float32, quantum float64, sum func(lo, hi int) error) dist.Application {
	const size = simd.TileSize
	part := func(lo, hi, _ int) (device.Buf, error) {
		err := sum(lo, hi)
		if err != nil || quantum != 0 {
			return device.Wrap(w.host, w.image64.S[lo*size:hi*size]), err
		}
		err = w.each(ctx, lo, hi, func(lo, hi int) {
			simd.Narrow(w.image32.S[lo*size:hi*size], w.image64.S[lo*size:hi*size])
		})
		return device.Wrap(w.host, w.image32.S[lo*size:hi*size]), err
	}
	finish := func(lo, hi, _ int) error {
		if quantum != 0 {
			return w.unloadSums(ctx, image, scale, lo, hi)
		}
		return w.each(ctx, lo, hi, func(lo, hi int) { unload(&w.Tiling, image, w.image32.S, scale, lo, hi) })
	}
	return w.room.Begin(w.tileCuts, len(w.tileCuts), part, finish)
}

// forward begins a forward in pieces. Its sums are traces, float64 with a quantum, else
// float32.
func (k *kernel) forward(ctx context.Context, data, image []float32, quantum float64) (dist.Application, error) {
	nt := k.Problem.NT
	length := pieces.Longest(k.traceCuts) * nt
	sums, err := k.makeRing(ringLen(k.traceCuts, nt), quantum != 0)
	if err != nil {
		return nil, err
	}
	if err := k.loadImage(ctx, image); err != nil {
		return nil, err
	}
	c := &cursor{kernel: k}
	slot := func(lo, hi, piece int) device.Buf { return sums.Slice(piece%ring*length, (hi-lo)*nt) }
	sum := func(lo, hi, piece int) (device.Buf, error) {
		to := slot(lo, hi, piece)
		return to, c.sumTraces(ctx, piece, to, quantum)
	}
	return k.room.Begin(k.traceCuts, ring, sum, func(lo, hi, piece int) error {
		return k.convolveRows(ctx, data, slot(lo, hi, piece), lo)
	}), nil
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

// ringLen is the number of samples in the pieces of the forward that are allocated.
func ringLen(cuts []int, nt int) int { return min(ring, len(cuts)-1) * pieces.Longest(cuts) * nt }

// convolveRows convolves traces, [row − row0][nt], and adds them to the data.
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
