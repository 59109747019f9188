package gpu

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/traveltime"
	times "github.com/kirchhoff-lsm/lsm/traveltime/gpu"
)

//go:embed pack.cu
var packText string

// PackProgram is the program that makes tables on the card.
func PackProgram() driver.Source { return driver.Source{Name: "pack.cu", Text: packText} }

// These are the kernels' structs.
type (
	packing struct {
		fields, compact, limits, row         int32
		table, span, groups, boxes           driver.Memory
		points, tiles, firsttile, firstgroup driver.Memory
		lengths                              driver.Memory
		skipped                              int64
		ny, nz, dynamic, bits                int32
		dt, shift, limit, last               float64
		origin, spacing                      [3]float64
		stabiliser, lowest, highest          float64
		taper                                [21]float64
	}
	stack struct {
		rows, groups, boxes int64
		at                  [3]float64
		field, box, count   int32
		from, wide          [2]int32
	}
)

// stackWords is the size of a stack in words of 32 bits.
const stackWords = int(unsafe.Sizeof(stack{}) / 4)

// far is a time, in samples, beyond any record.
const far = 5e8

// makeTables makes the tables of all places that p uses, in the given columns, and adds what
// boxes span to lengths. If times lie too far apart for tables, the host finds out where.
func (e *Engine) makeTables(ctx context.Context, p *kirchhoff.Problem, columns []column, to memoryOfTables, lengths *spans) error {
	if e.plan.Tiles > 0 && packs(e, p) && e.dev.Compiles() {
		if e.packer == nil {
			e.packer = &packer{e: e}
		}
		if done, err := e.packer.pack(ctx, p, columns, to, lengths); done || err != nil {
			return err
		}
	}
	return e.copyTables(ctx, p, columns, to, lengths)
}

// packs reports whether the card makes the tables of p: those of the eikonal equation that are
// kept, without the slopes that anti-aliasing takes. The host makes others and copies them: tables made anew are then on their way while the
// card works. It must not depend on the part of a survey that p is, for weights may differ by a
// rounding.
func packs(e *Engine, p *kirchhoff.Problem) bool {
	_, eikonal := p.Times.(*traveltime.Eikonal)
	return eikonal && !e.work.Remake && e.layout.Bands <= 1
}

// solves reports whether the card computes the times of p. It must know the method, have a
// compiler, since the program for it is not carried, and be faster. Otherwise the host computes
// them. Where it could do either, the bits are the same.
func solves(e *Engine, p *kirchhoff.Problem) bool {
	if !times.Knows(p.Times) || p.Amplitude != nil || e.dev != nil && !e.dev.Compiles() {
		return false
	}
	places, opt := p.TimesNeeded()
	return times.Pays(p.Times, p.Positions, places, opt, batch(e))
}

// packer makes tables on the card. What it needs of the whole problem stays there.
type packer struct {
	buffers
	e                           *Engine
	kernel                      *driver.Function
	firstGroup, stacks, lengths device.Buf
	field, given                device.Buf    // times and amplitudes of a place that come from the host
	solver                      *times.Solver // nil before it is needed
}

// close frees the memory on the card. A packer may be nil.
func (k *packer) close() {
	if k == nil {
		return
	}
	k.free()
	if k.solver != nil {
		k.solver.Close()
	}
}

// mostStacks is how many stacks a launch takes at most.
const mostStacks = 4096

// batch is the memory, in bytes, that times in the making may take on the card.
func batch(e *Engine) int64 { return max(512<<20, e.TableBytes()/8) }

// makingBytes is the memory that making the tables of p takes on the card.
func makingBytes(e *Engine, p *kirchhoff.Problem) int64 {
	if !packs(e, p) {
		return 0
	}
	k := &packer{e: e}
	k.allocate(p)
	if solves(e, p) {
		places, opt := p.TimesNeeded()
		k.bytes += times.Bytes(p.Times, p.Positions, places, opt, batch(e))
	}
	return k.bytes
}

// pack makes tables. It reports false if times lie too far apart for them.
func (k *packer) pack(ctx context.Context, p *kirchhoff.Problem, columns []column, to memoryOfTables, lengths *spans) (done bool, err error) {
	if err := k.prepare(p); err != nil {
		return false, err
	}
	places, opt := p.TimesNeeded()
	where, packing := slots(columns, p.Positions.Len()), k.packing(p, to)
	launch := func(f times.Fields, given driver.Memory) error {
		var stacks []stack
		most := 0
		for i, place := range f.Places {
			for _, s := range where[place] {
				c := &columns[s.column]
				stacks = append(stacks, newStack(p, c, s.number, i, place, opt.Window(p.Grid, place)))
				most = max(most, c.Boxes[1]-c.Boxes[0])
			}
		}
		for some := range slices.Chunk(stacks, mostStacks) {
			if err := put(k.e.context.Main(), k.stacks.Slice(0, len(some)*stackWords), some); err != nil {
				return err
			}
			k.e.context.Launch(k.e.context.Main(), k.kernel, driver.Shape{Blocks: [3]int{most, len(some), 1}, Threads: [3]int{threads, 1, 1}},
				packing, memory(k.stacks), memory(f.Time), given, int64(f.Pitch))
		}
		return nil
	}
	if solves(k.e, p) {
		err = k.solve(ctx, p, places, opt, func(f times.Fields) error { return launch(f, 0) })
	} else {
		var one sync.Mutex
		err = p.Times.Solve(ctx, p.Positions, places, opt, func(place int, f traveltime.Field) error {
			amplitudes, err := kirchhoff.Given(p, place, f.Window)
			if err != nil {
				return err
			}
			one.Lock()
			defer one.Unlock()
			if err := device.Upload(k.field.Slice(0, len(f.Time)), f.Time); err != nil {
				return err
			}
			given := driver.Memory(0)
			if amplitudes != nil {
				given = memory(k.given)
				if err := device.Upload(k.given.Slice(0, len(amplitudes)), amplitudes); err != nil {
					return err
				}
			}
			return launch(times.Fields{Places: []int{place}, Time: k.field, Pitch: k.field.Len()}, given)
		})
	}
	if err != nil {
		return false, fmt.Errorf("kirchhoff: traveltimes: %w", err)
	}
	return k.finish(lengths)
}

// solve computes the times on the card.
func (k *packer) solve(ctx context.Context, p *kirchhoff.Problem, places []int, opt traveltime.Options, each func(times.Fields) error) (err error) {
	if k.solver == nil {
		whole := &k.e.plan.Problem
		places, opt := whole.TimesNeeded()
		if k.solver, err = times.New(k.e.dev, whole.Times, whole.Positions, places, opt, batch(k.e)); err != nil {
			return err
		}
	}
	return k.solver.Solve(ctx, p.Positions, places, opt, each)
}

// allocate allocates what a packer needs beside the solver, for p or a part of it.
func (k *packer) allocate(p *kirchhoff.Problem) {
	b, whole, points := &k.buffers, &k.e.plan.Problem, 1
	places, opt := whole.TimesNeeded()
	for _, place := range places {
		points = max(points, opt.Window(whole.Grid, place).Grid(whole.Grid).Len())
	}
	k.firstGroup, k.field = b.alloc(len(k.e.firstGroup), device.F32), b.alloc(points, device.F64)
	k.stacks, k.lengths = b.alloc(mostStacks*stackWords, device.F32), b.alloc(len(spans{}.count)+1, device.F32)
	if p.Amplitude != nil {
		k.given = b.alloc(points, device.F64)
	}
}

// prepare makes the packer ready, before its first use.
func (k *packer) prepare(p *kirchhoff.Problem) error {
	if k.kernel != nil {
		return k.e.dev.Zero(k.lengths)
	}
	m, err := k.e.dev.Build(PackProgram())
	if err != nil {
		return err
	}
	k.dev = k.e.dev
	if k.allocate(p); k.err != nil {
		return k.err
	}
	if err := put(k.e.context.Main(), k.firstGroup, int32s(k.e.firstGroup)); err != nil {
		return err
	}
	k.kernel, err = m.Function("pack")
	return err
}

// packing is the kernel's for tables of p.
func (k *packer) packing(p *kirchhoff.Problem, to memoryOfTables) packing {
	e, g, shift, fading := k.e, p.Grid, p.T0/(2*p.DT), p.Fading()
	l := e.layout
	c := packing{fields: int32(l.Fields), row: int32(l.Words), table: memory(to.table), groups: memory(to.groups), boxes: memory(to.boxes),
		points: memory(e.points), tiles: e.groups, firsttile: e.tiles, firstgroup: memory(k.firstGroup), lengths: memory(k.lengths),
		skipped: int64(p.Slab[0] * (g.Len() / g.Shape[0])), ny: 1, nz: int32(g.Shape[g.Dim()-1]), bits: int32(e.bits),
		dt: p.DT, shift: shift, limit: far, last: float64(p.NT) + shift,
		stabiliser: fading.Stabiliser, lowest: fading.Lo, highest: fading.Hi, taper: fading.Taper}
	if p.Dynamic {
		c.dynamic = 1
	}
	if l.Limits {
		c.limits = 1
	}
	if l.Compact {
		c.compact, c.limit, c.span = 1, min(far, c.last), memory(to.span)
	}
	if g.Dim() == 3 {
		c.ny = int32(g.Shape[1])
	}
	for axis := range g.Shape {
		a := times.AxisOf(axis, g.Dim())
		c.origin[a], c.spacing[a] = g.Origin[axis], g.Spacing[axis]
	}
	return c
}

// newStack is a place's tables in a column, where it has the given number. Its times, in a
// window of the grid, are those of a field.
func newStack(p *kirchhoff.Problem, c *column, number, field, place int, w traveltime.Window) stack {
	at := c.before
	at.add(c.each, number)
	out := stack{rows: int64(at.rows), groups: int64(at.groups), boxes: int64(at.boxes),
		field: int32(field), box: int32(c.Boxes[0]), count: int32(c.Boxes[1] - c.Boxes[0])}
	for a := range out.from {
		out.from[a], out.wide[a] = int32(w.Lo[a]), int32(w.Hi[a]-w.Lo[a])
	}
	for axis, x := range p.Positions.At(place) {
		out.at[times.AxisOf(axis, p.Positions.Dim)] = x
	}
	return out
}

// finish adds up what the kernels counted. It reports false if times lie too far apart.
func (k *packer) finish(lengths *spans) (bool, error) {
	counted := make([]uint32, k.lengths.Len())
	words := unsafe.Slice((*float32)(unsafe.Pointer(&counted[0])), len(counted))
	if err := k.e.dev.Copy(device.Wrap(device.NewHost(0), words), k.lengths); err != nil {
		return false, err
	}
	for i := range lengths.count {
		lengths.count[i] += int64(counted[i])
		lengths.total += int64(counted[i])
	}
	return counted[len(lengths.count)] == 0, nil
}
