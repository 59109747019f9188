package pipeline

import (
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// traceSpacing returns the distance between neighbouring traces along each horizontal
// axis, in m: that of the receivers of a shot or of the sources into one receiver,
// whichever is smaller. If neither has neighbours, it is twice the distance of midpoints.
// It is 0 along an axis on which nothing has neighbours.
func traceSpacing(s *survey.Survey) []float64 {
	shots := gatherPositions(s, s.NumSources(), func(src, rec int) (int, []float64) { return src, s.Receiver(rec) })
	spreads := gatherPositions(s, s.NumReceivers(), func(src, rec int) (int, []float64) { return rec, s.Source(src) })
	near, other := medianSpacings(shots, s.Dim), medianSpacings(spreads, s.Dim)
	var twice []float64
	out := make([]float64, s.Dim-1)
	for a := range out {
		switch {
		case near[a] > 0 && other[a] > 0:
			out[a] = min(near[a], other[a])
		case near[a]+other[a] > 0:
			out[a] = near[a] + other[a]
		default:
			if twice == nil {
				twice = medianSpacings([][]float64{doubledMidpoints(s)}, s.Dim)
			}
			out[a] = twice[a]
		}
	}
	return out
}

// gatherPositions lists the positions of some gathers, [gather][position][dim]. The function of says
// to which of the given number of gathers a trace belongs, and with which position.
func gatherPositions(s *survey.Survey, n int, of func(src, rec int) (gather int, at []float64)) [][]float64 {
	number := make([]int32, n) // from 1, among those that have traces and are taken
	for i := range s.NumTraces() {
		g, _ := of(s.Pair(i))
		number[g] = 1
	}
	used := int32(0)
	for _, n := range number {
		used += n
	}
	step, met, taken := max(1, used/mostGathers), int32(0), int32(0)
	for g, n := range number {
		if n == 0 {
			continue
		}
		if number[g] = 0; met%step == 0 {
			taken++
			number[g] = taken
		}
		met++
	}
	out := make([][]float64, taken)
	for i := range s.NumTraces() {
		g, at := of(s.Pair(i))
		if k := number[g]; k > 0 {
			out[k-1] = append(out[k-1], at...)
		}
	}
	return out
}

// doubledMidpoints returns twice the midpoints of all traces.
func doubledMidpoints(s *survey.Survey) []float64 {
	out := make([]float64, 0, s.NumTraces()*s.Dim)
	for i := range s.NumTraces() {
		src, rec := s.Pair(i)
		a, b := s.Source(src), s.Receiver(rec)
		for k := range a {
			out = append(out, a[k]+b[k])
		}
	}
	return out
}

// Spacings are measured at some positions of some gathers.
const (
	mostGathers   = 20
	mostPositions = 200 // of a gather
)

// medianSpacings finds the median distance to the nearest neighbour in each horizontal direction,
// over gathers of positions, [position][dim]. A neighbour counts for the axis along which
// it is farther away. The spacing is 0 where no position has a neighbour.
func medianSpacings(gathers [][]float64, dim int) []float64 {
	distances := make([][]float64, dim-1)
	for _, xyz := range gathers {
		n := len(xyz) / dim
		for k := 0; k < n; k += max(1, n/mostPositions) {
			for a, d := range nearestAlong(xyz, dim, k) {
				if !math.IsInf(d, 1) {
					distances[a] = append(distances[a], d)
				}
			}
		}
	}
	out := make([]float64, dim-1)
	for a, d := range distances {
		if len(d) > 0 {
			slices.Sort(d)
			out[a] = d[len(d)/2]
		}
	}
	return out
}

// nearestAlong finds the distance along each horizontal axis from position k to the nearest
// other one. It is infinite if there is none.
func nearestAlong(xyz []float64, dim, k int) []float64 {
	best := make([]float64, dim-1)
	for a := range best {
		best[a] = math.Inf(1)
	}
	for i := 0; i < len(xyz); i += dim {
		along, d := 0, 0.0
		for a := range best {
			if gap := math.Abs(xyz[i+a] - xyz[k*dim+a]); gap > d {
				along, d = a, gap
			}
		}
		if d > 0 {
			best[along] = min(best[along], d)
		}
	}
	return best
}
