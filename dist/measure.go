package dist

import (
	"math"
	"slices"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
)

// Way is one way to sum over ranks, and what was measured of it. Times are the measured
// times of one application of each direction on the slowest rank.
type Way struct {
	Carrier string // the communicator's name
	Overlap bool   // as in LiftOptions
	Took    time.Duration
	Sums    time.Duration // of Took, without overlap: in the sums, waiting for slower ranks included
}

// Choice is the measurement on which the choice of a way rests.
type Choice struct {
	Ways  []Way // in the order in which they were measured
	Taken int   // the fastest of them
}

// Hidden is the fraction of the sums' time that the overlap hides, from 0 to 1. It follows
// from two ways of the chosen carrier, with overlap and without, which it also returns. ok
// is false where one of them was not measured.
func (c Choice) Hidden() (fraction float64, with, without Way, ok bool) {
	of := func(overlap bool) int {
		return slices.IndexFunc(c.Ways, func(w Way) bool { return w.Overlap == overlap && w.Carrier == c.Ways[c.Taken].Carrier })
	}
	on, off := of(true), of(false)
	if on < 0 || off < 0 {
		return 0, Way{}, Way{}, false
	}
	with, without = c.Ways[on], c.Ways[off]
	if without.Sums > 0 {
		fraction = min(1, max(0, float64(without.Took-with.Took)/float64(without.Sums)))
	}
	return fraction, with, without, true
}

// measuring decides from the first applications which carrier sums over ranks, and whether
// sums are overlapped. The first application of each direction is a warm-up. Then each
// carrier is measured in turn, and at last the fastest of them without overlap.
type measuring struct {
	carriers []string
	sums     [2]bool // directions that the ranks need each other for
	both     bool    // overlap is measured with and without, otherwise ways follow the options
	of       [2][]Times
	done     bool
	Choice
}

// newMeasuring begins to measure carriers, nil if there is nothing to choose.
func newMeasuring(carriers []string, sums [2]bool, o LiftOptions) *measuring {
	m := &measuring{carriers: carriers, sums: sums, both: !o.KeepOverlap}
	m.done = len(carriers) == 1 && !m.both
	for _, c := range carriers {
		m.Ways = append(m.Ways, Way{Carrier: c, Overlap: m.both || o.Overlap})
	}
	return m
}

// measured is how often each way is measured in each direction. The faster application
// counts, since the first over a carrier may have to connect the ranks.
const measured = 2

// next is the way of the next application of a direction, and whether its times are kept.
func (m *measuring) next(d Direction) (w Way, kept bool) {
	if m.done {
		return m.Ways[m.Taken], false
	}
	n := len(m.of[d])
	return m.Ways[min(max(0, n-1)/measured, len(m.Ways)-1)], n <= measured*len(m.Ways)
}

// complete reports whether all ways have been measured that are known. The answer is the same
// on all ranks.
func (m *measuring) complete() bool {
	for d, of := range m.of {
		if m.sums[d] && len(of) <= measured*len(m.Ways) {
			return false
		}
	}
	return true
}

// choose compares the ways' times on the slowest ranks. most sets numbers to their largest
// values over all ranks. It adds the last way if that is not measured yet, and is done
// otherwise.
func (m *measuring) choose(most func([]float64) error) error {
	var worst []float64
	for d, of := range m.of {
		for n := 1; n < len(of) && m.sums[d]; n++ {
			worst = append(worst, float64(of[n].Total), float64(of[n].Waiting))
		}
	}
	if err := most(worst); err != nil {
		return err
	}
	for i := range m.Ways {
		m.Ways[i].Took, m.Ways[i].Sums = 0, 0
	}
	for len(worst) > 0 { // a direction
		for i := range m.Ways {
			w, best, sums := &m.Ways[i], math.Inf(1), 0.
			for range measured {
				if worst[0] < best {
					best, sums = worst[0], worst[1]
				}
				worst = worst[2:]
			}
			w.Took += time.Duration(best)
			if !w.Overlap {
				w.Sums += time.Duration(sums)
			}
		}
	}
	m.Taken = 0
	for i, w := range m.Ways {
		if w.Took < m.Ways[m.Taken].Took {
			m.Taken = i
		}
	}
	m.done = !m.both || len(m.Ways) > len(m.carriers)
	if !m.done {
		m.Ways = append(m.Ways, Way{Carrier: m.Ways[m.Taken].Carrier})
	}
	return nil
}

// carriers are the names of the possible carriers of the sums.
func (l *lifted) carriers() []string {
	if s, ok := l.rng.Copies.(*comm.Switch); ok {
		return s.Carriers()
	}
	return []string{l.rng.Copies.Name()}
}

// startMeasuring prepares the choice that the options allow.
func (l *lifted) startMeasuring() {
	carriers, image := l.carriers(), l.image().Copies.Size() > 1
	sums := [2]bool{l.rng.Copies.Size() > 1, image && l.halo == nil}
	if l.halo != nil && len(carriers) > 1 { // it goes by the carriers, and is not overlapped
		sums = [2]bool{true, true}
	}
	if l.o.Choose != nil && sums != [2]bool{} {
		l.measuring = newMeasuring(carriers, sums, l.o)
	}
}

// measure sets the carrier and the overlap of this application, if the operator measures, and
// reports whether its times count. Once enough is known it makes the choice.
func (a *application) measure(d Direction) (counts bool, err error) {
	m := a.measuring
	if m == nil {
		return false, nil
	}
	if now := a.carriers(); !slices.Equal(now, m.carriers) { // other carriers have other times
		*m = *newMeasuring(now, m.sums, a.o)
	}
	if !m.done && m.complete() {
		if err := m.choose(a.maxOverRanks); err != nil {
			return false, err
		}
		if m.done {
			a.o.Choose(m.Choice)
		}
	}
	way, kept := m.next(d)
	if s, ok := a.rng.Copies.(*comm.Switch); ok {
		s.Use(way.Carrier)
	}
	a.overlap = way.Overlap
	a.kept, counts = kept, kept && len(m.of[d]) > 0
	a.alone = a.alone || counts && !a.overlap
	return counts, nil
}
