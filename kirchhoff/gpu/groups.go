package gpu

import (
	"cmp"
	"context"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// stream applies the operator to streamed traces, group by group. A group is a unit. Its
// traces are in a buffer of the card, see card.Feed.
type stream struct{ *kernel }

var _ dist.Grouped = stream{}

// Groups implements kirchhoff.Engine.
func (e *Engine) Groups() dist.Grouped {
	if e.work.Cuts == nil {
		return nil
	}
	return stream{e.kernels[0]}
}

// groupCuts cuts the traces of each group into pieces.
func (e *Engine) groupCuts(p *survey.Positions) (cuts []int) {
	groups := e.work.Cuts
	for i, lo := range groups[:len(groups)-1] {
		part := survey.Positions{Source: p.Source[lo:groups[i+1]]}
		of := traceCuts(&part)
		for _, at := range of[:len(of)-1] {
			cuts = append(cuts, lo+at)
		}
	}
	return append(cuts, len(p.Source))
}

func (s stream) Groups() int { return len(s.image.Units) }

func (s stream) Group(i int) (lo, hi int) {
	return s.image.Units[i].Lo * s.engine.nt, s.image.Units[i].Hi * s.engine.nt
}

func (s stream) Gain() float64 { return s.engine.geometry.plan.Gain() }

func (s stream) Clear(context.Context) error { return s.engine.clear() }

func (s stream) Begin(ctx context.Context, dst device.Buf, quantum float64) dist.Application {
	s.engine.room.Lock()
	defer s.engine.room.Unlock()
	return s.engine.begin(ctx, dist.Backward.String(), s.engine.backward(dst, 1, quantum, false, func(int, int, device.Buf) (int, error) { return 1, nil }))
}

func (s stream) Open(ctx context.Context, i int) (dist.Group, error) {
	s.engine.room.Lock()
	defer s.engine.room.Unlock()
	k := &kernel{engine: s.engine, image: s.image.Group(s.image.Units[i], traceCuts)}
	o, err := k.open(ctx, k.image.Units[0])
	if err != nil {
		return nil, err
	}
	k.kept, k.numbered = o, o.numbered
	return group{k}, nil
}

// group is the operator of one group's traces, whose tables and lists are ready.
type group struct{ *kernel }

func (g group) Add(ctx context.Context, src device.Buf, quantum float64) error {
	g.engine.room.Lock()
	defer g.engine.room.Unlock()
	defer g.engine.buffers.dev.Clock.Main(dist.Backward.String())()
	by := g.engine.adjointPass()
	if !g.correlated(src) {
		by.correlate(src, g.numbered, 0, g.kept.count)
	}
	g.engine.ready = nil
	g.kept.add(by.function, quantum)
	return cmp.Or(ctx.Err(), g.engine.context.Err())
}

func (g group) Close() {
	o := g.kept
	g.kept = nil
	o.Close()
}
