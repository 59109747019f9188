package statics

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// Datum is where places are to be: at a depth, or on a surface that follows the ground smoothly.
type Datum struct {
	Z        float64 // m
	Floating bool    // the mean of the ground within Smooth/2 of a place, Gaussian, instead
	Smooth   float64 // m
}

// Elevation brings all places to a datum with a replacement velocity, m/s: the way from a place to the datum takes its
// length over the velocity. Where the survey has uphole times, receivers are brought down to the level of the sources
// near them, linearly between those, by the uphole time first, so that the weathered ground above the sources counts with its own
// time (Cox 1999, Static corrections for seismic reflection surveys, section 3).
func Elevation(s *survey.Survey, replacement float64, d Datum) (*Corrections, error) {
	if !(replacement > 0) || math.IsInf(replacement, 0) {
		return nil, fmt.Errorf("replacement velocity is %g m/s, must be above 0", replacement)
	}
	z := s.Dim - 1
	c := &Corrections{}
	level := d.levels(s)
	for i := range s.NumSources() {
		at := s.Source(i)
		to := level(at)
		c.Source, c.SourceZ = append(c.Source, (at[z]-to)/replacement), append(c.SourceZ, to)
	}
	for i := range s.NumReceivers() {
		at := s.Receiver(i)
		to := level(at)
		depth, up := uphole(s, at)
		c.Receiver, c.ReceiverZ = append(c.Receiver, (at[z]+depth-to)/replacement-up), append(c.ReceiverZ, to)
	}
	return c, nil
}

// levels tells the datum at a place.
func (d Datum) levels(s *survey.Survey) func(at []float64) float64 {
	if !d.Floating {
		return func([]float64) float64 { return d.Z }
	}
	z := s.Dim - 1
	return func(at []float64) float64 {
		sum, by := 0.0, 0.0
		for i := range s.NumReceivers() {
			r := s.Receiver(i)
			w := math.Exp(-2 * math.Pow(distance(s, at, r)/(d.Smooth/2), 2))
			sum, by = sum+w*r[z], by+w
		}
		if by == 0 { // beyond all receivers
			return at[z]
		}
		return sum / by
	}
}

// distance is that along the surface, m.
func distance(s *survey.Survey, a, b []float64) float64 {
	if s.Dim == 2 {
		return math.Abs(a[0] - b[0])
	}
	return math.Hypot(a[0]-b[0], a[1]-b[1])
}

// uphole is the depth of sources near a place and the time up from there: linear between the two nearest sources on either
// side along a line, in 3-D that of the nearest; 0 where the survey has no uphole times.
func uphole(s *survey.Survey, at []float64) (depth, time float64) {
	if s.UpholeTime == nil {
		return 0, 0
	}
	of := func(i int) (float64, float64) {
		if s.SourceDepth == nil {
			return 0, s.UpholeTime[i]
		}
		return s.SourceDepth[i], s.UpholeTime[i]
	}
	if s.Dim == 3 {
		nearest := 0
		for i := range s.NumSources() {
			if distance(s, at, s.Source(i)) < distance(s, at, s.Source(nearest)) {
				nearest = i
			}
		}
		return of(nearest)
	}
	order := make([]int, s.NumSources())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(s.Source(i)[0], s.Source(j)[0])
	})
	k, _ := slices.BinarySearchFunc(order, at[0], func(i int, x float64) int { return cmp.Compare(s.Source(i)[0], x) })
	if k == 0 || k == len(order) {
		return of(order[min(k, len(order)-1)])
	}
	a, b := order[k-1], order[k]
	f := 0.0
	if step := s.Source(b)[0] - s.Source(a)[0]; step > 0 {
		f = (at[0] - s.Source(a)[0]) / step
	}
	da, ta := of(a)
	db, tb := of(b)
	return da + f*(db-da), ta + f*(tb-ta)
}
