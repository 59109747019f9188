package forecast

import (
	"context"
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/sim"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Role is what one rank is given in a play.
type Role struct {
	World   comm.Comm
	Plan    *plan.Plan // for the machine
	Share   *plan.Share
	Device  *device.Counter // with the rank's clock
	Kernels []dist.Kernel   // that take the time of those of the cpu's engine
}

// Play plays all ranks of a process grid on the machine in virtual time, without memory for
// tables, traces or images. Each rank's clock begins when its traveltimes are computed.
func (m *Machine) Play(p *plan.Plan, grid [2]int, body func(r *Role) error) error {
	ranks := grid[0] * grid[1]
	p, err := m.Plan(p, ranks)
	if err != nil {
		return err
	}
	speed := m.Speed(p.Image.Dim())
	triples := *speed.Kind(p.Config.Kirchhoff.Dynamic)
	if p.Card != nil || triples == 0 {
		return status.Usage(fmt.Errorf("the machine's file has no speed of the kernels that kirchhoff.engine = %q and kirchhoff.dynamic = %t take", p.Engine, p.Config.Kirchhoff.Dynamic))
	}
	all, err := p.Shares(grid)
	if err != nil {
		return err
	}
	cores := m.cores(ranks, p.Config.Machine.Threads)
	return sim.Run(ranks, m.Model(p, ranks), func(world comm.Comm, clock *sim.Clock) error {
		s, d := all[world.Rank()], device.NewCounter(device.NewHost(1))
		d.Clock, clock.Memory = clock, m.Vectors*cores
		if speed.Points > 0 {
			clock.Compute(p.Solved(s) / speed.Points / cores)
		}
		return body(&Role{world, p, s, d, m.kernels(p, s, d, clock, 1/triples/cores, cores)})
	})
}

// pairs is from how many pairs of a trace and a point it is found how long the kernels of each
// rank take, of so many ranks.
func pairs(ranks int) int { return max(1<<9, (1<<20)/ranks) }

// sampleBytes is what vectors of data move in an iteration of bench.SampleSpeed, in bytes of
// each sample: one is zeroed, four read and three written for inner products and a sum.
const sampleBytes = 32

// kernels are those of a share, which take so many seconds for a triple in both directions.
func (m *Machine) kernels(p *plan.Plan, s *plan.Share, d *device.Counter, clock *sim.Clock, triple, cores float64) []dist.Kernel {
	of := p.Problem(s)
	k := played{device: d, clock: clock}
	k.pieces, k.elements, k.ahead = of.Pieces()
	if s.Local() {
		k.pieces[dist.Backward] = 1
	}
	n := max(1, p.Classes.N)
	if p.Classes.Windows == nil { // each image takes a part of the traces
		k.pieces[dist.Forward] = max(1, k.pieces[dist.Forward]/n)
	}
	var heard float64
	heard, k.parts = plan.HeardOf(p, s, pairs(s.Grid[0]*s.Grid[1]), k.pieces)
	k.triples = triple * heard * float64(of.Visits())
	sample := 1 / m.Samples
	if m.Vectors > 0 { // the operations on vectors take their own time
		sample = max(0, sample-sampleBytes/m.Vectors)
	}
	k.samples = sample / cores * float64(k.elements[dist.Forward])
	points, _ := of.Slabs()
	k.units = [2]int{dist.Forward: len(points) - 1, dist.Backward: len(s.Shots)}
	if p.Classes.Windows == nil {
		k.triples, k.samples = k.triples/float64(n), k.samples/float64(n)
		k.elements[dist.Forward] /= n
	}
	return slices.Repeat([]dist.Kernel{&k}, n)
}

// played is a kernel that computes nothing and takes the time of one. Each direction takes
// half of it.
type played struct {
	device           *device.Counter
	clock            *sim.Clock
	triples, samples float64 // s, of both directions
	pieces, elements [2]int  // of each direction; see kirchhoff.Problem.Pieces
	ahead            [2]int
	parts            [2][]float64 // of triples, that each piece takes
	units            [2]int       // of the source, see dist.Pieced
}

var _ dist.Pieced = (*played)(nil)

// Forward implements dist.Kernel.
func (k *played) Forward(ctx context.Context, dst, src device.Buf) error {
	return k.whole(ctx, dist.Forward, dst, src)
}

// Adjoint implements dist.Kernel.
func (k *played) Adjoint(ctx context.Context, dst, src device.Buf) error {
	return k.whole(ctx, dist.Backward, dst, src)
}

func (k *played) whole(ctx context.Context, d dist.Direction, dst, src device.Buf) error {
	a, err := k.Begin(ctx, d, dst, src, 0)
	for i := 0; err == nil && i < a.Pieces(); i++ {
		if _, err = a.Sum(i); err == nil {
			err = a.Finish(i)
		}
	}
	return err
}

// Peak implements dist.Pieced.
func (k *played) Peak() float64 { return 1 }

// Bound implements dist.Pieced: it reads the image. Reading the data is part of the time of
// samples.
func (k *played) Bound(d dist.Direction, src device.Buf) ([]float64, error) {
	if d == dist.Forward {
		k.clock.Moved(4 * int64(src.Len()))
	}
	return slices.Repeat([]float64{1}, k.units[d]), nil
}

// Begin implements dist.Pieced. A forward reads the image into tiles, an adjoint convolves
// the data.
func (k *played) Begin(ctx context.Context, d dist.Direction, dst, src device.Buf, quantum float64) (dist.Application, error) {
	t := device.F32
	if quantum != 0 {
		t = device.F64
	}
	sums, err := k.device.Alloc(k.elements[d], t)
	if err != nil {
		return nil, err
	}
	if d == dist.Forward {
		k.clock.Moved(8 * int64(src.Len()))
	} else {
		k.clock.Compute(k.samples / 2)
	}
	return &playing{k, d, sums}, nil
}

// playing is an application under way.
type playing struct {
	*played
	d    dist.Direction
	sums device.Buf
}

// Pieces implements dist.Application.
func (a *playing) Pieces() int { return a.pieces[a.d] }

// Ahead implements dist.Application.
func (a *playing) Ahead() int { return a.ahead[a.d] }

// bounds are the first element of a piece and the one after its last.
func (a *playing) bounds(i int) (lo, hi int) {
	n, all := a.Pieces(), a.elements[a.d]
	return i * all / n, (i + 1) * all / n
}

// Sum implements dist.Application. Each piece takes its part of the triples, and an adjoint
// sets its sums to zero before.
func (a *playing) Sum(i int) (device.Buf, error) {
	lo, hi := a.bounds(i)
	buf := a.sums.Slice(lo, hi-lo)
	if a.d == dist.Backward {
		if err := a.device.Zero(buf); err != nil {
			return nil, err
		}
	}
	a.clock.Compute(a.triples / 2 * a.parts[a.d][i])
	return buf, nil
}

// Finish implements dist.Application. A forward convolves its traces, an adjoint reads the sums
// and adds them to the image.
func (a *playing) Finish(i int) error {
	lo, hi := a.bounds(i)
	if a.d == dist.Forward {
		a.clock.Compute(a.samples / 2 / float64(a.Pieces()))
	} else {
		a.clock.Moved(int64(hi-lo) * int64(a.sums.Type().Size()+8))
	}
	if i == a.Pieces()-1 {
		a.device.Free(a.sums)
	}
	return nil
}
