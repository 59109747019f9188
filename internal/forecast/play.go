package forecast

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/sim"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
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
	cores := float64(min(p.Threads, m.Cores))
	return sim.Run(ranks, m.Model(ranks, cores), func(world comm.Comm, clock *sim.Clock) error {
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
func pairs(ranks int) int { return max(1<<9, (1<<18)/ranks) }

// sampleBytes is what vectors of data move in an iteration of bench.SampleSpeed, in bytes of
// each sample: one is zeroed, four read and three written for inner products and a sum.
const sampleBytes = 32

// kernels are those of a share, one of each image.
func (m *Machine) kernels(p *plan.Plan, s *plan.Share, d *device.Counter, clock *sim.Clock, triple, cores float64) (all []dist.Kernel) {
	traces := p.Shots.List(s.First, s.Last)
	classes := p.Classes.Of(traces)
	if p.Classes.ByTrace == nil {
		k := m.kernel(p, s, p.Problem(s), traces, triple, cores)
		k.device, k.clock = d, clock
		return slices.Repeat([]dist.Kernel{k}, max(1, len(classes)))
	}
	for _, c := range classes {
		of, list := p.Problem(s), make([]int32, len(c.Traces))
		of.Positions = s.Places.Of(c.Traces)
		for i, trace := range c.Traces {
			list[i] = traces[trace]
		}
		k := m.kernel(p, s, of, list, triple, cores)
		k.device, k.clock = d, clock
		all = append(all, k)
	}
	return all
}

// kernel is that of a problem with some traces of a share. It takes so many seconds for a triple
// in both directions.
func (m *Machine) kernel(p *plan.Plan, s *plan.Share, of *kirchhoff.Problem, traces []int32, triple, cores float64) *played {
	k := &played{share: [2]float64{dist.Forward: m.Forward, dist.Backward: 1 - m.Forward}}
	k.cuts, k.ahead = of.Pieces(s.Local())
	for d, cuts := range k.cuts {
		k.parts[d] = make([]float64, len(cuts)-1)
	}
	l, total := kirchhoff.Outline(of), 0.0
	samples := k.elements(dist.Forward) / max(1, of.NumTraces()) // of a trace that is summed
	heard := plan.HeardOf(p, traces, s.Slab, pairs(s.Grid[0]*s.Grid[1]), func(q plan.Pair, cost float64) {
		total += cost
		for d, at := range [2]int{dist.Forward: q.Trace * samples, dist.Backward: l.Place(q.Point)} {
			k.parts[d][sort.SearchInts(k.cuts[d], at+1)-1] += cost
		}
	})
	for d, parts := range k.parts {
		for i := range parts {
			if parts[i] /= total; total == 0 {
				parts[i] = float64(k.length(dist.Direction(d), i)) / float64(max(1, k.elements(dist.Direction(d))))
			}
		}
	}
	k.triples = triple * heard * float64(of.Visits())
	sample := 1 / m.Samples
	if m.Vectors > 0 { // the operations on vectors take their own time
		sample = max(0, sample-sampleBytes/m.Vectors)
	}
	k.samples = sample / cores * float64(k.elements(dist.Forward))
	points, _ := of.Slabs()
	k.units = [2]int{dist.Forward: len(points) - 1, dist.Backward: len(s.Shots)}
	return k
}

// played is a kernel that computes nothing and takes the time of one.
type played struct {
	device           *device.Counter
	clock            *sim.Clock
	triples, samples float64    // s, of both directions
	share            [2]float64 // of triples, that each direction takes
	cuts             [2][]int   // of each direction; see kirchhoff.Problem.Pieces
	ahead            [2]int
	parts            [2][]float64 // of triples, that each piece takes
	units            [2]int       // of the source, see dist.Pieced
}

var _ dist.Pieced = (*played)(nil)

// elements is how many elements all pieces of a direction have, length how many piece i has.
func (k *played) elements(d dist.Direction) int      { return k.cuts[d][len(k.cuts[d])-1] }
func (k *played) length(d dist.Direction, i int) int { return k.cuts[d][i+1] - k.cuts[d][i] }

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
	sums, err := k.device.Alloc(k.elements(d), t)
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
func (a *playing) Pieces() int { return len(a.cuts[a.d]) - 1 }

// Ahead implements dist.Application.
func (a *playing) Ahead() int { return a.ahead[a.d] }

// Sum implements dist.Application. Each piece takes its part of the triples, and an adjoint
// sets its sums to zero before.
func (a *playing) Sum(i int) (device.Buf, error) {
	buf := a.sums.Slice(a.cuts[a.d][i], a.length(a.d, i))
	if a.d == dist.Backward {
		if err := a.device.Zero(buf); err != nil {
			return nil, err
		}
	}
	a.clock.Compute(a.triples * a.share[a.d] * a.parts[a.d][i])
	return buf, nil
}

// Finish implements dist.Application. A forward convolves its traces, an adjoint reads the sums
// and adds them to the image.
func (a *playing) Finish(i int) error {
	length := a.length(a.d, i)
	if a.d == dist.Forward {
		a.clock.Compute(a.samples / 2 * float64(length) / float64(a.elements(a.d)))
	} else {
		a.clock.Moved(int64(length) * int64(a.sums.Type().Size()+8))
	}
	if i == a.Pieces()-1 {
		a.device.Free(a.sums)
	}
	return nil
}
