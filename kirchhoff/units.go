package kirchhoff

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// kernel is the operator of one image on the cpu. It implements dist.Pieced. Its traces
// are all of the problem or those of a class.
type kernel struct {
	*cpu
	problem   *Problem // with the traces and the window of the image
	traces    int      // of the data
	rows      []int32  // row of the data of each trace; nil: its own number
	traceCuts []int    // first trace of each piece of the forward, and the number of traces
	inCells   []bool   // see the function
	order     []int32  // the traces in the order of units

	units  []unit
	places int    // of the unit that has most
	short  int    // places of the largest run that the budget cuts, which then has no exact sums; 0: none
	kept   *lists // of the only unit, with tables that are kept; else nil
}

// unit is a unit of work: the traces lo to hi in the order of units. Its tables are kept,
// or made again whenever it is opened. Its traces meet all tiles of the plan.
type unit struct {
	lo, hi      int
	first, last int // pieces of the forward in which its traces lie
}

// newKernel makes the kernel of a class and cuts its traces into units. place is the
// memory of a place's tables, in bytes.
func (e *cpu) newKernel(p *Problem, c Class, place int64) (*kernel, error) {
	q := *p
	k := &kernel{cpu: e, problem: &q, traces: p.NumTraces()}
	if !c.All {
		q.Positions, k.rows = p.Positions.Of(c.Traces), c.Traces
	}
	if c.Opening != (Window{}) {
		q.Opening = c.Opening
	}
	pos, n := q.Positions, q.NumTraces()
	k.traceCuts, k.places, k.order = q.traceCuts(), pos.Len(), count(n)
	switch {
	case e.work.Cuts != nil:
		for i, at := range e.work.Cuts[1:] {
			k.add(e.work.Cuts[i], at)
		}
		if e.work.Remake {
			k.places = 0
			of := newMet(pos)
			for _, u := range k.units {
				of.clear()
				of.add(k.order[u.lo:u.hi])
				k.places = max(k.places, of.n)
			}
		}
	case e.work.Remake:
		most := k.places
		if place > 0 {
			most = int(min(e.work.Budget/place, int64(most)))
		}
		if most < 2 && k.places > 1 {
			return nil, fmt.Errorf("kirchhoff: %d bytes for tables do not hold the two of a trace, %d bytes", e.work.Budget, 2*place)
		}
		k.stretches(most)
		if e.work.Exact {
			return k, k.exactly(1)
		}
	default:
		k.units = []unit{{hi: n, last: len(k.traceCuts) - 2}}
	}
	return k, nil
}

// piece is the piece of the forward in which a trace lies.
func (k *kernel) piece(trace int32) int { return sort.SearchInts(k.traceCuts, int(trace)+1) - 1 }

// add appends a unit of the traces lo to hi in the order of units.
func (k *kernel) add(lo, hi int) {
	traces := k.order[lo:hi]
	k.units = append(k.units, unit{lo, hi, k.piece(slices.Min(traces)), k.piece(slices.Max(traces))})
}

// met counts the places of traces, each once.
type met struct {
	*survey.Positions
	n     int     // places met in this round
	round int32   // from 1
	last  []int32 // by place, the round in which it was last met
}

func newMet(p *survey.Positions) *met {
	return &met{Positions: p, round: 1, last: make([]int32, p.Len())}
}

// clear begins a new round.
func (m *met) clear() {
	m.n = 0
	m.round++
}

// add meets the places of some traces.
func (m *met) add(traces []int32) {
	for _, i := range traces {
		for _, place := range [2]int32{m.Source[i], m.Receiver[i]} {
			if m.last[place] != m.round {
				m.last[place] = m.round
				m.n++
			}
		}
	}
}

// stretches makes units of runs of traces (see blocking), in the order of sources. A unit
// takes as many runs as use at most "most" places together. Sharing places among
// neighbouring shots reduces repeated work. A run that uses more places than that is cut.
func (k *kernel) stretches(most int) {
	p := k.problem
	k.order, k.places = inRuns(p.Positions, adjointCells.receivers), 0
	run := newMet(p.Positions)
	places, first := newMet(p.Positions), 0 // of the unit in the making
	end := func(at, n int) {                // which has n places
		if n > 0 {
			k.places = max(k.places, n)
			k.add(first, at)
			first = at
		}
		places.clear()
	}
	for at := 0; at < len(k.order); {
		next := runEnd(p.Positions, k.order, at, adjointCells.receivers)
		size := next - at
		run.clear()
		if run.add(k.order[at:next]); run.n > most { // trace by trace then
			k.short, size = max(k.short, run.n), 1
			end(at, places.n)
		}
		for ; at < next; at += size {
			traces, before := k.order[at:at+size], places.n
			if places.add(traces); places.n > most {
				end(at, before)
				places.add(traces)
			}
		}
	}
	end(len(k.order), places.n)
}

// open makes a unit ready: its lists and, unless they are kept, its tables.
func (k *kernel) open(ctx context.Context, u unit) (*lists, error) {
	if k.kept != nil {
		return k.kept, nil
	}
	traces := k.order[u.lo:u.hi]
	q, t := k.part(traces), k.tables
	if t == nil {
		t = newTables(k.Plan, newCover(q, &k.Tiling), false)
		if err := t.make(ctx, q); err != nil {
			t.free()
			return nil, err
		}
	}
	o := newLists(k, t, q, traces)
	if o.err != nil {
		o.close()
		return nil, o.err
	}
	return o, nil
}

// part is the problem of some traces. It has all places if tables are kept, else only the
// places of these traces.
func (k *kernel) part(traces []int32) *Problem {
	q := *k.problem
	if k.tables != nil {
		q.Positions = q.Positions.Of(traces)
		return &q
	}
	windows := q.Windows()
	var from []int32
	q.Positions, from = q.Positions.Subset(traces)
	if windows != nil {
		q.AllWindows = make([]traveltime.Window, len(from))
		for own, place := range from {
			q.AllWindows[own] = windows[place]
		}
	}
	if given := q.Amplitude; given != nil {
		q.Amplitude = func(place int) ([]float64, error) { return given(int(from[place])) }
	}
	return &q
}

// eachUnit opens the units one after the other and calls f with each.
func (k *kernel) eachUnit(ctx context.Context, f func(*lists) error) error {
	for _, u := range k.units {
		o, err := k.open(ctx, u)
		if err != nil {
			return err
		}
		err = f(o)
		o.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// cursor steps through the units as the pieces of a forward need them.
type cursor struct {
	*kernel
	next int    // unit
	at   *lists // of that unit, if the last piece ended in it, else nil
}

// sumTraces sets the sums of one piece of the forward. Pieces must be asked for in order
// from the first.
func (c *cursor) sumTraces(ctx context.Context, piece int, sums device.Buf, quantum float64) (err error) {
	for ; c.next < len(c.units) && c.units[c.next].first <= piece; c.next++ {
		if c.at == nil {
			if c.at, err = c.open(ctx, c.units[c.next]); err != nil {
				return err
			}
		}
		if err := c.at.sumTraces(ctx, piece, sums, quantum); err != nil {
			return err
		}
		if c.units[c.next].last > piece {
			return nil
		}
		c.at.close()
		c.at = nil
	}
	return nil
}

// exactly returns an error if exact sums are asked for but the budget for tables does
// not hold the places of a run.
func (k *kernel) exactly(quantum float64) error {
	if quantum == 0 || k.short == 0 {
		return nil
	}
	return status.Resource(fmt.Errorf("kirchhoff: sums that do not depend on the partition need tables of %d places at a time, there is memory for fewer", k.short))
}
