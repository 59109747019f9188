package gpu

import (
	"context"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/pieces"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
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

// cut makes the pieces. Pieces of the image depend on the slab alone, pieces of the
// traces on the traces alone.
func (e *Engine) cut() {
	starts := []int{0}
	if slices.IsSorted(e.plan.Problem.Positions.Source) {
		starts = e.shotStarts()
	}
	e.traceCuts = pieces.Cut(starts, e.ntrace, mostTracePieces, leastTraces)
	boxes := len(e.plan.Boxes)
	for _, tile := range pieces.Cut(e.firstTile[:boxes], e.plan.Tiles, mostImagePieces, leastTiles) {
		box, _ := slices.BinarySearch(e.firstTile[:boxes], tile)
		e.boxCuts = append(e.boxCuts, box)
	}
}

// shotStarts returns the first trace of each shot. A shot is a stretch of neighbouring
// traces with one source place.
func (e *Engine) shotStarts() (starts []int) {
	source := e.plan.Problem.Positions.Source
	for i := range source {
		if i == 0 || source[i] != source[i-1] {
			starts = append(starts, i)
		}
	}
	return starts
}

// longestPiece is the largest number of traces in a piece of the forward.
func (e *Engine) longestPiece() int { return pieces.Longest(e.traceCuts) }

// sums are what a bound adds up on the card.
type sums struct {
	parts, result device.Buf
	starts        driver.Memory
	n             int // of results
}

// makeSums allocates the sums of parts that begin at starts.
func (e *Engine) makeSums(starts []int32) sums {
	n := len(starts) - 1
	return sums{parts: e.alloc(int(starts[n]), device.F64), starts: words(&e.buffers, starts), result: e.alloc(n, device.F64), n: n}
}

// chunk is the number of points that one block of the kernel magnitude adds up.
const chunk = steps * threads

// slabPoints is the number of points of a whole slab.
func (e *Engine) slabPoints() int {
	g := e.plan.Problem.Grid
	return kirchhoff.SlabPoints(g.Dim()) * (g.Len() / g.Shape[0])
}

// prepareBounds gets the memory for bounds.
func (e *Engine) prepareBounds() {
	e.shots = e.makeSums(int32s(append(e.shotStarts(), e.ntrace)))
	size := e.slabPoints()
	slabs, per := (e.plan.Problem.ImageLen()+size-1)/size, (size+chunk-1)/chunk
	var starts []int32
	for i := range slabs + 1 {
		starts = append(starts, int32(i*per))
	}
	e.chunks = e.makeSums(starts)
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
	s := e.shots
	if d == dist.Forward {
		s = e.chunks
		size := e.slabPoints()
		e.launch("magnitude", (size+chunk-1)/chunk, s.n, threads, 0, s.parts, src, e.scale, int64(src.Len()), int64(size))
	} else {
		e.correlateAll(src)
		e.ready = src
		e.launch("largest", e.ntrace, 1, narrow, 0, s.parts, e.rows, int32(e.nt))
	}
	e.launch("total", (s.n+narrow-1)/narrow, 1, narrow, 0, int32(s.n), s.result, s.parts, s.starts)
	out := make([]float64, s.n)
	if s.n == 0 {
		return out, nil
	}
	return out, device.Download(out, s.result)
}

// Begin implements dist.Pieced.
func (e *Engine) Begin(ctx context.Context, d dist.Direction, dst, src device.Buf, quantum float64) (dist.Application, error) {
	e.room.Lock()
	defer e.room.Unlock()
	kind := "_f32" // of sums, as kernels are called
	if quantum != 0 {
		kind = "_f64"
	}
	// begun begins a piece's work. Errors of sums that the card still works on show later.
	begun := func() (func(), error) { return e.dev.Mark(d.String()), ctx.Err() }
	if d == dist.Forward {
		if err := e.check("forward", dst, src); err != nil {
			return nil, err
		}
		if err := e.makeRing(quantum != 0); err != nil {
			return nil, err
		}
		e.load(src)
		slot := func(lo, hi, piece int) device.Buf { return e.ring.Slice(piece%ahead*e.tracePart(), (hi-lo)*e.stride) }
		sum := func(lo, hi, piece int) (device.Buf, error) {
			end, err := begun()
			defer end()
			if err == nil {
				err = e.demigrate(piece, quantum)
			}
			if err != nil {
				return nil, err
			}
			to := slot(lo, hi, piece)
			e.collect("collect"+kind, to, e.traces, to.Len(), e.forwardParts, e.tracePart())
			return to, e.context.Err()
		}
		return e.room.Begin(e.traceCuts, ahead, sum, func(lo, hi, piece int) error {
			e.convolveRows(kind, dst, slot(lo, hi, piece), lo, hi)
			return e.context.Err()
		}), e.context.Err()
	}
	if err := e.check("adjoint", src, dst); err != nil {
		return nil, err
	}
	if e.ready == nil || memory(e.ready) != memory(src) {
		e.correlateAll(src)
	}
	e.ready = nil
	sums := e.tiled
	if quantum != 0 {
		sums = e.image
	}
	part := func(of device.Buf, lo, hi int) device.Buf {
		return of.Slice(e.firstTile[lo]*simd.TileSize, (e.firstTile[hi]-e.firstTile[lo])*simd.TileSize)
	}
	sum := func(lo, hi, piece int) (device.Buf, error) {
		end, err := begun()
		defer end()
		if err != nil {
			return nil, err
		}
		e.migrate(piece, quantum)
		to := part(sums, lo, hi)
		if quantum == 0 || e.adjointParts > 1 {
			e.collect("collect"+kind, to, part(e.image, lo, hi), to.Len(), e.adjointParts, e.plan.Tiles*simd.TileSize)
		}
		return to, e.context.Err()
	}
	return e.room.Begin(e.boxCuts, len(e.boxCuts)-1, sum, func(lo, hi, _ int) error {
		e.unload("unload"+kind, dst, part(sums, lo, hi), e.firstTile[lo], e.firstTile[hi], 1)
		return e.context.Err()
	}), e.context.Err()
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
