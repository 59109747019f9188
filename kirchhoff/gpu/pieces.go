package gpu

import (
	"context"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/pieces"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// An application in pieces. The adjoint's are groups of boxes of tiles, whose sums are
// in the order of tiles; the forward's are groups of shots, whose sums are traces not
// yet convolved, [row][stride]. Both are float64 with a quantum, otherwise float32. The units
// of exact sums are the same as in the cpu engine; runs come from adjointLists.
const (
	mostImagePieces, leastTiles  = 6, 1 << 12
	mostTracePieces, leastTraces = 8, 1 << 11
	ahead                        = 2 // pieces of the forward that have memory
)

// cut makes the pieces of the image, which depend only on the slab.
func (g *geometry) cut(w kirchhoff.Work) {
	most := mostImagePieces
	if w.Whole {
		most = 1
	}
	boxes := len(g.plan.Boxes)
	for _, tile := range pieces.Cut(g.firstTile[:boxes], g.plan.Tiles, most, leastTiles) {
		box, _ := slices.BinarySearch(g.firstTile[:boxes], tile)
		g.boxCuts = append(g.boxCuts, box)
	}
}

// traceCuts makes the pieces of the traces, which depend only on these.
func traceCuts(p *survey.Positions) []int {
	return pieces.CutTraces(p.Source, 1, mostTracePieces, leastTraces)
}

// chunk is the number of points that one block of the kernel magnitude adds up.
const chunk = steps * threads

// chunks returns the number of points of a slab, of slabs, and of chunks in a slab.
func (g *geometry) chunks() (size, slabs, chunks int) {
	of := g.plan.Problem.Grid
	size = kirchhoff.SlabPoints(of.Dim()) * (of.Len() / of.Shape[0])
	return size, (g.plan.Problem.ImageLen() + size - 1) / size, (size + chunk - 1) / chunk
}

// Peak implements dist.Pieced. It leaves out the image's share of the weights, 2/v.
func (k *kernel) Peak() float64 { return k.engine.geometry.plan.Peak }

// Bound implements dist.Pieced with the numbers of the cpu engine, one for each shot or
// slab of kirchhoff.SlabPoints. The adjoint keeps the correlated traces for Begin: if
// Begin comes next, the source must not have changed.
func (k *kernel) Bound(d dist.Direction, src device.Buf) ([]float64, error) {
	k.engine.room.Lock()
	defer k.engine.room.Unlock()
	defer k.engine.buffers.dev.Clock.Main(d.String())()
	if err := k.engine.mine("bound", src); err != nil {
		return nil, err
	}
	if d == dist.Backward {
		if k.kept != nil { // all traces are one unit
			defer func() { k.engine.ready, k.engine.owner = src, k }()
		}
		return k.largest(k.engine.adjointPass(), src)
	}
	size, slabs, chunks := k.engine.geometry.chunks()
	k.engine.launch("magnitude", chunks, slabs, threads, 0, k.engine.bounds, src, k.engine.scale, int64(src.Len()), int64(size))
	sums, err := k.engine.bounded(slabs * chunks)
	var starts []int
	for n := 0; n < slabs*chunks; n += chunks {
		starts = append(starts, n)
	}
	return pieces.Sums(sums, starts), err
}

// largest returns for each shot the sum of the largest samples of its traces' rows. It leaves
// the rows of kept lists as they are in an application.
func (k *kernel) largest(by pass, src device.Buf) ([]float64, error) {
	n, each := k.image.Own.NumTraces(), k.engine.most.unit
	most := make([]float64, n)
	for band := range by.bands {
		first := band * 2 * k.engine.pitch
		for lo := 0; lo < n; lo += each {
			hi := min(lo+each, n)
			by.correlate(src, k.numbered, lo, hi)
			k.engine.launch("largest", hi-lo, 1, narrow, 0, k.engine.bounds.Slice(lo, hi-lo), k.engine.rows.Slice(first, k.engine.rows.Len()-first), k.engine.rowLen(), int32(k.engine.nt), by.step, k.engine.one())
		}
		of, err := k.engine.bounded(n)
		if err != nil {
			return nil, err
		}
		for i, v := range of {
			most[i] = max(most[i], v)
		}
	}
	return k.image.Shots(most), nil
}

// bounded brings n numbers of a bound to the host.
func (e *Engine) bounded(n int) ([]float64, error) {
	x := make([]float64, n)
	if n == 0 {
		return x, nil
	}
	return x, device.Download(x, e.bounds.Slice(0, n))
}

// Begin implements dist.Pieced. Errors of sums that the card still works on show later.
func (k *kernel) Begin(ctx context.Context, d dist.Direction, dst, src device.Buf, quantum float64) (dist.Application, error) {
	if err := k.image.Exactly(quantum); err != nil {
		return nil, err
	}
	k.engine.room.Lock()
	defer k.engine.room.Unlock()
	defer k.engine.buffers.dev.Clock.Main(d.String())()
	w, err := k.prepare(ctx, d, dst, src, quantum, false)
	if err != nil {
		return nil, err
	}
	return k.engine.begin(ctx, d.String(), w), k.engine.context.Err()
}

// begin begins an application whose pieces the card times under a name.
func (e *Engine) begin(ctx context.Context, name string, w pieces.Work) dist.Application {
	sum, finish := w.Sum, w.Finish
	w.Sum = func(lo, hi, piece int) (device.Buf, error) {
		defer e.buffers.dev.Clock.Main(name)()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return sum(lo, hi, piece)
	}
	w.Finish = func(lo, hi, piece int) error {
		defer e.buffers.dev.Clock.Main(name)()
		return finish(lo, hi, piece)
	}
	return e.room.Begin(w)
}

// makeRing allocates the sums of two pieces of the forward.
func (e *Engine) makeRing(exact bool) error {
	t := device.F32
	if exact {
		t = device.F64
	}
	if e.ring == nil || e.ring.Type() != t {
		e.ring = e.buffers.alloc(min(ahead, e.most.pieces)*e.tracePart(), t)
	}
	return e.buffers.err
}
