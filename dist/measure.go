package dist

import "time"

// Overlapped is what was measured before it was chosen whether to overlap. Times are
// means over the measured applications of both directions together, of the slowest
// rank.
type Overlapped struct {
	On            bool          // what was chosen: the faster
	With, Without time.Duration // an application of each direction that sums over ranks
	Sums          time.Duration // of Without: in the sums, waiting for slower ranks included
}

// Hidden is the share of the sums' time that the overlap hides, from 0 to 1.
func (o Overlapped) Hidden() float64 {
	if o.Sums <= 0 {
		return 0
	}
	return min(1, max(0, float64(o.Without-o.With)/float64(o.Sums)))
}

// measuring decides over the first applications whether sums are overlapped. Of each
// direction the first is for warming up; the next ones are in turn without and with.
type measuring struct {
	of [2]struct {
		sums bool // the direction sums over ranks
		n    int  // applications so far
		took [2]time.Duration
		sum  time.Duration
	}
}

// newMeasuring is nil where neither direction sums over ranks.
func newMeasuring(forward, adjoint bool) *measuring {
	if !forward && !adjoint {
		return nil
	}
	m := &measuring{}
	m.of[Forward].sums, m.of[Backward].sums = forward, adjoint
	return m
}

// measured is how often each way is measured in each direction.
const measured = 2

// over tells whether the direction's application under way overlaps, and whether it
// counts.
func (m *measuring) over(d Direction) (overlap, counts bool) {
	n := m.of[d].n
	return n%2 == 0, n > 0 && n <= 2*measured
}

// done notes an application.
func (m *measuring) done(d Direction, overlap bool, took, sums time.Duration) {
	of := &m.of[d]
	of.n++
	switch {
	case of.n == 1 || of.n > 1+2*measured: // the first, and more than are needed
	case overlap:
		of.took[1] += took / measured
	default:
		of.took[0] += took / measured
		of.sum += sums / measured
	}
}

// complete tells whether enough is known. All ranks come to it alike.
func (m *measuring) complete() bool {
	for _, of := range m.of {
		if of.sums && of.n <= 2*measured {
			return false
		}
	}
	return true
}

// choose compares the slowest ranks' times; most sets numbers to the largest of all
// ranks.
func (m *measuring) choose(most func([]float64) error) (o Overlapped, err error) {
	for _, of := range m.of {
		if of.sums {
			o.With += of.took[1]
			o.Without += of.took[0]
			o.Sums += of.sum
		}
	}
	worst := []float64{float64(o.With), float64(o.Without), float64(o.Sums)}
	err = most(worst)
	o.With, o.Without, o.Sums = time.Duration(worst[0]), time.Duration(worst[1]), time.Duration(worst[2])
	o.On = o.With <= o.Without
	return o, err
}
