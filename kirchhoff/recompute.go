package kirchhoff

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Recompute is the cpu engine for surveys whose tables do not fit into memory.
// It cuts the list of traces into stretches whose places fit, and in every
// application computes the tables of one stretch after the other, uses them and
// lets them go. Stretches are cut between runs of traces (see blocking) in the order
// of sources, so the fewer places neighbouring shots need, the less is computed twice.
//
// Its traces have the same bits as the cpu engine's; its images differ by
// rounding, unless sums are exact: see dist.Pieced.
type Recompute struct {
	*workspace
	problem Problem
	parts   []part
	bytes   int64 // tables of the largest stretch
	// short is, where a budget holds fewer places than some run has, that number of
	// places; sums are then never exact.
	short int
}

var _ dist.Pieced = (*Recompute)(nil)

// part is a stretch of traces, the problem that they make, and where the forward's
// pieces have them.
type part struct {
	traces      []int32
	problem     *Problem
	first, last int // pieces
}

// NewRecompute cuts p into stretches whose tables take at most the given number
// of bytes. Its errors are those of NewCPU, and a budget below the tables of
// one trace.
func NewRecompute(ctx context.Context, p *Problem, budget int64) (*Recompute, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	whole := p.whole()
	w, err := newWorkspace(ctx, whole)
	if err != nil {
		return nil, err
	}
	r, err := newRecompute(ctx, whole, w, budget)
	if err != nil {
		w.free()
	}
	return r, err
}

// whole is p with what its parts must have of the whole survey, or the weights would
// depend on the cut.
func (p *Problem) whole() *Problem {
	whole := *p
	if whole.Dynamic && whole.MaxDistance == [2]float64{} {
		whole.MaxDistance[0], whole.MaxDistance[1] = MaxDistance(p.Grid, p.Positions)
	}
	whole.Progress = nil
	return &whole
}

func newRecompute(ctx context.Context, p *Problem, w *workspace, budget int64) (*Recompute, error) {
	per := p.PlaceBytes()
	most := p.Positions.Len()
	if per > 0 {
		most = int(min(budget/per, int64(most)))
	}
	if most < 2 && p.Positions.Len() > 1 {
		return nil, fmt.Errorf("kirchhoff: %d bytes for tables do not hold the two of a trace, %d bytes", budget, 2*per)
	}
	w.inCells = inCells(p.Positions)
	r := &Recompute{workspace: w, problem: *p}
	r.cut(most, per)
	if len(r.parts) == 0 {
		return r, nil
	}
	// The first stretch is made once now: what is wrong shows before a long run.
	e, err := r.make(ctx, r.parts[0])
	if err != nil {
		return nil, err
	}
	e.Close()
	return r, nil
}

// cut makes the stretches, with at most so many places where that can be.
func (r *Recompute) cut(most int, per int64) {
	r.short = eachStretch(r.problem.Positions, most, func(traces []int32, places int) {
		r.bytes = max(r.bytes, int64(places)*per)
		r.parts = append(r.parts, r.stretch(traces))
	})
}

// eachStretch calls f for each stretch of the traces, as many runs as have their places
// among most, with the number of its places. It returns the number of places of the
// largest run that has more than most and is cut; 0 for none.
func eachStretch(p *survey.Positions, most int, f func(traces []int32, places int)) (short int) {
	order := count(len(p.Source))
	cell := func(i int32) int32 { return p.NumberOf(p.Receiver[i]) / adjointCells.receivers }
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(p.Source[a], p.Source[b]), cmp.Compare(cell(a), cell(b)), cmp.Compare(a, b))
	})
	s := &stretch{p: p, seen: make([]int, p.Len()), part: 1}
	end := func(at int) {
		f(order[s.first:at], s.places)
		s.part, s.first, s.places = s.part+1, at, 0
	}
	for at := 0; at < len(order); {
		next := at + 1
		for next < len(order) && p.Source[order[next]] == p.Source[order[at]] && cell(order[next]) == cell(order[at]) {
			next++
		}
		if s.places > 0 && s.places+s.fresh(order[at:next]) > most {
			end(at)
		}
		if n := s.fresh(order[at:next]); n > most { // trace by trace then
			short = max(short, n)
			for ; at < next; at++ {
				if s.places > 0 && s.places+s.fresh(order[at:at+1]) > most {
					end(at)
				}
				s.mark(order[at : at+1])
			}
			continue
		}
		s.mark(order[at:next])
		at = next
	}
	if len(order) > 0 {
		end(len(order))
	}
	return short
}

// stretch is one in the making.
type stretch struct {
	p      *survey.Positions
	seen   []int // by place: the last part, from 1, that used it
	part   int
	first  int
	places int
}

// fresh is the number of places of some traces that the stretch does not have yet.
func (s *stretch) fresh(traces []int32) int {
	n := 0
	met := map[int32]bool{}
	for _, i := range traces {
		for _, place := range [2]int32{s.p.Source[i], s.p.Receiver[i]} {
			if s.seen[place] != s.part && !met[place] {
				met[place] = true
				n++
			}
		}
	}
	return n
}

// mark adds the places of some traces.
func (s *stretch) mark(traces []int32) {
	s.places += s.fresh(traces)
	for _, i := range traces {
		s.seen[s.p.Source[i]], s.seen[s.p.Receiver[i]] = s.part, s.part
	}
}

// stretch is the part of the given traces, with their places alone.
func (r *Recompute) stretch(traces []int32) part {
	q := r.problem
	var from []int32
	q.Positions, from = q.Positions.Subset(traces)
	if given := r.problem.Amplitude; given != nil {
		q.Amplitude = func(place int) ([]float64, error) { return given(int(from[place])) }
	}
	piece := func(row int32) int {
		k, found := slices.BinarySearch(r.traceCuts, int(row))
		if !found {
			k--
		}
		return k
	}
	return part{traces: traces, problem: &q, first: piece(slices.Min(traces)), last: piece(slices.Max(traces))}
}

// make computes the tables of a stretch.
func (r *Recompute) make(ctx context.Context, part part) (*CPU, error) {
	return newTables(ctx, part.problem, r.workspace, part.traces)
}

// Forward adds the demigrated traces of the image src to dst.
func (r *Recompute) Forward(ctx context.Context, dst, src device.Buf) error {
	data, image := r.slices("forward", dst, src)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.load(ctx, image); err != nil {
		return err
	}
	for _, part := range r.parts {
		c, err := r.make(ctx, part)
		if err != nil {
			return err
		}
		err = c.demigrateAll(ctx, data)
		c.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// Adjoint adds the migrated image of the traces src to dst.
func (r *Recompute) Adjoint(ctx context.Context, dst, src device.Buf) error {
	data, image := r.slices("adjoint", src, dst)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := (&remaking{Recompute: r, data: data}).sumTiles(ctx, 0, r.tiles.tiles, 0); err != nil {
		return err
	}
	return r.each(ctx, 0, r.tiles.tiles, func(lo, hi int) { unload(r.tiles, image, r.image64.S, r.scale, lo, hi) })
}

// Begin implements dist.Pieced. Its error is a quantum where the budget for tables
// does not hold the places of a run.
func (r *Recompute) Begin(ctx context.Context, d dist.Direction, dst, src device.Buf, quantum float64) (dist.Application, error) {
	if quantum != 0 && r.short > 0 {
		return nil, r.tooShort()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if d == dist.Forward {
		data, image := r.slices("forward", dst, src)
		return r.forward(ctx, &remaking{Recompute: r}, data, image, quantum)
	}
	data, image := r.slices("adjoint", src, dst)
	return r.backward(ctx, &remaking{Recompute: r, data: data}, image, quantum), nil
}

func (r *Recompute) tooShort() error {
	return status.Resource(fmt.Errorf("kirchhoff: sums that do not depend on the partition need tables of %d places at a time, there is memory for fewer", r.short))
}

// remaking is one application.
type remaking struct {
	*Recompute
	data []float32 // of the adjoint
	open *CPU      // of the forward: the stretch that the last piece ended in, or nil
	next int       // part after it
}

// sumTiles sums all tiles, over all stretches, when asked for the first.
func (r *remaking) sumTiles(ctx context.Context, lo, _ int, quantum float64) error {
	if lo > 0 {
		return nil
	}
	clear(r.image64.S)
	for _, part := range r.parts {
		c, err := r.make(ctx, part)
		if err != nil {
			return err
		}
		if err = c.correlateAll(ctx, r.data, nil); err == nil {
			err = r.each(ctx, 0, r.tiles.tiles, func(lo, hi int) { c.migrate(ctx, lo, hi, quantum) })
		}
		c.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *remaking) sumTraces(ctx context.Context, piece int, plain []float32, exact []float64, quantum float64) error {
	for {
		if r.open == nil {
			if r.next == len(r.parts) || r.parts[r.next].first > piece {
				return nil
			}
			c, err := r.make(ctx, r.parts[r.next])
			if err != nil {
				return err
			}
			r.open = c
			r.next++
		}
		if err := r.open.sumTraces(ctx, piece, plain, exact, quantum); err != nil {
			return err
		}
		if r.parts[r.next-1].last > piece {
			return nil
		}
		r.open.Close()
		r.open = nil
	}
}

// Name is the engine's name in the configuration.
func (r *Recompute) Name() string { return "cpu" }

// Type is float32.
func (r *Recompute) Type() device.Type { return device.F32 }

// ISA names the set of kernels in use.
func (r *Recompute) ISA() string { return r.isa.String() }

// Stretches is the number of pieces that the traces are cut into.
func (r *Recompute) Stretches() int { return len(r.parts) }

// TableBytes is the memory of the largest stretch's tables.
func (r *Recompute) TableBytes() int64 { return r.bytes }

// Triples is the number of (trace, image point) pairs one application visits.
func (r *Recompute) Triples() int64 { return r.p.Triples() }

// Close frees what an application needs besides tables, of which none are kept.
func (r *Recompute) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free()
}
