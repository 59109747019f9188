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

func (s stream) Groups() int { return len(s.Units) }

func (s stream) Group(i int) (lo, hi int) { return s.Units[i].Lo * s.nt, s.Units[i].Hi * s.nt }

func (s stream) Gain() float64 { return s.plan.Gain() }

func (s stream) Clear(context.Context) error { return s.clear() }

func (s stream) Begin(ctx context.Context, dst device.Buf, quantum float64) dist.Application {
	s.room.Lock()
	defer s.room.Unlock()
	return s.begin(ctx, dist.Backward.String(), s.backward(dst, 1, quantum, false, func(int, int, device.Buf) (int, error) { return 1, nil }))
}

func (s stream) Open(ctx context.Context, i int) (dist.Group, error) {
	s.room.Lock()
	defer s.room.Unlock()
	k := &kernel{Engine: s.Engine, Image: s.Image.Group(s.Units[i], traceCuts)}
	o, err := k.open(ctx, k.Units[0])
	if err != nil {
		return nil, err
	}
	k.kept, k.numbered = o, o.numbered
	return group{k}, nil
}

// group is the operator of one group's traces, whose tables and lists are ready.
type group struct{ *kernel }

func (g group) Add(ctx context.Context, src device.Buf, quantum float64) error {
	g.room.Lock()
	defer g.room.Unlock()
	defer g.dev.Clock.Main(dist.Backward.String())()
	by := g.adjointPass()
	if !g.correlated(src) {
		by.correlate(src, g.numbered, 0, g.kept.count)
	}
	g.ready = nil
	g.kept.add(by.function, quantum)
	return cmp.Or(ctx.Err(), g.context.Err())
}

func (g group) Close() {
	o := g.kept
	g.kept = nil
	o.Close()
}
