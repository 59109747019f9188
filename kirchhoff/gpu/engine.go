package gpu

import (
	"context"
	"fmt"
	"sync"
	"unsafe"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// Engine is the operator on one card. Its buffers are float32 on that card: the image
// [ImageLen()], the data [ntrace, nt]. Operations are asked of the card in order and
// do not wait for it, as those of the device; an error of the card shows at the next
// Sync, Dots or copy.
type Engine struct {
	plan    *kirchhoff.Plan
	dev     *card.Device
	context *driver.Context
	kernels map[string]*driver.Function
	nt      int
	ntrace  int
	stride  int // elements between the forward's traces
	tableB  int64

	bufs []device.Buf // all, to be freed

	// Tables.
	operator []uint64 // struct Operator
	ngroups  int

	// Lists.
	adjoint      []uint64 // struct Traces
	adjointParts int
	groupOf      []int // first group of each box, and their number
	firstTile    []int // first tile of each box, and their number
	forward      []uint64
	forwardParts int
	blocks       []int // first block of each piece of the forward, and their number
	traceCuts    []int // first trace of each piece of the forward, and their number
	boxCuts      []int // first box of each piece of the adjoint, and their number
	window       int   // entries of a window of the forward

	points, scale       device.Buf
	convolve, correlate taps
	shots, chunks       sums // of bounds

	mu      sync.Mutex // guards what follows: one application at a time
	closed  bool
	current *application
	rows    device.Buf // [ntrace][nt][2], correlated traces as pairs (e[k], e[k+1] − e[k])
	ready   device.Buf // the data of which rows hold the correlation, until used
	tiled   device.Buf // float32 [tile][64], the image
	image   device.Buf // float64 [part][tile][64], sums of the adjoint
	traces  device.Buf // float64 [part][row][stride], sums of a piece of the forward
	ring    device.Buf // sums of two pieces of the forward; made when first needed
}

// taps is a filter on the card.
type taps struct {
	at    device.Buf
	count int
	first int
}

var (
	_ kirchhoff.Engine = (*Engine)(nil)
	_ dist.Pieced      = (*Engine)(nil)
)

// New compiles the kernels for a card, computes the tables of p and copies them to the
// card: 4 bytes per place and image point, 12 with Dynamic in 2-D, 20 in 3-D; two less
// with Compact. Its errors are those of kirchhoff.NewPlan and Plan.Solve, of the
// compiler and, where the card has too little memory, a missing resource that says
// what is needed and what there is. p.Threads is the number of threads that compute
// tables.
func New(ctx context.Context, dev *card.Device, p *kirchhoff.Problem, w kirchhoff.Work) (*Engine, error) {
	if err := kirchhoff.Refuse(dev.Engine().String(), p, w); err != nil {
		return nil, err
	}
	l, err := kirchhoff.NewPlan(ctx, p)
	if err != nil {
		return nil, err
	}
	e := &Engine{plan: l, dev: dev, context: dev.Context(), nt: p.NT, ntrace: p.NumTraces(), stride: (p.NT + 3) &^ 3}
	if err := e.make(ctx, p); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// kernelNames are those of the programs: of the one for the kind of tables, and of
// ends.cu.
var kernelNames = [2][]string{{"adjoint", "forward"},
	{"convolve_f32", "convolve_f64", "correlate", "load", "collect_f32", "collect_f64",
		"unload_f32", "unload_f64", "largest", "magnitude", "total"}}

func (e *Engine) make(ctx context.Context, p *kirchhoff.Problem) error {
	e.kernels = map[string]*driver.Function{}
	for i, src := range []driver.Source{source(e.plan.Layout().Fields, e.plan.Layout().Compact), endsSource()} {
		module, err := e.dev.Build(src)
		if err != nil {
			return err
		}
		for _, name := range kernelNames[i] {
			if e.kernels[name], err = module.Function(name); err != nil {
				return err
			}
		}
	}
	list, firsts := groups(e.plan)
	e.ngroups, e.groupOf = len(list)/groupTiles, firsts
	if err := e.allocate(list); err != nil {
		need := Needs(p, kirchhoff.Work{}, e.dev.Card().Multiprocessors)
		return fmt.Errorf("kirchhoff: the gpu engine needs %s on the card, %s of it for the tables of %d places: %w",
			humanize.IBytes(uint64(need.Tables+need.Scratch)), humanize.IBytes(uint64(need.Tables)), e.plan.Problem.Positions.Len(), err)
	}
	return e.tables(ctx, list)
}

// tableBytes is the memory of the tables of all places.
func (e *Engine) tableBytes() int64 {
	l := e.plan
	return int64(l.Problem.Positions.Len()) * int64(l.Tiles) * int64(4*l.Layout().Words+8)
}

// alloc returns elements that are freed with the engine.
func (e *Engine) alloc(n int, t device.Type) (device.Buf, error) {
	b, err := e.dev.Alloc(n, t)
	if err == nil {
		e.bufs = append(e.bufs, b)
	}
	return b, err
}

// words copies 32-bit words to the card.
func words[T int32 | uint32 | float32](e *Engine, list []T) (device.Buf, error) {
	b, err := e.alloc(len(list), device.F32)
	if err != nil {
		return nil, err
	}
	return b, e.put(b, asFloats(list))
}

func (e *Engine) put(dst device.Buf, src []float32) error {
	return e.dev.Copy(dst, device.Wrap(device.NewHost(0), src))
}

// asFloats is a list seen as float32, for copies.
func asFloats[T int32 | uint32 | float32](list []T) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(list))), len(list))
}

func reachWords(list []reach) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(list))), 2*len(list))
}

func memory(b device.Buf) uint64 { return uint64(b.(*card.Buf).Memory()) }

func address(b device.Buf) driver.Arg {
	if b == nil {
		return driver.Address(0)
	}
	return driver.Address(b.(*card.Buf).Memory())
}

// allocate gets all memory that an engine has from the start, and copies lists.
func (e *Engine) allocate(list []int32) error {
	l, p := e.plan, &e.plan.Problem
	var err error
	get := func(to *device.Buf, n int, t device.Type) {
		if err == nil {
			*to, err = e.alloc(n, t)
		}
	}
	put := func(to *device.Buf, list []int32) {
		if err == nil {
			*to, err = words(e, list)
		}
	}
	places := p.Positions.Len()
	var table, spans, groups, boxes device.Buf
	get(&table, places*l.Tiles*l.Layout().Words, device.F32)
	get(&spans, places*l.Tiles*2, device.F32)
	get(&groups, places*e.ngroups*2, device.F32)
	get(&boxes, places*len(l.Boxes)*2, device.F32)
	get(&e.rows, 2*e.ntrace*e.nt, device.F32)
	get(&e.tiled, l.Tiles*simd.TileSize, device.F32)
	if err != nil {
		return err
	}
	e.operator = []uint64{memory(table), memory(spans), memory(groups), memory(boxes),
		pair(l.Tiles, e.ngroups), pair(len(l.Boxes), e.nt)}

	adj := newAdjointLists(p.Positions, receivers(l.Layout().Fields))
	var groupTiles, runs, rows, cells, parts device.Buf
	put(&groupTiles, list)
	put(&runs, adj.runs)
	put(&rows, adj.rows)
	put(&cells, adj.receivers)
	e.adjointParts = e.parts(e.ngroups, len(adj.runs)/2, l.Tiles*simd.TileSize)
	put(&parts, cut(len(adj.runs)/2, e.adjointParts))
	get(&e.image, e.adjointParts*l.Tiles*simd.TileSize, device.F64)
	if err != nil {
		return err
	}
	e.adjoint = []uint64{memory(groupTiles), memory(runs), memory(rows), memory(cells), memory(parts)}

	e.cut()
	fwd := newForwardLists(p.Positions, e.traceCuts)
	e.blocks = fwd.firsts
	longest := 0
	for i := range len(e.traceCuts) - 1 {
		longest = max(longest, e.blocks[i+1]-e.blocks[i])
	}
	e.forwardParts = e.parts(longest, len(l.Boxes), e.longestPiece()*e.stride)
	for _, b := range l.Boxes {
		e.firstTile = append(e.firstTile, b.First)
	}
	e.firstTile = append(e.firstTile, l.Tiles)
	var placeList, traceList, tiles, boxParts device.Buf
	put(&placeList, fwd.places)
	put(&traceList, fwd.traces)
	put(&tiles, int32s(e.firstTile))
	put(&boxParts, cut(len(l.Boxes), e.forwardParts))
	get(&e.traces, e.forwardParts*e.longestPiece()*e.stride, device.F64)
	put(&e.points, l.Points)
	if l.Scale != nil && err == nil {
		e.scale, err = words(e, l.Scale)
	}
	if err != nil {
		return err
	}
	if e.convolve, err = e.filter(l.Convolve); err != nil {
		return err
	}
	if e.correlate, err = e.filter(l.Correlate); err != nil {
		return err
	}
	e.forward = []uint64{memory(placeList), memory(traceList), memory(tiles), memory(boxParts)}
	return e.prepareBounds()
}

// filter copies a filter to the card.
func (e *Engine) filter(f *kirchhoff.Filter) (taps, error) {
	at, err := words(e, f.Taps)
	return taps{at, len(f.Taps), f.First}, err
}

// pair is two ints of a structure.
func pair(a, b int) uint64 { return uint64(uint32(a)) | uint64(uint32(b))<<32 }

// parts is partsOf for this card.
func (e *Engine) parts(blocks, most, sums int) int {
	return int(partsOf(e.dev.Card().Multiprocessors, int64(blocks), int64(most), int64(sums)))
}

// cut cuts [0, n) into parts of nearly the same size: where they begin, and n.
func cut(n, parts int) []int32 {
	list := make([]int32, parts+1)
	for i := range list {
		list[i] = int32(n * i / parts)
	}
	return list
}

func int32s(list []int) []int32 {
	out := make([]int32, len(list))
	for i, v := range list {
		out[i] = int32(v)
	}
	return out
}

// adjointStage is the size of a stage of the adjoint, see adjoint.cu.
func adjointStage(fields int) int {
	const points = 512
	window := 192
	if fields == 1 {
		window = 128
	}
	return 8*window*int(receivers(fields)) + 4*points*fields
}

// stageBytes is the size of a stage of the forward, see forward.cu.
func stageBytes(fields int) int {
	chunk := 16
	if fields == 1 {
		chunk = 32
	}
	return 4 * (blockPlaces*(chunk+4)*fields + chunk)
}

// Kernels implements kirchhoff.Engine.
func (e *Engine) Kernels() []dist.Kernel { return []dist.Kernel{e} }

// Groups implements kirchhoff.Engine.
func (e *Engine) Groups() dist.Grouped { return nil }

// Squared implements kirchhoff.Engine: it is not known.
func (e *Engine) Squared() dist.Kernel { return nil }

// Name is the engine's name in the configuration: cuda or hip.
func (e *Engine) Name() string { return e.dev.Engine().String() }

// Info implements kirchhoff.Engine.
func (e *Engine) Info() string {
	text := "float32, " + e.dev.Name()
	if e.plan.Problem.Compact {
		text += ", times in 16 bits"
	}
	return text
}

// Type is float32.
func (e *Engine) Type() device.Type { return device.F32 }

// TableBytes is the memory held by the tables, on the card.
func (e *Engine) TableBytes() int64 { return e.tableBytes() }

// Triples is the number of (trace, image point) pairs one application visits.
func (e *Engine) Triples() int64 { return e.plan.Problem.Triples() }

// Intact implements kirchhoff.Engine: cards correct their memory themselves.
func (e *Engine) Intact() error { return nil }

// Close frees what the engine has on the card. It waits for an application that is
// being asked for.
func (e *Engine) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.closed, e.current, e.ready = true, nil, nil
	for _, b := range e.bufs {
		e.dev.Free(b)
	}
	e.bufs = nil
}
