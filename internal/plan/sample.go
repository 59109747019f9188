package plan

import (
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Sample is a piece of the operator on which engines are timed.
type Sample struct {
	*kirchhoff.Problem
	Classes []kirchhoff.Class // nil for one image
}

// leastSample is how many traces a sample has before its part of the image is made smaller.
const leastSample = 64

// NewSample takes traces of a share, shot by shot from the middle one on, and the image's points
// where they count. Kernels visit at most so many pairs of a trace and a point there, and
// tables have at most so many points. The image keeps its depth and spacing. It becomes
// narrower where even few traces exceed the limits. Times are those of straight rays at one
// velocity, so a sample needs neither the model nor a solve. This changes little in the work
// of an application.
func NewSample(p *Plan, s *Share, visits, points int64) (*Sample, error) {
	first := s.First + s.Shots[len(s.Shots)/2]
	within := func(k *Sample) bool {
		return k.Visits() <= visits && int64(k.Positions.Len())*int64(k.Grid.Len()) <= points
	}
	n, part := min(leastSample, s.Last-first), 1.0
	k, err := newSample(p, s, first, n, part)
	for err == nil && part > 1e-3 && !within(k) {
		part /= 2
		k, err = newSample(p, s, first, n, part)
	}
	for err == nil && first+n < s.Last {
		n = min(2*n, s.Last-first)
		more, err := newSample(p, s, first, n, part)
		if err != nil || !within(more) {
			return k, err
		}
		k = more
	}
	return k, err
}

// newSample is a sample of n traces from one on, in a part of the width of the image that they
// reach.
func newSample(p *Plan, s *Share, first, n int, part float64) (*Sample, error) {
	q, t := *p, Share{Grid: [2]int{1, 1}}
	traces := p.Shots.List(first, first+n)
	t.Places, t.From = p.Places.Subset(traces)
	q.Image, q.windows = pieceOf(p, s, &t, part), nil
	least, most := p.Velocity.Range()
	velocity := math.Sqrt(least * most)
	times, err := traveltime.NewAnalytic(velocity, q.Image)
	if err != nil {
		return nil, err
	}
	q.Times = times
	k := &Sample{Problem: q.Problem(&t)}
	k.Amplitude = nil
	if k.Dynamic {
		k.Velocity = slices.Repeat([]float64{velocity}, k.ImageLen())
	}
	if p.Classes.N > 0 {
		k.Classes = p.Classes.Of(traces)
	}
	return k, nil
}

// pieceOf is the part of a share's image that a sample's traces reach, or of that a part
// around their midpoints which is as wide, but at least a slab.
func pieceOf(p *Plan, s, sample *Share, part float64) grid.Grid {
	reach := &kirchhoff.Problem{Grid: p.Image, Positions: sample.Places}
	p.limit(reach)
	g := grid.Grid{Origin: slices.Clone(p.Image.Origin), Spacing: p.Image.Spacing, Shape: slices.Clone(p.Image.Shape)}
	for axis := range g.Dim() - 1 {
		lo, hi := 0, g.Shape[axis]
		if axis == 0 && s.Slab[0] < s.Slab[1] {
			lo, hi = s.Slab[0], s.Slab[1]
		}
		near, far := math.Inf(1), math.Inf(-1) // midpoints, in points
		for i, source := range sample.Places.Source {
			m := 0.5 * (sample.Places.At(int(source))[axis] + sample.Places.At(int(sample.Places.Receiver[i]))[axis])
			near, far = min(near, (m-g.Origin[axis])/g.Spacing[axis]), max(far, (m-g.Origin[axis])/g.Spacing[axis])
		}
		if reach.Aperture != nil && reach.Aperture[axis] > 0 {
			beyond := reach.Aperture[axis] / g.Spacing[axis]
			lo, hi = max(lo, min(hi-1, int(near-beyond))), min(hi, max(lo+1, int(far+beyond)+2))
		}
		width := max(int(part*float64(hi-lo)), min(hi-lo, kirchhoff.SlabPoints(g.Dim())))
		lo = max(lo, min(hi-width, int(near+far)/2-width/2))
		g.Origin[axis], g.Shape[axis] = g.Coord(axis, lo), width
	}
	return g
}
