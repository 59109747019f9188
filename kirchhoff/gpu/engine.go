package gpu

import (
	"context"
	"fmt"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/pieces"
)

// Engine is the operator on one card: what its kernels share. Its buffers are float32 on
// that card: the image [ImageLen()], the data [ntrace, nt]. Like those of the device, its
// operations run in order and do not wait for the card; an error of the card shows at the
// next Sync, Dots or copy.
type Engine struct {
	buffers    buffers
	geometry   geometry
	work       kirchhoff.Work
	processors int
	context    *accel.Context
	functions  map[string]*accel.Function
	nt         int
	stride     int // elements between the forward's traces
	pitch      int // pairs of a row of the adjoint, even so that they are copied by two
	bits       int // of a time of the tables behind the point
	images     []*kirchhoff.Image
	most       most
	kernels    []*kernel // of the images

	tables *tables          // of all places; without memory if they are recomputed
	held   held             // by the tables of all places, or of a unit at most
	banks  []memoryOfTables // of the tables of units, which take them in turn
	making *accel.Stream    // on which they are made
	packer *packer          // of tables; nil where no more are made
	window int              // entries of a window of the forward; 0 before there are tables

	// Computed from the start.
	groups              accel.Memory // groupList
	tiles               accel.Memory // firstTile
	halfList            accel.Memory // halves
	spots               accel.Memory // of each group, with an aperture
	points, scale       device.Buf
	convolve, correlate taps
	triangles           []taps     // of bands
	bounds              device.Buf // float64, what bounds add up on the host

	room     pieces.Room // guards what follows: one application at a time
	closed   bool
	turn     int            // of the bank that was filled last
	opened   []*accel.Event // what the card was asked before the last openings, one less than there are banks
	rows     device.Buf     // [trace of a unit][band][pitch][2], correlated traces as pairs, see adjoint.cu
	ready    device.Buf     // the data that rows were correlated from, until used
	owner    *kernel        // whose traces they are
	tiled    device.Buf     // float32 [tile][64], the image
	image    device.Buf     // float64 [part][tile][64], sums of the adjoint
	traces   device.Buf     // float64 [part][band][row][stride], sums of a piece of the forward
	smoothed device.Buf     // [row][stride], with bands: their sum over a piece of the forward
	ring     device.Buf     // sums of two pieces of the forward; made when first needed

	adjointParts, forwardParts int // of image and traces, at most
}

// geometry is a plan with the image cut into boxes, groups of tiles and pieces.
type geometry struct {
	plan       *kirchhoff.Plan
	layout     kirchhoff.Layout
	groupList  []int32 // [group][groupTiles], −1 for tiles beyond the box
	firstGroup []int   // of each box, and the number of groups
	firstTile  []int   // of each box, and the number of tiles
	halves     []half  // of all boxes, and the numbers of tiles and groups
	firstHalf  []int   // of each box, and the number of halves
	boxCuts    []int   // first box of each piece of the adjoint, and their number
}

// taps is a filter on the card.
type taps struct {
	at    accel.Memory
	count int
	first int
}

// newTaps copies a filter to the card.
func newTaps(b *buffers, f *kirchhoff.Filter) taps {
	return taps{words(b, f.Taps), len(f.Taps), f.First}
}

var (
	_ kirchhoff.Engine = (*Engine)(nil)
	_ dist.Pieced      = (*kernel)(nil)
)

// New compiles the kernels for a card and makes the tables of p there: 4 bytes per place and
// image point, 12 with Dynamic in 2-D, 20 in 3-D. With an aperture,
// points are those of the columns where a place has tables. p.Threads is the number of
// threads that compute traveltimes which the card does not. It returns the errors of
// kirchhoff.Refuse, kirchhoff.NewPlan, kirchhoff.Images, the traveltime method and the compiler.
// If the card has too little memory, the error is a missing resource that states what is needed
// and what there is. If times lie too far apart for tables, it names the place.
func New(ctx context.Context, dev *card.Device, p *kirchhoff.Problem, w kirchhoff.Work) (*Engine, error) {
	if err := kirchhoff.Refuse(dev.Engine().String(), p, w); err != nil {
		return nil, err
	}
	l, err := kirchhoff.NewPlan(ctx, p)
	if err != nil {
		return nil, err
	}
	e := outline(l, w, dev.Card().Multiprocessors)
	if err := e.cutUnits(p, w); err != nil {
		return nil, err
	}
	e.buffers.dev, e.context = dev, dev.Context()
	if e.making = e.context.Main(); len(e.banks) > 0 {
		if e.making, err = e.context.NewStream(device.LaneGPUTables); err != nil {
			return nil, err
		}
	}
	if err := e.make(ctx, p); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

func (e *Engine) make(ctx context.Context, p *kirchhoff.Problem) error {
	e.functions = map[string]*accel.Function{}
	for i, src := range Programs(e.geometry.layout) {
		module, err := e.buffers.dev.Build(src)
		if err != nil {
			return err
		}
		for _, name := range kernelNames[i] {
			if e.functions[name], err = module.Function(name); err != nil {
				return err
			}
		}
	}
	e.allocate()
	e.put()
	for _, m := range e.images {
		e.kernels = append(e.kernels, newKernel(e, m))
	}
	if e.buffers.err == nil {
		e.buffers.err = e.keep()
	}
	if e.buffers.err != nil {
		need := Needs(p, e.work, e.processors)
		return fmt.Errorf("kirchhoff: the gpu engine needs %s on the card, %s of it for the tables of %d places: %w",
			humanize.IBytes(uint64(need.Tables+need.Scratch)), humanize.IBytes(uint64(need.Tables)), p.Positions.Len(), e.buffers.err)
	}
	if e.geometry.plan.Tiles > 0 {
		e.packer = &packer{e: e}
		if err := e.packer.prepare(p); err != nil {
			return err
		}
	}
	for range len(e.banks) - 1 {
		e.opened = append(e.opened, e.context.Mark(e.context.Main()))
	}
	if !e.work.Remake {
		err := e.fill(ctx, p, e.tables)
		e.packer.close()
		e.packer = nil
		return err
	}
	for _, k := range e.kernels { // so that errors show before a long run
		if len(k.image.Units) > 0 {
			o, err := k.open(ctx, k.image.Units[0])
			if err == nil {
				o.Close()
			}
			return err
		}
	}
	return nil
}

// keep makes the lists of the kernels' only units. Kernels of all traces share theirs.
func (e *Engine) keep() error {
	if e.adds() {
		return nil
	}
	var all *lists
	for _, k := range e.kernels {
		if k.image.Rows == nil && all != nil {
			k.kept = all.with(k)
			continue
		}
		if err := k.keep(&e.buffers); err != nil {
			return err
		}
		if k.image.Rows == nil {
			all = k.kept
		}
	}
	return nil
}

// outline returns an engine without memory, with the image cut into pieces and groups.
func outline(l *kirchhoff.Plan, w kirchhoff.Work, processors int) *Engine {
	p := &l.Problem
	e := &Engine{geometry: geometry{plan: l, layout: l.Layout()}, work: w, processors: processors, nt: p.NT, stride: (p.NT + 3) &^ 3, pitch: (p.NT + 1) &^ 1, bits: fractionBits(p)}
	for _, b := range l.Boxes {
		first := len(e.geometry.groupList) / groupTiles
		e.geometry.firstHalf, e.geometry.halves = append(e.geometry.firstHalf, len(e.geometry.halves)), append(e.geometry.halves, halves(b, first, e.geometry.layout, p.Grid.Dim())...)
		e.geometry.firstGroup, e.geometry.firstTile = append(e.geometry.firstGroup, first), append(e.geometry.firstTile, b.First)
		e.geometry.groupList = append(e.geometry.groupList, groups(b, p.Grid.Dim())...)
	}
	all := half{int32(l.Tiles), int32(len(e.geometry.groupList) / groupTiles)}
	e.geometry.firstHalf, e.geometry.halves = append(e.geometry.firstHalf, len(e.geometry.halves)), append(e.geometry.halves, all)
	e.geometry.firstGroup, e.geometry.firstTile = append(e.geometry.firstGroup, int(all.group)), append(e.geometry.firstTile, l.Tiles)
	e.tables = e.geometry.newTables(l)
	e.geometry.cut(w)
	return e
}

// cutUnits cuts the traces into units. If their tables are recomputed, two units have memory for
// them, if the budget allows it: the next tables are made while the card works.
func (e *Engine) cutUnits(p *kirchhoff.Problem, w kirchhoff.Work) (err error) {
	most := e.tables.mostHeld(p.Positions.Len())
	place, banks := e.placeBytes(), 1
	if w.Cuts != nil || w.Budget < place*int64(p.Positions.Len()) && w.Budget >= 2*place*int64(p.LeastPlaces(w.Exact)) {
		banks, w.Budget = 2, w.Budget/2
	}
	cut := traceCuts
	if w.Cuts != nil {
		cut = e.groupCuts
	}
	if e.images, err = kirchhoff.Images(p, w, place, cut); err != nil {
		return err
	}
	e.most, e.held = mostOf(e.images), e.tables.held
	if n := e.most.places; w.Remake {
		e.held = held{min(e.held.rows, n*most.rows), min(e.held.groups, n*most.groups)}
		e.banks = make([]memoryOfTables, min(banks, e.most.units))
	}
	return nil
}

// allocate allocates what an engine holds from the start, except lists.
func (e *Engine) allocate() {
	if !e.work.Remake {
		e.tables.memoryOfTables = e.held.allocate(&e.buffers, e.geometry.layout)
	}
	for i := range e.banks {
		e.banks[i] = e.held.allocate(&e.buffers, e.geometry.layout)
	}
	e.rows = e.buffers.alloc(e.most.unit*int(e.rowLen()), device.F32)
	if e.geometry.layout.Bands > 1 {
		e.smoothed = e.buffers.alloc(e.most.piece*e.stride, device.F32)
	}
	e.tiled = e.buffers.alloc(e.geometry.imagePart(), device.F32)
	e.adjointParts = parts(e.processors, e.geometry.firstGroup[len(e.geometry.plan.Boxes)], e.most.unit, e.geometry.imagePart())
	all := e.adjointParts
	if e.adds() {
		all++
	}
	e.image = e.buffers.alloc(all*e.geometry.imagePart(), device.F64)
	e.forwardParts = parts(e.processors, (e.most.piece+lanes-1)/lanes, len(e.geometry.halves)-1, e.tracePart())
	e.traces = e.buffers.alloc(e.forwardParts*e.tracePart(), device.F64)
	_, slabs, chunks := e.geometry.chunks()
	e.bounds = e.buffers.alloc(max(e.most.traces, slabs*chunks), device.F64)
	e.points = e.buffers.alloc(e.geometry.imagePart(), device.F32)
	if e.geometry.plan.Problem.Dynamic {
		e.scale = e.buffers.alloc(e.geometry.plan.Problem.ImageLen(), device.F32)
	}
}

// adds reports whether adjoints of units are added up, in the first part of the image.
func (e *Engine) adds() bool { return e.work.Remake || e.work.Cuts != nil }

// most holds the largest numbers of any image: traces, traces of a unit and of a piece of
// the forward, such pieces, and places of a unit; and the number of all units.
type most struct{ traces, unit, piece, pieces, places, units int }

func mostOf(images []*kirchhoff.Image) (n most) {
	for _, m := range images {
		n.traces, n.pieces = max(n.traces, m.Own.NumTraces()), max(n.pieces, len(m.TraceCuts)-1)
		n.piece, n.places, n.units = max(n.piece, pieces.Longest(m.TraceCuts)), max(n.places, m.Places), n.units+len(m.Units)
		for _, u := range m.Units {
			n.unit = max(n.unit, u.Hi-u.Lo)
		}
	}
	return n
}

// put copies to the card what does not depend on traces.
func (e *Engine) put() {
	l, b := e.geometry.plan, &e.buffers
	e.groups, e.tiles, e.halfList = words(b, e.geometry.groupList), words(b, int32s(e.geometry.firstTile)), words(b, e.geometry.halves)
	e.convolve = newTaps(b, l.Convolve)
	e.correlate = newTaps(b, l.Correlate)
	for _, t := range l.Triangles() {
		e.triangles = append(e.triangles, newTaps(b, t))
	}
	if e.geometry.layout.Aperture > 0 {
		e.spots = words(b, e.geometry.spotList(e.tables))
	}
	if e.buffers.err != nil || e.buffers.dev == nil {
		return
	}
	if e.buffers.err = put(e.context.Main(), e.points, l.Points); e.buffers.err == nil && e.scale != nil {
		e.buffers.err = put(e.context.Main(), e.scale, l.Scale)
	}
}

// cut cuts [0, n) into parts of nearly the same size. It returns where they begin,
// followed by n.
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

// Kernels implements kirchhoff.Engine.
func (e *Engine) Kernels() (out []dist.Kernel) {
	for _, k := range e.kernels {
		out = append(out, k)
	}
	return out
}

// Name is the engine's name in the configuration: cuda or hip.
func (e *Engine) Name() string { return e.buffers.dev.Engine().String() }

// Info implements kirchhoff.Engine.
func (e *Engine) Info() string {
	return "float32, " + e.buffers.dev.Name() + e.work.Text(&e.geometry.plan.Problem, e.most.units)
}

// Type is float32.
func (e *Engine) Type() device.Type { return device.F32 }

// TableBytes is the memory held by the tables, on the card.
func (e *Engine) TableBytes() int64 {
	return int64(max(1, len(e.banks))) * int64(e.held.rows) * e.geometry.rowBytes()
}

// Intact implements kirchhoff.Engine. It checks nothing, since cards correct their memory
// themselves.
func (e *Engine) Intact() error { return nil }

// Close frees the engine's memory on the card. It waits for an application that is being
// issued.
func (e *Engine) Close() {
	e.room.Lock()
	defer e.room.Unlock()
	if e.closed {
		return
	}
	e.closed, e.ready = true, nil
	e.room.End()
	e.packer.close()
	e.buffers.free()
	if len(e.banks) > 0 {
		e.context.CloseStream(e.making)
	}
}
