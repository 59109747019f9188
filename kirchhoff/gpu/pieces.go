package gpu

import (
	"context"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/pieces"
)

// An application in pieces. The adjoint's are groups of boxes of tiles, whose sums are
// in the order of tiles; the forward's are groups of shots, whose sums are traces not
// yet convolved, [row][stride]. Both are float64 with a quantum, else float32. The units
// of exact sums are those of the cpu engine; runs are those of adjointLists.
const (
	mostImagePieces, leastTiles  = 6, 1 << 12
	mostTracePieces, leastTraces = 8, 1 << 11
	ahead                        = 2 // pieces of the forward that have memory
)

// cut makes the pieces. Pieces of the image depend only on the slab, pieces of the traces
// only on the traces.
func (e *Engine) cut(w kirchhoff.Work) {
	most := mostImagePieces
	if w.Whole {
		most = 1
	}
	e.traceCuts = pieces.CutTraces(e.plan.Problem.Positions.Source, 1, mostTracePieces, leastTraces)
	boxes := len(e.plan.Boxes)
	for _, tile := range pieces.Cut(e.firstTile[:boxes], e.plan.Tiles, most, leastTiles) {
		box, _ := slices.BinarySearch(e.firstTile[:boxes], tile)
		e.boxCuts = append(e.boxCuts, box)
	}
}

// longestPiece is the largest number of traces in a piece of the forward.
func (e *Engine) longestPiece() int { return pieces.Longest(e.traceCuts) }

// chunk is the number of points that one block of the kernel magnitude adds up.
const chunk = steps * threads

// chunks returns the number of points of a slab, of slabs, and of chunks in a slab.
func (e *Engine) chunks() (size, slabs, chunks int) {
	g := e.plan.Problem.Grid
	size = kirchhoff.SlabPoints(g.Dim()) * (g.Len() / g.Shape[0])
	return size, (e.plan.Problem.ImageLen() + size - 1) / size, (size + chunk - 1) / chunk
}

// Peak implements dist.Pieced. It leaves out the image's share of the weights, 2/v.
func (e *Engine) Peak() float64 { return e.plan.Peak }

// Bound implements dist.Pieced with the numbers of the cpu engine, one for each shot or
// slab of kirchhoff.SlabPoints. The adjoint keeps the correlated traces for Begin: if
// Begin comes next, the source must not have changed.
func (e *Engine) Bound(d dist.Direction, src device.Buf) ([]float64, error) {
	e.room.Lock()
	defer e.room.Unlock()
	if err := e.mine("bound", src); err != nil {
		return nil, err
	}
	var starts []int
	n := e.ntrace
	if d == dist.Forward {
		size, slabs, chunks := e.chunks()
		e.launch("magnitude", chunks, slabs, threads, 0, e.bounds, src, e.scale, int64(src.Len()), int64(size))
		for n = 0; n < slabs*chunks; n += chunks {
			starts = append(starts, n)
		}
	} else {
		e.correlateAll(src)
		e.ready = src
		e.launch("largest", e.ntrace, 1, narrow, 0, e.bounds, e.rows, int32(e.nt), int64(e.pitch()), e.one())
		starts = pieces.Starts(e.plan.Problem.Positions.Source, 1)
	}
	parts := make([]float64, n)
	if n > 0 {
		if err := device.Download(parts, e.bounds.Slice(0, n)); err != nil {
			return nil, err
		}
	}
	return pieces.Sums(parts, starts), nil
}

// Begin implements dist.Pieced. Errors of sums that the card still works on show later.
func (e *Engine) Begin(ctx context.Context, d dist.Direction, dst, src device.Buf, quantum float64) (dist.Application, error) {
	e.room.Lock()
	defer e.room.Unlock()
	w, err := e.work(d, dst, src, quantum, false)
	if err != nil {
		return nil, err
	}
	sum := w.Sum
	w.Sum = func(lo, hi, piece int) (device.Buf, error) {
		defer e.dev.Mark(d.String())()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return sum(lo, hi, piece)
	}
	return e.room.Begin(w), e.context.Err()
}

// makeRing allocates the sums of two pieces of the forward.
func (e *Engine) makeRing(exact bool) error {
	t := device.F32
	if exact {
		t = device.F64
	}
	if e.ring == nil || e.ring.Type() != t {
		e.ring = e.alloc(min(ahead, len(e.traceCuts)-1)*e.tracePart(), t)
	}
	return e.err
}

// Sums returns the buffers from which Sum returns stretches: those of the adjoint and
// those of the forward. exact selects sums with a quantum. The buffers stay the same for
// all applications of a kind.
func (e *Engine) Sums(exact bool) (image, traces device.Buf, err error) {
	e.room.Lock()
	defer e.room.Unlock()
	if err := e.makeRing(exact); err != nil {
		return nil, nil, err
	}
	if exact {
		return e.image, e.ring, nil
	}
	return e.tiled, e.ring, nil
}
