package dist

import "time"

// Overlapped is the measurement on which the choice of overlapping rests. Times are means
// over the measured applications of both directions, on the slowest rank.
type Overlapped struct {
	On            bool          // what was chosen: the faster
	With, Without time.Duration // an application of each direction that sums over ranks
	Sums          time.Duration // of Without: in the sums, waiting for slower ranks included
}

// Hidden is the fraction of the sums' time that the overlap hides, from 0 to 1.
func (o Overlapped) Hidden() float64 {
	if o.Sums <= 0 {
		return 0
	}
	return min(1, max(0, float64(o.Without-o.With)/float64(o.Sums)))
}

// measuring decides from the first applications whether sums are overlapped. The first
// application of each direction is a warm-up. The next ones alternate between no overlap
// and overlap.
type measuring struct {
	of [2]struct {
		sums bool // the direction sums over ranks
		n    int  // applications so far
		took [2]time.Duration
		sum  time.Duration
	}
}

// newMeasuring returns nil if neither direction sums over ranks.
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

// over reports whether the present application of a direction overlaps, and whether it counts.
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

// complete reports whether enough has been measured. The answer is the same on all ranks.
func (m *measuring) complete() bool {
	for _, of := range m.of {
		if of.sums && of.n <= 2*measured {
			return false
		}
	}
	return true
}

// choose compares the times of the slowest ranks. most sets numbers to their largest
// values over all ranks.
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
