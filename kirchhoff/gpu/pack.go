package gpu

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/traveltime"
	times "github.com/kirchhoff-lsm/lsm/traveltime/gpu"
)

//go:embed pack.cu
var packText string

// PackProgram is the program that makes tables on the card.
func PackProgram() accel.Source {
	return accel.Source{Name: "pack.cu", Text: header() + lineOne("pack.cu") + packText}
}

// These are the kernels' structs.
type (
	packing struct {
		fields, limits, row                  int32
		table, groups                        accel.Memory
		points, tiles, firsttile, firstgroup accel.Memory
		firsthalf, halves                    accel.Memory
		slope, lengths, apart                accel.Memory
		skipped                              int64
		ny, nz, dynamic, bits                int32
		dt, shift, last                      float64
		origin, spacing                      [3]float64
		speed, longest                       float64
		stabiliser, lowest, highest          float64
		taper                                [21]float64
		rate                                 [2]float64
		steepest                             float32
	}
	stack struct {
		rows, groups      int64
		at                [3]float64
		field, box, count int32
		from, wide        [2]int32
		place             int32
	}
)

// stackWords is the size of a stack in words of 32 bits.
const stackWords = int(unsafe.Sizeof(stack{}) / 4)

// packer makes tables on the card, on the engine's stream for that. The memory that it needs for the
// whole problem and any part of it stays allocated there.
type packer struct {
	buffers
	e              *Engine
	kernel         *accel.Function
	firstGroup     accel.Memory // of each box
	firstHalf      accel.Memory
	stacks, counts device.Buf
	solver         *times.Solver // nil: times come from the host,
	field, given   device.Buf    // as words, with amplitudes, a place's at a time
}

// prepare makes the packer ready for p, the engine's problem.
func (k *packer) prepare(p *kirchhoff.Problem) error {
	k.dev = k.e.buffers.dev
	task, solves := k.allocate(p)
	if k.err != nil {
		return k.err
	}
	m, err := k.dev.Build(PackProgram())
	if err != nil {
		return err
	}
	if k.kernel, err = m.Function("pack"); err == nil && solves {
		k.solver, err = times.New(k.dev, k.e.making, task)
	}
	return err
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

// task is to compute the times of p, the engine's problem, and whether the card does it. It must
// know the method, have a compiler, since the program for it is not carried, and be faster.
// Otherwise the host does it. Where both could, the bits are the same.
func (e *Engine) task(p *kirchhoff.Problem) (t times.Task, solves bool) {
	t = times.Task{Method: p.Times, Positions: p.Positions, Budget: max(512<<20, e.TableBytes()/8)}
	t.Places, t.Options = p.TimesNeeded()
	if t.Together = len(t.Places); e.work.Remake {
		t.Together = min(t.Together, e.most.places)
	}
	return t, times.Knows(p.Times) && kirchhoff.HostAmplitudes(p) == nil && (e.buffers.dev == nil || e.buffers.dev.Compiles()) && times.Pays(t)
}

// makingBytes is the memory that making the tables of p takes on the card.
func makingBytes(e *Engine, p *kirchhoff.Problem) int64 {
	k := &packer{e: e}
	task, solves := k.allocate(p)
	if solves {
		k.bytes += times.Bytes(task)
	}
	return k.bytes
}

// allocate allocates what a packer for p needs beside the solver.
func (k *packer) allocate(p *kirchhoff.Problem) (task times.Task, solves bool) {
	b, points := &k.buffers, 0
	k.firstGroup, k.firstHalf = words(b, int32s(k.e.geometry.firstGroup)), words(b, int32s(k.e.geometry.firstHalf))
	k.stacks, k.counts = b.alloc(mostStacks*stackWords, device.F32), b.alloc(int(unsafe.Sizeof(counted{})/4), device.F32)
	if task, solves = k.e.task(p); solves {
		return task, true
	}
	for _, place := range task.Places {
		points = max(points, task.Options.Window(p.Grid, place).Grid(p.Grid).Len())
	}
	k.field = b.alloc(2*points, device.F32)
	if kirchhoff.HostAmplitudes(p) != nil {
		k.given = b.alloc(2*points, device.F32)
	}
	return task, false
}

// counted holds the counts of the kernels. It begins with the distance, in samples, of times that
// lie too far apart in a box, with their place.
type counted struct {
	apart   struct{ place, samples uint32 }
	lengths lengths
}

// pack makes the tables of all places that p, the engine's problem or a part of it, uses. It
// waits until they are made.
func (k *packer) pack(ctx context.Context, p *kirchhoff.Problem, t *tables) (lengths, error) {
	e := k.e
	counts, packing, slotsOf := []counted{{}}, k.packing(p, t.memoryOfTables), slots(t.columns, p.Positions.Len())
	if err := put(e.making, k.counts, counts); err != nil {
		return lengths{}, err
	}
	places, opt := p.TimesNeeded()
	err := k.times(ctx, p, places, opt, func(f times.Fields, given accel.Memory) error {
		var stacks []stack
		most := 0
		for i, place := range f.Places {
			for _, s := range slotsOf[place] {
				c := &t.columns[s.column]
				stacks = append(stacks, newStack(p, c, s.number, i, place, opt.Window(p.Grid, place)))
				most = max(most, c.Boxes[1]-c.Boxes[0])
			}
		}
		for some := range slices.Chunk(stacks, mostStacks) {
			if err := put(e.making, k.stacks.Slice(0, len(some)*stackWords), some); err != nil {
				return err
			}
			e.context.Launch(e.making, k.kernel, accel.Shape{Blocks: [3]int{most, len(some), 1}, Threads: [3]int{threads, 1, 1}},
				packing, memory(k.stacks), memory(f.Time), given, int64(f.Pitch))
		}
		return nil
	})
	if err != nil {
		return lengths{}, err
	}
	if err := e.buffers.dev.Receive(e.making, card.Words(counts), k.counts); err != nil {
		return lengths{}, err
	}
	return counts[0].lengths, counts[0].check(e.bits, p.Slowest)
}

// check returns an error if times lie too far apart for tables.
func (c *counted) check(bits int, slowest float64) error {
	if box := c.apart; box.samples > 0 {
		return fmt.Errorf("kirchhoff: place %d: times of a box of tiles lie %d samples apart, more than the %.0f that the slowest velocity, %g m/s, allows",
			box.place, box.samples, farthest(bits), slowest)
	}
	return nil
}

// times passes on the times of places, and amplitudes that the host knows, as they become known: some places'
// from the solver, or each place's from the host.
func (k *packer) times(ctx context.Context, p *kirchhoff.Problem, places []int, opt traveltime.Options, each func(f times.Fields, given accel.Memory) error) error {
	if k.solver != nil {
		if err := k.solver.Solve(ctx, p.Positions, places, opt, func(f times.Fields) error { return each(f, 0) }); err != nil {
			return fmt.Errorf("kirchhoff: traveltimes: %w", err)
		}
		return nil
	}
	var one sync.Mutex
	host := kirchhoff.HostAmplitudes(p)
	return p.Arrivals(ctx, places, opt, func(place, _ int, window traveltime.Window, b traveltime.Branch) error {
		var amplitudes []float64
		if host != nil {
			var err error
			if amplitudes, err = host(place, window, b); err != nil {
				return err
			}
		}
		one.Lock()
		defer one.Unlock()
		given := accel.Memory(0)
		if amplitudes != nil {
			given = memory(k.given)
			if err := put(k.e.making, k.given.Slice(0, 2*len(amplitudes)), amplitudes); err != nil {
				return err
			}
		}
		if err := put(k.e.making, k.field.Slice(0, 2*len(b.Time)), b.Time); err != nil {
			return err
		}
		return each(times.Fields{Places: []int{place}, Time: k.field, Pitch: len(b.Time)}, given)
	})
}

// packing is the kernel's for tables of p.
func (k *packer) packing(p *kirchhoff.Problem, to memoryOfTables) packing {
	e, g, shift, fading := k.e, p.Grid, p.T0/(2*p.DT), p.Fading()
	l := e.geometry.layout
	c := packing{fields: int32(l.Fields), row: int32(l.Words), table: memory(to.table), groups: memory(to.groups),
		points: memory(e.points), tiles: e.groups, firsttile: e.tiles, firstgroup: k.firstGroup, firsthalf: k.firstHalf, halves: e.halfList,
		apart: memory(k.counts), lengths: memory(k.counts) + accel.Memory(unsafe.Offsetof(counted{}.lengths)),
		skipped: int64(p.Slab[0] * (g.Len() / g.Shape[0])), ny: 1, nz: int32(g.Shape[g.Dim()-1]), bits: int32(e.bits),
		dt: p.DT, shift: shift, last: float64(p.NT) + shift,
		stabiliser: fading.Stabiliser, lowest: fading.Lo, highest: fading.Hi, taper: fading.Taper}
	if p.Dynamic {
		c.dynamic = 1
	}
	if c.speed, c.longest = e.geometry.plan.Vectors(); c.speed > 0 {
		c.lowest, c.highest = math.Inf(1), math.Inf(1) // the host tapers
	}
	if l.Limits {
		c.limits = 1
	}
	if l.Bands > 1 {
		steepness := e.geometry.plan.Steepness()
		c.slope, c.steepest = memory(to.slope), steepness.Most
		copy(c.rate[:], steepness.Rate)
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
	out := stack{rows: int64(at.rows), groups: int64(at.groups),
		place: int32(place), field: int32(field), box: int32(c.Boxes[0]), count: int32(c.Boxes[1] - c.Boxes[0])}
	for a := range out.from {
		out.from[a], out.wide[a] = int32(w.Lo[a]), int32(w.Hi[a]-w.Lo[a])
	}
	for axis, x := range p.Positions.At(place) {
		out.at[times.AxisOf(axis, p.Positions.Dim)] = x
	}
	return out
}
