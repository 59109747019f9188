package kirchhoff

import (
	"fmt"
	"slices"
	"sort"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/pieces"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Image is the operator of one image as engines go through it: the traces of the problem
// or of a class, cut into the pieces of the forward and into units of work.
type Image struct {
	Own       *Problem // with the traces and the window of the image
	Rows      []int32  // row of the data of each trace; nil: its own number
	Data      int      // traces of the data
	TraceCuts []int    // first trace of each piece of the forward, and the number of traces
	Units     []Unit
	Places    int // of the unit that has most

	order  []int32 // the traces in the order of units
	remake bool    // tables are recomputed, only for the places of a unit
	short  int     // places of the largest run that the budget cuts, which then has no exact sums; 0: none
}

// Unit is a unit of work: some traces of an image. Its tables are kept, or made again
// whenever it is opened. Its traces meet all tiles of the plan.
type Unit struct {
	Lo, Hi      int // its traces in the order of units
	First, Last int // pieces of the forward in which they lie
}

// Cuts cuts traces into the pieces of an engine's forward. It returns the first trace of
// each piece, followed by the number of traces.
type Cuts func(*survey.Positions) []int

// Images cuts the work w for p into an image for each class. place is the memory of a place's tables, in
// bytes. It returns an error if groups are not of whole shots, or if the budget for tables
// does not hold the two places of a trace.
func Images(p *Problem, w Work, place int64, cut Cuts) ([]*Image, error) {
	if err := w.check(p); err != nil {
		return nil, err
	}
	whole := p.whole()
	whole.Velocity = nil // a plan has what is needed of it
	if w.Remake {
		whole.Progress = nil
	}
	var out []*Image
	for _, class := range w.images() {
		m, err := newImage(whole, class, w, place, cut)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// newImage makes the image of a class and cuts its traces into units.
func newImage(p *Problem, c Class, w Work, place int64, cut Cuts) (*Image, error) {
	q := *p
	m := &Image{Own: &q, Data: p.NumTraces(), remake: w.Remake}
	if !c.All {
		q.Positions, m.Rows = p.Positions.Of(c.Traces), append([]int32{}, c.Traces...) // never nil
	}
	if c.Opening != (Window{}) {
		q.Opening = c.Opening
	}
	pos, n := q.Positions, q.NumTraces()
	m.TraceCuts, m.Places, m.order = cut(pos), pos.Len(), count(n)
	switch {
	case w.Cuts != nil:
		for i, at := range w.Cuts[1:] {
			m.add(w.Cuts[i], at)
		}
		if w.Remake {
			m.Places = 0
			of := newMet(pos)
			for _, u := range m.Units {
				of.clear()
				of.add(m.order[u.Lo:u.Hi])
				m.Places = max(m.Places, of.n)
			}
		}
	case w.Remake:
		most := m.Places
		if place > 0 {
			most = int(min(w.Budget/place, int64(most)))
		}
		if most < 2 && m.Places > 1 {
			return nil, fmt.Errorf("kirchhoff: %d bytes for tables do not hold the two of a trace, %d bytes", w.Budget, 2*place)
		}
		m.cutStretches(most)
		if w.Exact {
			return m, m.Exactly(1)
		}
	default:
		m.Units = []Unit{{Hi: n, Last: len(m.TraceCuts) - 2}}
	}
	return m, nil
}

// Group returns the image of a unit's traces alone, in one unit.
func (m *Image) Group(u Unit, cut Cuts) *Image {
	p, _ := m.Part(u)
	n := p.NumTraces()
	g := &Image{Own: p, Data: n, TraceCuts: cut(p.Positions), Places: p.Positions.Len(), order: count(n)}
	g.Units = []Unit{{Hi: n, Last: len(g.TraceCuts) - 2}}
	return g
}

// findPiece returns the piece of the forward in which a trace lies.
func (m *Image) findPiece(trace int32) int { return sort.SearchInts(m.TraceCuts, int(trace)+1) - 1 }

// add appends a unit of the traces lo to hi in the order of units.
func (m *Image) add(lo, hi int) {
	traces := m.order[lo:hi]
	slices.Sort(traces)
	m.Units = append(m.Units, Unit{lo, hi, m.findPiece(traces[0]), m.findPiece(traces[len(traces)-1])})
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

// cutStretches makes units of runs of traces (see blocking), in the order of sources. A unit
// takes as many runs as use at most "most" places together. Sharing places among
// neighbouring shots reduces repeated work. A run that uses more places than that is cut.
func (m *Image) cutStretches(most int) {
	p := m.Own
	m.order, m.Places = inRuns(p.Positions, adjointCells.receivers), 0
	run := newMet(p.Positions)
	places, first := newMet(p.Positions), 0 // of the unit in the making
	end := func(at, n int) {                // which has n places
		if n > 0 {
			m.Places = max(m.Places, n)
			m.add(first, at)
			first = at
		}
		places.clear()
	}
	for at := 0; at < len(m.order); {
		next := runEnd(p.Positions, m.order, at, adjointCells.receivers)
		size := next - at
		run.clear()
		if run.add(m.order[at:next]); run.n > most { // trace by trace then
			m.short, size = max(m.short, run.n), 1
			end(at, places.n)
		}
		for ; at < next; at += size {
			traces, before := m.order[at:at+size], places.n
			if places.add(traces); places.n > most {
				end(at, before)
				places.add(traces)
			}
		}
	}
	end(len(m.order), places.n)
}

// Part returns the problem of a unit's traces and their numbers in the image, ascending. It
// has all places if tables are kept, otherwise only the places of these traces.
func (m *Image) Part(u Unit) (*Problem, []int32) {
	q, traces := *m.Own, m.order[u.Lo:u.Hi]
	if !m.remake {
		q.Positions = q.Positions.Of(traces)
		return &q, traces
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
	return &q, traces
}

// Opened is a unit that is ready, with its lists and tables.
type Opened interface{ Close() }

// Each opens the units of an image one after the other and calls f with each.
func Each[U Opened](m *Image, open func(Unit) (U, error), f func(U) error) error {
	for _, u := range m.Units {
		o, err := open(u)
		if err != nil {
			return err
		}
		err = f(o)
		o.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// Cursor steps through the units of an image as the pieces of a forward need them.
type Cursor[U Opened] struct {
	image *Image
	open  func(Unit) (U, error)
	next  int // unit
	at    U   // that unit, if it is ready
	ready bool
}

// NewCursor returns a cursor before the first piece.
func NewCursor[U Opened](m *Image, open func(Unit) (U, error)) *Cursor[U] {
	return &Cursor[U]{image: m, open: open}
}

// Each calls f with each unit that has traces in a piece. The caller goes through the pieces in
// order from the first.
func (c *Cursor[U]) Each(piece int, f func(U) error) (err error) {
	units := c.image.Units
	for ; c.next < len(units) && units[c.next].First <= piece; c.next++ {
		if !c.ready {
			if c.at, err = c.open(units[c.next]); err != nil {
				return err
			}
			c.ready = true
		}
		if err := f(c.at); err != nil {
			return err
		}
		if units[c.next].Last > piece {
			return nil
		}
		c.at.Close()
		c.ready = false
	}
	return nil
}

// Shots adds up the numbers of each shot's traces.
func (m *Image) Shots(trace []float64) []float64 {
	return pieces.Sums(trace, pieces.Starts(m.Own.Positions.Source, 1))
}

// Exactly returns an error if quantum, not 0, requires exact sums but the budget for tables does
// not hold the places of a run.
func (m *Image) Exactly(quantum float64) error {
	if quantum == 0 || m.short == 0 {
		return nil
	}
	return status.Resource(fmt.Errorf("kirchhoff: sums that do not depend on the partition need tables of %d places at a time, there is memory for fewer", m.short))
}
