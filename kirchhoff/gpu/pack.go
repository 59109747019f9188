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

// PackProgram is the program that makes tables of the given layout on the card.
func PackProgram(l kirchhoff.Layout) driver.Source {
	flag := map[bool]int{true: 1}
	return driver.Source{Name: "pack.cu", Text: packText, Defines: []string{fmt.Sprintf("WEIGHTS=%d", l.Fields/2),
		fmt.Sprintf("LIMITS=%d", flag[l.Limits]), fmt.Sprintf("COMPACT=%d", flag[l.Compact])}}
}

// These are the kernels' structs.
type (
	packing struct {
		table, span, groups, boxes           driver.Memory
		points, tiles, firsttile, firstgroup driver.Memory
		lengths                              driver.Memory
		skipped                              int64
		ny, nz, dynamic                      int32
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
// boxes span to lengths. The card makes those whose times it can compute. The host makes the
// others, which are given times and amplitudes and what wraps a method, and copies them; and all of
// them where there is no compiler, since the programs for this are not carried. Which of the two
// it is must not depend on the part of a survey that p is, for weights may differ by a rounding.
func (e *Engine) makeTables(ctx context.Context, p *kirchhoff.Problem, columns []column, to memoryOfTables, lengths *spans) error {
	if e.plan.Tiles == 0 {
		return nil
	}
	if packs(p) && e.dev.Compiles() {
		if done, err := newPacker(e, p).pack(ctx, columns, to, lengths); done || err != nil {
			return err
		}
	}
	return e.copyTables(ctx, p, columns, to, lengths)
}

func packs(p *kirchhoff.Problem) bool { return times.Knows(p.Times) && p.Amplitude == nil }

// packer makes tables on the card.
type packer struct {
	buffers
	e       *Engine
	p       *kirchhoff.Problem
	places  []int
	options traveltime.Options
	columns []column
	where   [][]slot
	kernel  *driver.Function
	packing packing
	stacks  device.Buf
	lengths device.Buf
	field   device.Buf // times that come from the host
}

// mostStacks is how many stacks a launch takes at most.
const mostStacks = 4096

// batch is the memory, in bytes, that times in the making may take on the card.
func (k *packer) batch() int64 { return max(512<<20, k.e.TableBytes()/8) }

// onCard reports whether the card computes the times too. Where it has too few places to be
// faster, the processor does. Their bits are the same.
func (k *packer) onCard() bool {
	return times.Pays(k.p.Times, k.p.Positions, k.places, k.options, k.batch())
}

func newPacker(e *Engine, p *kirchhoff.Problem) *packer {
	k := &packer{e: e, p: p}
	k.places, k.options = p.TimesNeeded()
	return k
}

// makingBytes is the memory that making the tables of p takes on the card.
func makingBytes(e *Engine, p *kirchhoff.Problem) int64 {
	if !packs(p) {
		return 0
	}
	k := newPacker(e, p)
	if k.allocate(); !k.onCard() {
		return k.bytes
	}
	return k.bytes + times.Bytes(p.Times, p.Positions, k.places, k.options, k.batch())
}

// pack makes tables. It reports false if times lie too far apart for them: the host finds out
// where.
func (k *packer) pack(ctx context.Context, columns []column, to memoryOfTables, lengths *spans) (done bool, err error) {
	e, p := k.e, k.p
	k.dev, k.columns, k.where = e.dev, columns, slots(columns, p.Positions.Len())
	defer k.free()
	if err := k.prepare(to); err != nil {
		return false, err
	}
	if k.onCard() {
		var s *times.Solver
		if s, err = times.New(e.dev, p.Times, p.Positions, k.places, k.options, k.batch()); err != nil {
			return false, err
		}
		defer s.Close()
		err = s.Solve(ctx, p.Positions, k.places, k.options, k.launch)
	} else {
		var one sync.Mutex
		err = p.Times.Solve(ctx, p.Positions, k.places, k.options, func(place int, f traveltime.Field) error {
			one.Lock()
			defer one.Unlock()
			if err := device.Upload(k.field.Slice(0, len(f.Time)), f.Time); err != nil {
				return err
			}
			return k.launch(times.Fields{Places: []int{place}, Time: k.field, Pitch: k.field.Len()})
		})
	}
	if err != nil {
		return false, fmt.Errorf("kirchhoff: traveltimes: %w", err)
	}
	return k.finish(lengths)
}

// allocate allocates what a packer needs.
func (k *packer) allocate() {
	b, points := &k.buffers, 1
	k.packing.firstgroup = words(b, int32s(k.e.firstGroup))
	k.stacks, k.lengths = b.alloc(mostStacks*stackWords, device.F32), b.alloc(farthest+3, device.F32)
	if !k.onCard() {
		for _, place := range k.places {
			points = max(points, k.options.Window(k.p.Grid, place).Grid(k.p.Grid).Len())
		}
	}
	k.field = b.alloc(points, device.F64)
}

// launch makes the tables of places from their times.
func (k *packer) launch(f times.Fields) error {
	var stacks []stack
	most := 0
	for i, place := range f.Places {
		for _, s := range k.where[place] {
			c := &k.columns[s.column]
			stacks = append(stacks, newStack(k.p, c, s.number, i, place, k.options.Window(k.p.Grid, place)))
			most = max(most, c.Boxes[1]-c.Boxes[0])
		}
	}
	for some := range slices.Chunk(stacks, mostStacks) {
		if err := put(k.stacks.Slice(0, len(some)*stackWords), some); err != nil {
			return err
		}
		k.e.context.Launch(k.kernel, driver.Shape{Blocks: [3]int{most, len(some), 1}, Threads: [3]int{threads, 1, 1}},
			k.packing, memory(k.stacks), memory(f.Time), int64(f.Pitch))
	}
	return nil
}

// prepare makes the kernel and what it needs beside times.
func (k *packer) prepare(to memoryOfTables) error {
	e, p := k.e, k.p
	m, err := e.dev.Build(PackProgram(e.layout))
	if err != nil {
		return err
	}
	if k.kernel, err = m.Function("pack"); err != nil {
		return err
	}
	if k.allocate(); k.err != nil {
		return k.err
	}
	g, shift, fading := p.Grid, p.T0/(2*p.DT), p.Fading()
	c := &k.packing
	*c = packing{table: memory(to.table), span: memory(to.span), groups: memory(to.groups), boxes: memory(to.boxes),
		points: memory(e.points), tiles: e.groups, firsttile: e.tiles, firstgroup: c.firstgroup, lengths: memory(k.lengths),
		skipped: int64(p.Slab[0] * (g.Len() / g.Shape[0])), ny: 1, nz: int32(g.Shape[g.Dim()-1]),
		dt: p.DT, shift: shift, limit: far, last: float64(p.NT) + shift,
		stabiliser: fading.Stabiliser, lowest: fading.Lo, highest: fading.Hi, taper: fading.Taper}
	if p.Dynamic {
		c.dynamic = 1
	}
	if e.layout.Compact {
		c.limit = min(far, c.last)
	}
	if g.Dim() == 3 {
		c.ny = int32(g.Shape[1])
	}
	for axis := range g.Shape {
		a := times.AxisOf(axis, g.Dim())
		c.origin[a], c.spacing[a] = g.Origin[axis], g.Spacing[axis]
	}
	return nil
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
	return counted[farthest+2] == 0, nil
}
