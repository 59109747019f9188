package kirchhoff

import (
	"context"
	"math"
	"runtime"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// stream applies the operator to streamed traces, group by group. A group is a unit;
// what an application needs besides tables is as large as a group.
//
// With exact sums its traces and, with the same quantum, its image have the same bits
// however the groups are cut: they end where no unit of exact sums does.
type stream struct{ *kernel }

var _ dist.Grouped = stream{}

func (e *cpu) Groups() dist.Grouped {
	if e.work.Cuts == nil {
		return nil
	}
	return stream{e.kernels[0]}
}

func (s stream) Groups() int { return len(s.units) }

func (s stream) Group(i int) (lo, hi int) {
	return s.units[i].lo * s.Problem.NT, s.units[i].hi * s.Problem.NT
}

// Gain bounds what correlating a trace with the wavelet makes of its largest sample:
// the sum of the absolute values of its taps.
func (s stream) Gain() float64 {
	sum := 0.0
	for _, v := range s.Correlate.Taps {
		sum += math.Abs(float64(v))
	}
	return slack * sum
}

func (s stream) Clear(ctx context.Context) error { return s.clearSums(ctx, 0, s.Tiles) }

func (s stream) Begin(ctx context.Context, dst device.Buf, quantum float64) dist.Application {
	return s.backward(ctx, device.Slice[float32](dst), s.Scale, quantum, func(int, int) error { return nil })
}

// group is the operator of one group's traces, whose tables and lists are ready.
type group struct{ *kernel }

func (s stream) Open(ctx context.Context, i int) (dist.Group, error) {
	k := s.group(i)
	o, err := k.open(ctx, k.units[0])
	if err != nil {
		return nil, err
	}
	k.kept = o
	return group{k}, nil
}

// group is the kernel of a group's traces alone.
func (s stream) group(i int) *kernel {
	u := s.units[i]
	p := s.part(s.order[u.lo:u.hi])
	k := &kernel{cpu: s.cpu, problem: p, traces: u.hi - u.lo, traceCuts: p.traceCuts(), order: count(u.hi - u.lo)}
	k.units = []unit{{hi: k.traces, last: len(k.traceCuts) - 2}}
	return k
}

func (g group) Add(ctx context.Context, src device.Buf, quantum float64) error {
	g.room.Lock()
	defer g.room.Unlock()
	defer runtime.KeepAlive(g.kernel)
	return g.kept.migrate(ctx, device.Slice[float32](src), 0, g.Tiles, quantum, false)
}

func (g group) Close() {
	o := g.kept
	g.kept = nil
	o.close()
}
