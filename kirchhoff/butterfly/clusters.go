package butterfly

import (
	"cmp"
	"slices"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// mostPlaces is the largest number of places of a cluster.
const mostPlaces = 256

// cluster is a group of places that lie close together and are at the same end of traces.
type cluster struct {
	end    int // 0 for sources, 1 for receivers
	places []int32
	centre int // number within places of the one nearest to their mean
}

// split cuts places into clusters. A group is cut in half along its longest side until it has at
// most mostPlaces places and its two longest sides add up to at most reach, in m; 0 is for clusters of
// one place. The clusters depend on the positions alone.
func split(p *survey.Positions, places []int32, reach float64) (out []cluster) {
	if len(places) == 0 {
		return nil
	}
	if reach == 0 {
		return singles(places)
	}
	sides, axis := sidesOf(p, places)
	if len(places) <= mostPlaces && sides[0]+sides[1] <= reach || sides[0] == 0 {
		return []cluster{{places: places, centre: nearest(p, places)}}
	}
	places = slices.Clone(places)
	slices.SortStableFunc(places, func(a, b int32) int { return cmp.Compare(p.At(int(a))[axis], p.At(int(b))[axis]) })
	half := len(places) / 2
	// A lattice is cut between its lines.
	for half > 1 && p.At(int(places[half]))[axis] == p.At(int(places[half-1]))[axis] {
		half--
	}
	if half <= 1 {
		half = len(places) / 2
	}
	return append(split(p, places[:half], reach), split(p, places[half:], reach)...)
}

// sidesOf returns the extents of places along the axes, longest first, and the axis of the longest.
func sidesOf(p *survey.Positions, places []int32) (sides []float64, axis int) {
	for a := range p.Dim {
		lo, hi := p.At(int(places[0]))[a], p.At(int(places[0]))[a]
		for _, i := range places {
			lo, hi = min(lo, p.At(int(i))[a]), max(hi, p.At(int(i))[a])
		}
		if sides = append(sides, hi-lo); hi-lo > sides[axis] {
			axis = a
		}
	}
	slices.SortFunc(sides, func(a, b float64) int { return cmp.Compare(b, a) })
	return sides, axis
}

// nearest is the number within places of the one nearest to their mean.
func nearest(p *survey.Positions, places []int32) (best int) {
	mean := make([]float64, p.Dim)
	for _, i := range places {
		for a, x := range p.At(int(i)) {
			mean[a] += x / float64(len(places))
		}
	}
	least := -1.0
	for n, i := range places {
		d := 0.0
		for a, x := range p.At(int(i)) {
			d += (x - mean[a]) * (x - mean[a])
		}
		if least < 0 || d < least {
			least, best = d, n
		}
	}
	return best
}

// singles are clusters of one place each.
func singles(places []int32) (out []cluster) {
	for i := range places {
		out = append(out, cluster{places: places[i : i+1]})
	}
	return out
}
