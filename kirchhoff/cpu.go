package kirchhoff

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/pieces"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// cpu is the operator in float32 on the host's vector units. Its buffers are
// float32: the image [ImageLen()], the data [ntrace, nt].
//
// The adjoint works tile by tile: all traces of a block in turn add to the 64
// points of a tile, in registers, and blocks are added up in float64. The forward
// works block by block: each thread owns its traces. Either way no two threads
// write to the same place, and the order of sums is fixed.
type cpu struct {
	memory
	plan     *Plan
	work     Work
	isa      simd.ISA
	threads  int
	host     *device.Host
	tileCuts []int // first tile of each piece of the adjoint, and the number of tiles
	kernels  []*kernel
	tables   *tables // of all places; nil if they are recomputed
	held     int64   // bytes of tables that are held at once

	room      pieces.Room             // guards what follows: one application at a time
	image32   *simd.Memory[float32]   // [tile][64]
	image64   *simd.Memory[float64]   // [tile][64]
	windows   []*window               // per thread
	picks     []*picked               // per thread
	crossings []crossing              // per thread
	antialias []antialiasRoom         // per thread, with bands
	minus     []*simd.Memory[float32] // per thread, the image of a box times −1, with turned waves
	ring      *simd.Memory[float64]   // sums of two pieces of the forward, of either type; made when first needed
}

// New makes the engine for the host's processor. Tables take 4 bytes per place and
// image point, 12 with Dynamic or limits of angles in 2-D, 20 in 3-D and of unequal
// slownesses.
// The environment variable LSM_CPU_ISA (avx512, avx2, portable) forces one set of
// kernels; they agree to rounding. New returns the errors of Validate, of the traveltime
// method and of ctx. It also refuses groups that cut a shot, a budget below the tables of one
// trace, and too little memory.
func New(ctx context.Context, p *Problem, w Work) (Engine, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.several() {
		q := *p
		places, _ := p.TimesNeeded()
		var err error
		if q.present, err = p.findPresence(ctx, &Outline(p).Tiling, places); err != nil {
			return nil, err
		}
		p = &q
	}
	e, err := newCPU(p, w, false)
	if err == nil {
		err = e.fill(ctx, p)
	}
	if err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// newCPU allocates an engine and cuts the work into units.
func newCPU(p *Problem, w Work, counting bool) (*cpu, error) {
	e := &cpu{memory: memory{counting: counting}, work: w, threads: p.threads()}
	e.plan = makeOutline(p, &e.memory)
	e.allocate()
	c := newCover(p, &e.plan.Tiling)
	place := e.plan.placeBytes(c)
	images, err := Images(p, w, place, traceCuts)
	if err != nil {
		return e, err
	}
	for _, m := range images {
		e.kernels = append(e.kernels, &kernel{cpu: e, image: m})
		e.held = max(e.held, int64(m.Places)*place)
	}
	if !w.Remake {
		e.tables = newTables(e.plan, c, counting)
	}
	if e.tables != nil {
		e.held = e.tables.bytes
	}
	if e.tables != nil && e.err == nil {
		e.err = e.tables.err
	}
	return e, e.err
}

// placeBytes is the memory of the tables of the place that has most, in bytes.
func (l *Plan) placeBytes(c *cover) int64 { return newTables(l, c.largest(), true).bytes }

// whole is p with the values that all units must derive from all traces, so that weights
// do not depend on the cut.
func (p *Problem) whole() *Problem {
	whole := *p
	if whole.Dynamic && whole.MaxDistance == [2]float64{} {
		whole.MaxDistance[0], whole.MaxDistance[1] = MaxDistance(p.Grid, p.Positions)
	}
	whole.AllWindows = p.Windows()
	return &whole
}

// fill makes tables and lists: all of them if they are kept, otherwise those of the first
// unit, so that errors show before a long run.
func (e *cpu) fill(ctx context.Context, p *Problem) error {
	var err error
	if e.isa, err = chosenISA(); err != nil {
		return err
	}
	e.host, e.tileCuts = device.NewHost(e.threads), e.plan.cutPieces(e.work.Whole)
	if err := e.plan.fill(ctx, p); err != nil {
		return err
	}
	if e.tables != nil {
		if err := e.tables.make(ctx, p.whole()); err != nil {
			return err
		}
		e.tables.sum = e.tables.checksum()
	}
	var all *lists // of a class of all traces
	for _, k := range e.kernels {
		if all != nil && k.image.Rows == nil {
			k.kept = all.with(k)
			continue
		}
		if len(k.image.Units) == 0 {
			continue
		}
		o, err := k.open(ctx, k.image.Units[0])
		if err != nil {
			return err
		}
		if e.work.Remake || e.work.Cuts != nil {
			o.Close()
			continue
		}
		if k.kept = o; k.image.Rows == nil {
			all = o
		}
	}
	return nil
}

func (e *cpu) Name() string      { return "cpu" }
func (e *cpu) Type() device.Type { return device.F32 }
func (e *cpu) TableBytes() int64 { return e.held }

func (e *cpu) Kernels() (out []dist.Kernel) {
	for _, k := range e.kernels {
		out = append(out, k)
	}
	return out
}

func (e *cpu) Info() string {
	units := 0
	for _, k := range e.kernels {
		units += len(k.image.Units)
	}
	return "float32, " + e.isa.String() + e.work.Text(&e.plan.Problem, units)
}

func (e *cpu) Intact() error {
	if e.tables != nil && e.tables.checksum() != e.tables.sum {
		return errChanged
	}
	return nil
}

var errChanged = errors.New("kirchhoff: the traveltime tables have changed in memory since they were computed: the machine's memory is faulty, or the program is")

func (e *cpu) Close() {
	e.room.Lock()
	defer e.room.Unlock()
	for _, k := range e.kernels {
		if k.kept != nil {
			k.kept.memory.free()
		}
	}
	if e.tables != nil {
		e.tables.free()
	}
	e.memory.free()
	e.ring.Free()
	e.image32 = nil
	e.room.End()
}

// ISA names the set of kernels that the cpu engine chooses on this machine: avx512, avx2
// or portable. The environment variable LSM_CPU_ISA forces one. It returns an error if
// this processor lacks the forced set.
func ISA() (string, error) {
	isa, err := chosenISA()
	return isa.String(), err
}

func chosenISA() (simd.ISA, error) {
	isa, err := simd.Parse(os.Getenv("LSM_CPU_ISA"))
	if err != nil {
		err = status.Usage(fmt.Errorf("%w (LSM_CPU_ISA)", err))
	}
	return isa, err
}
