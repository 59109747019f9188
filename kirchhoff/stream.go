package kirchhoff

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Stream is the cpu engine for data that are too many to hold: it goes through the
// traces group by group, and what it needs besides tables is as large as a group. A
// group is a stretch of the problem's traces, of whole shots. See dist.Grouped.
//
// With exact sums its traces and, with the same quantum, its image have the bits of
// the cpu engine's, however the groups are cut: they end where no unit of work does.
type Stream struct {
	*workspace
	problem Problem
	cuts    []int
	tables  *CPU  // of all places; nil: each group makes those of its own
	bytes   int64 // tables held at once
}

var _ dist.Grouped = (*Stream)(nil)

// NewStream makes an engine whose groups begin at the given traces, the last number
// being that of all traces. With remake each group computes the tables of its own
// places whenever it is opened, so that no others are held. Its errors are those of
// NewCPU.
func NewStream(ctx context.Context, p *Problem, cuts []int, remake bool) (*Stream, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := checkCuts(p, cuts); err != nil {
		return nil, err
	}
	whole := p.whole()
	w, err := newWorkspace(ctx, whole)
	if err != nil {
		return nil, err
	}
	s := &Stream{workspace: w, problem: *whole, cuts: cuts}
	if !remake {
		s.problem.Progress = p.Progress
	}
	if err := s.prepare(ctx, remake); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// checkCuts makes sure that groups are whole shots.
func checkCuts(p *Problem, cuts []int) error {
	n := len(cuts) - 1
	if n < 1 || cuts[0] != 0 || cuts[n] != p.NumTraces() {
		return fmt.Errorf("kirchhoff: groups of %d traces are cut at %v", p.NumTraces(), cuts)
	}
	source := p.Positions.Source
	for i, at := range cuts[:n] {
		if at >= cuts[i+1] || i > 0 && source[at] == source[at-1] {
			return fmt.Errorf("kirchhoff: group %d, traces %d to %d, is not of whole shots", i, at, cuts[i+1])
		}
	}
	return nil
}

// prepare computes the tables, or with remake those of the first group: what is wrong
// shows before a long run.
func (s *Stream) prepare(ctx context.Context, remake bool) error {
	if !remake {
		s.tables = &CPU{workspace: s.workspace, shared: true}
		if err := s.tables.allocate(&s.problem); err != nil {
			return err
		}
		s.bytes = s.tables.TableBytes()
		if err := s.tables.tables(ctx, &s.problem); err != nil {
			return err
		}
		s.tables.seal()
		return nil
	}
	s.bytes = GroupPlaces(s.problem.Positions, s.cuts) * s.problem.PlaceBytes()
	g, err := s.Open(ctx, 0)
	if err == nil {
		g.Close()
	}
	return err
}

// window is the problem of a group's traces, with all places.
func (s *Stream) window(i int) *Problem {
	q, lo, hi := s.problem, s.cuts[i], s.cuts[i+1]
	of := *q.Positions
	of.Source, of.Receiver = of.Source[lo:hi], of.Receiver[lo:hi]
	q.Positions = &of
	return &q
}

// subset is the problem of a group's traces, with their places alone.
func (s *Stream) subset(i int) *Problem {
	q := s.problem
	var from []int32
	q.Positions, from = q.Positions.Subset(stretchOf(s.cuts, i))
	if given := s.problem.Amplitude; given != nil {
		q.Amplitude = func(place int) ([]float64, error) { return given(int(from[place])) }
	}
	return &q
}

// stretchOf lists the traces of a group.
func stretchOf(cuts []int, i int) []int32 {
	traces := count(cuts[i+1] - cuts[i])
	for k := range traces {
		traces[k] += int32(cuts[i])
	}
	return traces
}

// GroupPlaces is the largest number of places that the traces of a group have.
func GroupPlaces(p *survey.Positions, cuts []int) int64 {
	seen, most := make([]int, p.Len()), int64(0) // the last group, from 1, that used a place
	for i := range len(cuts) - 1 {
		n := int64(0)
		for _, list := range [2][]int32{p.Source, p.Receiver} {
			for _, place := range list[cuts[i]:cuts[i+1]] {
				if seen[place] != i+1 {
					seen[place] = i + 1
					n++
				}
			}
		}
		most = max(most, n)
	}
	return most
}

// Groups is the number of groups.
func (s *Stream) Groups() int { return len(s.cuts) - 1 }

// Group implements dist.Grouped: the samples from lo to hi.
func (s *Stream) Group(i int) (lo, hi int) { return s.cuts[i] * s.p.NT, s.cuts[i+1] * s.p.NT }

// Gain bounds what correlating a trace with the wavelet makes of its largest sample:
// the sum of the absolute values of its taps.
func (s *Stream) Gain() float64 {
	sum := 0.0
	for _, v := range s.correlate.taps {
		sum += math.Abs(float64(v))
	}
	return slack * sum
}

// Bound implements dist.Grouped: that of CPU in the direction Forward.
func (s *Stream) Bound(src device.Buf) []float64 { return s.boundImage(device.Slice[float32](src)) }

// streamGroup is the cpu engine of one group; its adjoint is added to the sums of the
// stream.
type streamGroup struct{ *CPU }

// Open implements dist.Grouped. One group is open at a time.
func (s *Stream) Open(ctx context.Context, i int) (dist.Group, error) { return s.open(ctx, i) }

func (s *Stream) open(ctx context.Context, i int) (*streamGroup, error) {
	p := s.window(i)
	if s.tables == nil {
		p = s.subset(i)
	}
	w := *s.workspace
	w.p, w.traces, w.traceCuts = *p, p.NumTraces(), p.traceCuts()
	w.p.Velocity, w.p.Amplitude = nil, nil
	if s.tables == nil {
		c, err := newTables(ctx, p, &w, nil)
		return &streamGroup{c}, err
	}
	g := &streamGroup{&CPU{workspace: &w, shared: true, lent: true, op: s.tables.op}}
	if err := g.list(p); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// Begin implements dist.Group.
func (g *streamGroup) Begin(ctx context.Context, dst, src device.Buf, quantum float64) (dist.Application, error) {
	return g.CPU.Begin(ctx, dist.Forward, dst, src, quantum)
}

// Bound implements dist.Group: that of CPU in the direction Backward.
func (g *streamGroup) Bound(src device.Buf) ([]float64, error) {
	return g.CPU.Bound(dist.Backward, src)
}

// Add implements dist.Group.
func (g *streamGroup) Add(ctx context.Context, src device.Buf, quantum float64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer runtime.KeepAlive(g)
	return g.add(ctx, device.Slice[float32](src), quantum)
}

func (g *streamGroup) add(ctx context.Context, data []float32, quantum float64) error {
	if len(g.ready) == 0 || &g.ready[0] != &data[0] {
		if err := g.correlateAll(ctx, data, nil); err != nil {
			return err
		}
	}
	g.ready = nil
	return g.each(ctx, 0, g.tiles.tiles, func(lo, hi int) { g.migrate(ctx, lo, hi, quantum) })
}

// Clear implements dist.Grouped.
func (s *Stream) Clear(ctx context.Context) error {
	return s.each(ctx, 0, s.tiles.tiles, func(lo, hi int) {
		clear(s.image64.S[lo*simd.TileSize : hi*simd.TileSize])
	})
}

// summed are sums that are there already.
type summed struct{ tables }

func (summed) sumTiles(context.Context, int, int, float64) error { return nil }

// Begin implements dist.Grouped.
func (s *Stream) Begin(ctx context.Context, dst device.Buf, quantum float64) dist.Application {
	return s.backward(ctx, summed{}, device.Slice[float32](dst), quantum)
}

// Forward adds the demigrated traces of the image src to dst, data as a whole.
func (s *Stream) Forward(ctx context.Context, dst, src device.Buf) error {
	data, image := s.slices("forward", dst, src)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(ctx, image); err != nil {
		return err
	}
	return s.eachGroup(ctx, data, func(g *streamGroup, data []float32) error { return g.demigrateAll(ctx, data) })
}

// Adjoint adds the migrated image of the traces src, data as a whole, to dst.
func (s *Stream) Adjoint(ctx context.Context, dst, src device.Buf) error {
	data, image := s.slices("adjoint", src, dst)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.Clear(ctx); err != nil {
		return err
	}
	err := s.eachGroup(ctx, data, func(g *streamGroup, data []float32) error { return g.add(ctx, data, 0) })
	if err != nil {
		return err
	}
	return s.each(ctx, 0, s.tiles.tiles, func(lo, hi int) { unload(s.tiles, image, s.image64.S, s.scale, lo, hi) })
}

// eachGroup calls f for all groups with their data.
func (s *Stream) eachGroup(ctx context.Context, data []float32, f func(g *streamGroup, data []float32) error) error {
	for i := range s.Groups() {
		g, err := s.open(ctx, i)
		if err != nil {
			return err
		}
		lo, hi := s.Group(i)
		err = f(g, data[lo:hi])
		g.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// Name is the engine's name in the configuration.
func (s *Stream) Name() string { return "cpu" }

// Type is float32.
func (s *Stream) Type() device.Type { return device.F32 }

// ISA names the set of kernels in use.
func (s *Stream) ISA() string { return s.isa.String() }

// TableBytes is the memory of the tables held at once.
func (s *Stream) TableBytes() int64 { return s.bytes }

// Triples is the number of (trace, image point) pairs one application visits.
func (s *Stream) Triples() int64 { return s.p.Triples() }

// Close frees the tables and all that the groups share. It waits for an application
// that is running.
func (s *Stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free()
	if s.tables != nil {
		s.tables.Close()
	}
}
