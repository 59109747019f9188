package kirchhoff

import (
	"context"
	"runtime"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// stream applies the operator to streamed traces, group by group. A group is a unit;
// besides tables, an application needs memory for one group only.
//
// With exact sums, traces have the same bits however the groups are cut. The image has the same
// bits for the same quantum, because groups end between units of exact sums.
type stream struct{ *kernel }

var _ dist.Grouped = stream{}

func (e *cpu) Groups() dist.Grouped {
	if e.work.Cuts == nil {
		return nil
	}
	return stream{e.kernels[0]}
}

func (s stream) Groups() int { return len(s.image.Units) }

func (s stream) Group(i int) (lo, hi int) {
	return s.image.Units[i].Lo * s.cpu.plan.Problem.NT, s.image.Units[i].Hi * s.cpu.plan.Problem.NT
}

// Gain implements dist.Grouped.
func (s stream) Gain() float64 { return s.cpu.plan.Gain() }

func (s stream) Clear(ctx context.Context) error { return s.cpu.clearSums(ctx, 0, s.cpu.plan.Tiles) }

func (s stream) Begin(ctx context.Context, dst device.Buf, quantum float64) dist.Application {
	return s.cpu.backward(ctx, device.Slice[float32](dst), s.cpu.plan.Scale, quantum, func(int, int) error { return nil })
}

// group is the operator of one group's traces, whose tables and lists are ready.
type group struct{ *kernel }

func (s stream) Open(ctx context.Context, i int) (dist.Group, error) {
	k := s.group(i)
	o, err := k.open(ctx, k.image.Units[0])
	if err != nil {
		return nil, err
	}
	k.kept = o
	return group{k}, nil
}

// group returns the kernel of one group's traces.
func (s stream) group(i int) *kernel {
	return &kernel{cpu: s.cpu, image: s.image.Group(s.image.Units[i], traceCuts)}
}

func (g group) Add(ctx context.Context, src device.Buf, quantum float64) error {
	g.cpu.room.Lock()
	defer g.cpu.room.Unlock()
	defer runtime.KeepAlive(g.kernel)
	return g.kept.migrate(ctx, device.Slice[float32](src), 0, g.cpu.plan.Tiles, quantum, false)
}

func (g group) Close() {
	o := g.kept
	g.kept = nil
	o.Close()
}
