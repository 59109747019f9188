package kirchhoff

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"math/bits"
	"sync"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/workers"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// double is the operator in float64 on the host's vector units. Its buffers are float64: the image
// [ImageLen()], the data [ntrace, nt].
//
// The adjoint works tile by tile and the forward trace by trace. Either way no two threads write to
// the same place, and a sum has the order of the list of traces or of tiles.
type double struct {
	memory
	p       Problem // without Velocity and Amplitude
	tiling  *Tiling
	isa     simd.ISA
	threads int
	scale   []float64 // [ImageLen()], the image's share of the weights; nil for 1
	op      simd.Double
	rows    *simd.Memory[float64]
	spans   *simd.Memory[simd.Span]
	sum     uint64 // of the tables as they were made
	images  []*doubleImage

	pairings            []pairing
	convolve, correlate []taps // by phase

	room    sync.Mutex // guards what follows: one application at a time
	closed  bool
	tiles   *simd.Memory[float64]      // an image, [tile][64]
	minus   *simd.Memory[float64]      // the same times −1, with turned waves
	traces  *simd.Memory[float64]      // correlated, [phase][trace][stride]
	windows [][]*simd.Memory[float64]  // per thread and phase
	ends    []*simd.Memory[simd.Trace] // per thread, a block's traces in a pairing
	padded  [][]float64                // per thread, a trace with zeros at both ends
}

// doubleImage is the operator of one image.
type doubleImage struct {
	*double
	list *simd.Memory[simd.Trace] // in blocks; rows count from 0
	rows []int32                  // row of the data of each of the list
	cuts []int                    // first of each block, and the number of traces
}

// doubleCells are the blocks of traces: their tables of a tile and the stretches of the traces on
// which it falls stay in the first cache.
var doubleCells = cells{sources: 8, receivers: 8, limit: 64}

// NewDouble makes the engine in float64 for the host's processor. Its tables are kept and take 8
// bytes per place and image point, with Dynamic 24 in 2-D, 40 in 3-D and of unequal slownesses.
// LSM_CPU_ISA forces a set of kernels as it does for New. NewDouble returns the errors of Validate, of
// the traveltime method and of ctx, and fails if memory is too small. It also refuses work that it does
// not offer, see package engines.
func NewDouble(ctx context.Context, p *Problem, w Work) (Engine, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := Refuse("double", p, w); err != nil {
		return nil, err
	}
	e := newDouble(p, w, false)
	err := e.err
	if err == nil {
		err = e.fill(ctx, p)
	}
	if err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// DoubleNeeds is the memory that the engine of NewDouble takes.
func DoubleNeeds(p *Problem, w Work) Need {
	e := newDouble(p, w, true)
	n := Need{Place: e.placeBytes(), Scratch: e.bytes, Heap: e.heap, Making: e.makingBytes(p)}
	n.Tables = n.Place * int64(p.Positions.Len())
	n.AllTables = n.Tables
	n.Scratch -= n.Tables
	return n
}

// newDouble allocates an engine.
func newDouble(p *Problem, w Work, counting bool) *double {
	lo, hi := p.slab()
	e := &double{memory: memory{counting: counting}, p: *p, threads: p.threads()}
	m := &e.memory
	e.p.Velocity, e.p.Amplitude = nil, nil
	e.tiling = newTiling(p.Grid, [2]int{lo, hi}, m)
	if p.Dynamic {
		e.scale = onHeap[float64](m, p.ImageLen())
	}
	e.pairings = p.pairings()
	for _, r := range responsesOf(p) {
		convolve, correlate := newTaps(r, p.NT)
		e.convolve, e.correlate = append(e.convolve, convolve), append(e.correlate, correlate)
	}
	o := &e.op
	o.Places, o.Mode, o.NT, o.Stride = p.Positions.Len()*p.branches(), doubleMode(p), p.NT, doubleStride(p.NT)
	tables := e.tiling.Tiles * o.Places
	e.rows = alloc[float64](m, tables*o.Mode.Fields()*simd.TileSize)
	e.spans = alloc[simd.Span](m, tables)
	o.Table, o.Span = e.rows.S, e.spans.S
	e.tiles = alloc[float64](m, e.tiling.Tiles*simd.TileSize)
	e.traces = alloc[float64](m, p.phases()*p.NumTraces()*o.Stride)
	if p.phases() > 1 {
		e.minus = alloc[float64](m, e.tiling.Tiles*simd.TileSize)
	}
	for range e.threads {
		var windows []*simd.Memory[float64]
		for range p.phases() {
			windows = append(windows, alloc[float64](m, doubleCells.limit*simd.Due*o.Stride))
		}
		e.windows = append(e.windows, windows)
		e.ends = append(e.ends, alloc[simd.Trace](m, doubleCells.limit))
		e.padded = append(e.padded, onHeap[float64](m, paddedLen(p.NT)))
	}
	for _, c := range w.images() {
		e.images = append(e.images, e.image(p, c))
	}
	return e
}

// doubleMode says what the tables hold.
func doubleMode(p *Problem) simd.Mode {
	switch {
	case !p.Directed():
		return simd.Static
	case angular(p):
		return simd.Plane
	default:
		return simd.Space
	}
}

// doubleStride is the distance between traces: an odd number of cache lines, as strideOf.
func doubleStride(nt int) int {
	const line = 8
	return ((nt+simd.TileSize+line-1)/line | 1) * line
}

// image lists the traces of a class.
func (e *double) image(p *Problem, c Class) *doubleImage {
	m, pos := &e.memory, p.Positions
	if !c.All {
		pos = pos.Of(c.Traces)
	}
	n := len(pos.Source)
	d := &doubleImage{double: e, list: alloc[simd.Trace](m, n), rows: onHeap[int32](m, n)}
	if m.counting || m.err != nil {
		return d
	}
	var b blocking
	b.add(pos, count(n), doubleCells)
	b.blocks = append(b.blocks, int32(len(b.runs)))
	for block := range b.len() {
		lo, _ := b.pairRange(block)
		d.cuts = append(d.cuts, lo)
	}
	d.cuts = append(d.cuts, n)
	for i, pair := range b.pairs {
		d.list.S[i] = simd.Trace{Source: pos.Source[pair.row], Receiver: pair.receiver, Row: int32(i)}
		if d.rows[i] = pair.row; !c.All {
			d.rows[i] = c.Traces[pair.row]
		}
	}
	return d
}

// fill makes the tables.
func (e *double) fill(ctx context.Context, p *Problem) (err error) {
	if e.isa, err = chosenISA(); err != nil {
		return err
	}
	factor := 2.0 // 2/v or, where cos θ = |p_s + p_r|/2, 1/v
	if !angular(p) {
		factor = 1
	}
	for i := range e.scale {
		v := p.Slowest
		if !unequal(p) {
			v = p.Velocity[i]
		}
		e.scale[i] = factor / v
	}
	var w *weights
	free := make(chan *slowness, e.threads)
	var scratch memory
	defer scratch.free()
	for range e.threads {
		s := &slowness{}
		if p.Directed() {
			w = newWeights(p)
			*s = newSlowness(p, func() []float64 { return alloc[float64](&scratch, p.Grid.Len()).S })
		}
		free <- s
	}
	if scratch.err != nil {
		return scratch.err
	}
	opt := askRays(p, traveltime.Options{Threads: e.threads, Progress: p.Progress})
	err = p.Arrivals(ctx, p.usedPlaces(), opt, func(place, branch int, window traveltime.Window, b traveltime.Branch) error {
		s := <-free
		defer func() { free <- s }()
		if w != nil {
			if err := w.fillFrom(s, place, window, b); err != nil {
				return err
			}
		}
		e.pack(table(p.Positions, place, branch), window, b.Time, s)
		return nil
	})
	if err == nil {
		e.sum = e.checksum()
	}
	return err
}

// makingBytes is the memory of makers of tables.
func (e *double) makingBytes(p *Problem) int64 {
	scratch := memory{counting: true}
	if p.Directed() {
		newSlowness(p, func() []float64 { return alloc[float64](&scratch, p.Grid.Len()).S })
	}
	return (p.timesBytes() + scratch.bytes) * int64(e.threads)
}

func (e *double) placeBytes() int64 {
	const span = 8
	return int64(e.p.branches()*e.tiling.Tiles) * int64(e.op.Mode.Fields()*simd.TileSize*8+span)
}

// pack makes a table, that of a branch of a place. Half of t0 goes to each end of a ray, so that a place may be both
// source and receiver.
func (e *double) pack(table int, w traveltime.Window, time []float64, s *slowness) {
	at, shift := newPoints(e.p.Grid, w), e.p.T0/(2*e.p.DT)
	for tile := range e.tiling.Tiles {
		n, size := tile*e.op.Places+table, e.op.Mode.Fields()*simd.TileSize
		row, points := e.rows.S[n*size:(n+1)*size], e.tiling.slots(tile)
		least := math.Inf(1)
		for i, p := range points {
			q := time[at.of(e.tiling.first+int(source(p)))]/e.p.DT - shift
			if !(math.Abs(q) < never) { // a place may be unreachable
				q = never
			}
			row[i], least = q, min(least, q)
		}
		base, width := math.Floor(least), 0.0
		fields, any := row[simd.TileSize:], e.op.Mode == simd.Static
		for i, p := range points {
			reached := row[i] != never
			row[i] -= base
			width = max(width, row[i])
			if e.op.Mode != simd.Static {
				any = e.weigh(fields[i:], s, at.of(e.tiling.first+int(source(p))), reached) || any
			}
		}
		e.spans.S[n] = simd.Span{Base: int32(base), Width: float32(math.Ceil(width))}
		if least == never || !any {
			e.spans.S[n].Width = -1
		}
	}
}

// weigh sets the fields of a point, 64 apart, and reports whether its amplitude is other than 0.
func (e *double) weigh(field []float64, s *slowness, i int, reached bool) bool {
	b := s.amp[i]
	if !reached {
		b = 0
	}
	switch {
	case !e.p.Dynamic: // two vectors of half the length give the weight
		if field[0], field[simd.TileSize] = b, 0; e.op.Mode == simd.Space {
			field[simd.TileSize] = 0.5
		}
	case e.op.Mode == simd.Space:
		field[0] = b
		for a := range s.unit {
			field[(1+a)*simd.TileSize] = s.unit[a][i]
		}
	case b != 0: // where b is 0 the angle may be NaN
		sin, cos := math.Sincos(s.angle[i] / 2)
		field[0], field[simd.TileSize] = b*cos, b*sin
	}
	return b != 0
}

func (e *double) checksum() uint64 {
	return bits.RotateLeft64(maphash.Bytes(hashSeed, e.rows.Bytes()), 1) ^ maphash.Bytes(hashSeed, e.spans.Bytes())
}

func (e *double) Name() string           { return "double" }
func (e *double) Type() device.Type      { return device.F64 }
func (e *double) Groups() dist.Grouped   { return nil }
func (e *double) Squared() []dist.Kernel { return nil }
func (e *double) TableBytes() int64      { return e.placeBytes() * int64(e.op.Places/e.p.branches()) }

func (e *double) Kernels() (out []dist.Kernel) {
	for _, d := range e.images {
		out = append(out, d)
	}
	return out
}

func (e *double) Info() string {
	text := "float64, " + e.isa.String()
	if n := len(e.images); n > 1 {
		text += "; " + readable.Count(n, "image")
	}
	return text
}

func (e *double) Intact() error {
	if e.checksum() != e.sum {
		return errChanged
	}
	return nil
}

func (e *double) Close() {
	e.room.Lock()
	defer e.room.Unlock()
	e.memory.free()
	e.closed = true
}

// row is where trace i of the list lies in the data.
func (d *doubleImage) row(data []float64, i int) []float64 {
	return data[int(d.rows[i])*d.p.NT:][:d.p.NT]
}

// slices returns the elements of a data and an image buffer. It panics if a size is wrong.
func (d *doubleImage) slices(op string, data, image device.Buf) (x, m []float64) {
	x, m = device.Slice[float64](data), device.Slice[float64](image)
	checkSizes(op, &d.p, d.p.NumTraces(), len(x), len(m))
	if d.closed {
		panic(fmt.Sprintf("kirchhoff: %s of a closed engine", op))
	}
	return x, m
}

// eachTile calls f for all tiles on all threads.
func (e *double) eachTile(ctx context.Context, f func(worker, lo, hi int) error) error {
	size := min(step, max(1, e.tiling.Tiles/(4*e.threads)))
	return workers.Each(ctx, e.threads, (e.tiling.Tiles+size-1)/size, func(worker, i int) error {
		return f(worker, i*size, min((i+1)*size, e.tiling.Tiles))
	})
}

// Forward adds the demigrated traces of the image src to dst.
func (d *doubleImage) Forward(ctx context.Context, dst, src device.Buf) error {
	d.room.Lock()
	defer d.room.Unlock()
	data, image := d.slices("forward", dst, src)
	err := d.eachTile(ctx, func(_, lo, hi int) error {
		for i := lo * simd.TileSize; i < hi*simd.TileSize; i++ {
			d.tiles.S[i] = 0
			if n := d.tiling.Points[i]; n >= 0 {
				d.tiles.S[i] = image[n] * d.share(n)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if d.minus != nil {
		for i, v := range d.tiles.S {
			d.minus.S[i] = -v
		}
	}
	return workers.Each(ctx, d.threads, len(d.cuts)-1, func(worker, block int) error {
		lo, hi, stride := d.cuts[block], d.cuts[block+1], simd.Due*d.op.Stride
		for _, windows := range d.windows[worker] {
			clear(windows.S[:(hi-lo)*stride])
		}
		for _, of := range d.pairings {
			traces, image := d.endsOf(worker, lo, hi, of), d.tiles
			if of.minus {
				image = d.minus
			}
			for tile := 0; tile < d.tiling.Tiles; tile += step {
				if err := ctx.Err(); err != nil {
					return err
				}
				d.isa.ForwardDouble(&d.op, traces, d.windows[worker][of.phase], image, tile, min(tile+step, d.tiling.Tiles))
			}
		}
		for i := lo; i < hi; i++ {
			for phase, windows := range d.windows[worker] {
				simd.CollapseDouble(d.amid(worker), windows.S[(i-lo)*stride:])
				d.convolve[phase].apply(d.isa, d.row(data, i), d.padded[worker], true)
			}
		}
		return nil
	})
}

// endsOf lists the traces lo to hi of the list with their tables and rows in a pairing.
func (d *doubleImage) endsOf(worker, lo, hi int, of pairing) []simd.Trace {
	list, row := d.ends[worker].S[:hi-lo], int32(of.phase*len(d.rows))
	for i, t := range d.list.S[lo:hi] {
		list[i] = simd.Trace{Source: int32(table(d.p.Positions, int(t.Source), of.source)),
			Receiver: int32(table(d.p.Positions, int(t.Receiver), of.receiver)), Row: t.Row + row}
	}
	return list
}

// share is the part of the weights that belongs to point n.
func (e *double) share(n int32) float64 {
	if e.scale == nil {
		return 1
	}
	return e.scale[n]
}

// Adjoint adds the migrated image of the traces src to dst.
func (d *doubleImage) Adjoint(ctx context.Context, dst, src device.Buf) error {
	d.room.Lock()
	defer d.room.Unlock()
	data, image := d.slices("adjoint", src, dst)
	err := workers.Each(ctx, d.threads, len(d.rows), func(worker, i int) error {
		copy(d.amid(worker), d.row(data, i))
		for phase, correlate := range d.correlate {
			correlate.apply(d.isa, d.traces.S[(phase*len(d.rows)+i)*d.op.Stride:][:d.p.NT], d.padded[worker], false)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return d.eachTile(ctx, func(worker, lo, hi int) error {
		sums, negative := d.tiles.S[lo*simd.TileSize:hi*simd.TileSize], false
		clear(sums)
		for _, of := range d.pairings {
			if of.minus && !negative { // those are the last
				negate(sums)
				negative = true
			}
			for block, from := range d.cuts[:len(d.cuts)-1] {
				if err := ctx.Err(); err != nil {
					return err
				}
				d.isa.AdjointDouble(&d.op, d.endsOf(worker, from, d.cuts[block+1], of), d.tiles, d.traces, lo, hi)
			}
		}
		if negative {
			negate(sums)
		}
		for i := lo * simd.TileSize; i < hi*simd.TileSize; i++ {
			if n := d.tiling.Points[i]; n >= 0 {
				image[n] += d.tiles.S[i] * d.share(n)
			}
		}
		return nil
	})
}

// taps is one direction of the convolution with the wavelet: y[n] = Σ_j of[j] x[n + j + first].
type taps struct {
	of    []float64
	first int
}

// newTaps returns the convolution with a wavelet and its transpose, without lags beyond a record of
// nt samples.
func newTaps(r response, nt int) (convolve, correlate taps) {
	lo, hi := max(0, r.zero-nt+1), min(len(r.h), r.zero+nt)
	for lo < hi-1 && r.h[lo] == 0 {
		lo++
	}
	for hi > lo+1 && r.h[hi-1] == 0 {
		hi--
	}
	correlate = taps{r.h[lo:hi], lo - r.zero}
	convolve = taps{make([]float64, hi-lo), r.zero - (hi - 1)}
	for j := range convolve.of {
		convolve.of[j] = r.h[hi-1-j]
	}
	return convolve, correlate
}

// paddedLen is the length of a trace of nt samples with zeros at both ends, as far as taps reach.
func paddedLen(nt int) int { return 3*nt + simd.TileSize }

// amid is where a worker's padded trace lies among its zeros.
func (e *double) amid(worker int) []float64 { return e.padded[worker][e.p.NT : 2*e.p.NT] }

// apply filters the padded trace into y, or adds.
func (t taps) apply(isa simd.ISA, y, padded []float64, add bool) {
	isa.FilterDouble(y, padded[len(y)+t.first:], t.of, add)
}
