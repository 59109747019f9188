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
	by   string     // the communicator that sums
	sums [2]bool    // directions that sum over ranks
	of   [2][]Times // applications so far
}

// measured is how often each way is measured in each direction.
const measured = 2

// over reports whether application n of a direction overlaps, and whether it counts.
func over(n int) (overlap, counts bool) { return n%2 == 0, n > 0 && n <= 2*measured }

// complete reports whether enough has been measured. The answer is the same on all ranks.
func (m *measuring) complete() bool {
	for d, of := range m.of {
		if m.sums[d] && len(of) <= 2*measured {
			return false
		}
	}
	return true
}

// choose compares the times of the slowest ranks. most sets numbers to their largest
// values over all ranks.
func (m *measuring) choose(most func([]float64) error) (o Overlapped, err error) {
	for d, of := range m.of {
		for n, t := range of {
			switch overlap, counts := over(n); {
			case !counts || !m.sums[d]:
			case overlap:
				o.With += t.Total / measured
			default:
				o.Without += t.Total / measured
				o.Sums += t.Waiting / measured
			}
		}
	}
	worst := []float64{float64(o.With), float64(o.Without), float64(o.Sums)}
	err = most(worst)
	o.With, o.Without, o.Sums = time.Duration(worst[0]), time.Duration(worst[1]), time.Duration(worst[2])
	o.On = o.With <= o.Without
	return o, err
}
