package kirchhoff

import (
	"context"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/workers"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/pieces"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// An application in pieces. The adjoint's are groups of boxes of tiles, whose sums
// are in the order of tiles: float64 with a quantum, otherwise float32. The forward's are
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

// cutPieces returns the first tile of each piece, or of one, followed by the number of tiles. It
// depends only on the slab.
func (t *Tiling) cutPieces(whole bool) []int {
	starts, most := make([]int, len(t.Boxes)), mostImagePieces
	if whole {
		most = 1
	}
	for i, b := range t.Boxes {
		starts[i] = b.First
	}
	return pieces.Cut(starts, t.Tiles, most, leastTiles)
}

// Slabs returns where the slabs of SlabPoints begin: at which points along the grid's
// first axis, and at which elements in the sums of an adjoint in one piece. Both lists end
// with what follows the last slab.
func (p *Problem) Slabs() (points, sums []int) {
	l, x := Outline(p), 3-p.Grid.Dim()
	for i, b := range l.Boxes {
		if i == 0 || b.Lo[x] != l.Boxes[i-1].Lo[x] {
			points, sums = append(points, b.Lo[x]), append(sums, b.First*simd.TileSize)
		}
	}
	_, hi := p.slab()
	return append(points, hi), append(sums, l.Tiles*simd.TileSize)
}

// traceCuts returns the first trace of each piece, followed by the number of traces. It
// depends only on the traces.
func traceCuts(p *survey.Positions) []int {
	// Blocks do not span pieces, so pieces should hold whole blocks.
	return pieces.CutTraces(p.Source, laneCells.sources, mostTracePieces, leastTraces)
}

// Pieces says what an application of the cpu engine in each dist.Direction sums over ranks: the
// first element of each of its pieces, followed by the number of elements, which in the adjoint
// are those of whole tiles. whole is Work's.
func (p *Problem) Pieces(whole bool) (cuts [2][]int) {
	for _, at := range traceCuts(p.Positions) {
		cuts[dist.Forward] = append(cuts[dist.Forward], at*p.phases()*p.NT)
	}
	for _, at := range Outline(p).cutPieces(whole) {
		cuts[dist.Backward] = append(cuts[dist.Backward], at*simd.TileSize)
	}
	return cuts
}

// Begin implements dist.Pieced. It returns an error if there is a quantum and the budget
// for tables does not hold the places of a run.
func (k *kernel) Begin(ctx context.Context, d dist.Direction, dst, src device.Buf, quantum float64) (dist.Application, error) {
	if err := k.image.Exactly(quantum); err != nil {
		return nil, err
	}
	k.cpu.room.Lock()
	defer k.cpu.room.Unlock()
	if d == dist.Forward {
		data, image := k.slices("forward", dst, src)
		return k.forward(ctx, data, image, quantum)
	}
	data, image := k.slices("adjoint", src, dst)
	migrate := k.migration(ctx, data, quantum)
	return k.cpu.backward(ctx, image, k.cpu.plan.Scale, quantum, func(lo, hi int) error {
		return k.sumTiles(ctx, lo, hi, k.kept == nil, migrate)
	}), nil
}

// backward begins an adjoint in pieces. sum sets the sums of tiles lo to hi. Without a
// quantum the pieces are float32.
func (e *cpu) backward(ctx context.Context, image, scale []float32, quantum float64, sum func(lo, hi int) error) dist.Application {
	const size = simd.TileSize
	part := func(lo, hi, _ int) (device.Buf, error) {
		err := sum(lo, hi)
		if err != nil || quantum != 0 {
			return device.Wrap(e.host, e.image64.S[lo*size:hi*size]), err
		}
		err = e.each(ctx, lo, hi, func(lo, hi int) {
			simd.Narrow(e.image32.S[lo*size:hi*size], e.image64.S[lo*size:hi*size])
		})
		return device.Wrap(e.host, e.image32.S[lo*size:hi*size]), err
	}
	finish := func(lo, hi, _ int) error {
		if quantum != 0 {
			return e.unloadSums(ctx, image, scale, lo, hi)
		}
		return e.each(ctx, lo, hi, func(lo, hi int) { unload(&e.plan.Tiling, image, e.image32.S, scale, lo, hi) })
	}
	return e.room.Begin(pieces.Work{Cuts: e.tileCuts, Ahead: len(e.tileCuts), Sum: part, Finish: finish})
}

// forward begins a forward in pieces. Its sums are traces, float64 with a quantum, otherwise
// float32.
func (k *kernel) forward(ctx context.Context, data, image []float32, quantum float64) (dist.Application, error) {
	size := k.cpu.plan.phases() * k.cpu.plan.Problem.NT
	length := pieces.Longest(k.image.TraceCuts) * size
	sums, err := k.cpu.makeRing(ringLen(k.image.TraceCuts, size), quantum != 0)
	if err != nil {
		return nil, err
	}
	if err := k.cpu.loadImage(ctx, image); err != nil {
		return nil, err
	}
	c := NewCursor(k.image, k.opener(ctx))
	slot := func(lo, hi, piece int) device.Buf { return sums.Slice(piece%ring*length, (hi-lo)*size) }
	sum := func(lo, hi, piece int) (device.Buf, error) {
		to := slot(lo, hi, piece)
		return to, c.Each(piece, func(o *lists) error { return o.sumTraces(ctx, piece, to, quantum) })
	}
	finish := func(lo, hi, piece int) error { return k.convolveRows(ctx, data, slot(lo, hi, piece), lo) }
	return k.cpu.room.Begin(pieces.Work{Cuts: k.image.TraceCuts, Ahead: ring, Sum: sum, Finish: finish}), nil
}

// makeRing allocates the sums of two pieces of the forward, n samples.
func (e *cpu) makeRing(n int, exact bool) (device.Buf, error) {
	t := device.F32
	if exact {
		t = device.F64
	}
	if words := (n*t.Size() + 7) / 8; e.ring == nil || len(e.ring.S) < words {
		e.ring.Free()
		var err error
		if e.ring, err = simd.Alloc[float64](words); err != nil {
			return nil, err
		}
	}
	return device.WrapMemory(e.host, unsafe.Pointer(unsafe.SliceData(e.ring.S)), n, t)
}

// ringLen is the number of samples in the pieces of the forward that are allocated, of traces of that size.
func ringLen(cuts []int, size int) int { return min(ring, len(cuts)-1) * pieces.Longest(cuts) * size }

// convolveRows convolves traces, [row − row0][phase][nt], and adds them to the data.
func (k *kernel) convolveRows(ctx context.Context, data []float32, traces device.Buf, row0 int) error {
	nt, phases := k.cpu.plan.Problem.NT, k.cpu.plan.phases()
	return workers.Each(ctx, k.cpu.threads, traces.Len()/(phases*nt), func(worker, i int) error {
		for phase, made := range k.cpu.crossings[worker].made {
			row := traces.Slice((i*phases+phase)*nt, nt)
			if row.Type() == device.F32 {
				copy(made.trace, device.Slice[float32](row))
			} else {
				simd.Narrow(made.trace, device.Slice[float64](row))
			}
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
	row0, nt, to := o.kernel.image.TraceCuts[piece], o.kernel.cpu.plan.Problem.NT, device.Slice[float32](sums)
	return o.demigrate(ctx, piece, piece+1, func(_, trace, phase int) []float32 {
		return to[((trace-row0)*o.phases()+phase)*nt:][:nt]
	}, func(int, int) {})
}
