package pipeline

import (
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Sample is a piece of the operator on which engines are timed.
type Sample struct {
	Problem *kirchhoff.Problem
	Classes []kirchhoff.Class // nil for one image
}

// A sample has at least fewTraces, or all. It chooses among mostTraces.
const (
	fewTraces  = 32
	mostTraces = 1 << 20
)

// NewSample takes traces of a share, from its middle shot on, and the image's points where
// they count. The argument visits limits the pairs of a trace and a point that kernels visit there,
// and points limits the points of tables. The first traces belong to a few receivers, so that many
// traces share few tables, as they do in the survey. The image keeps its depth and spacing.
// It becomes narrower until tables of a few traces take a quarter of their limit. Times come
// from straight rays at one velocity, so a sample needs neither the model nor a solve.
// This changes little in the work of an application.
func NewSample(p *Plan, s *Share, visits, points int64) (*Sample, error) {
	tables := func(k *Sample) int64 { return int64(k.Problem.Positions.Len()) * int64(k.Problem.Grid.Len()) }
	traces := candidates(p.Geometry, s)
	n, part := min(fewTraces, len(traces)), 1.0
	k, err := newSample(p, s, traces[:n], part)
	for err == nil && part > 1e-3 && (k.Problem.Visits() > visits || tables(k) > points/4) {
		part /= 2
		k, err = newSample(p, s, traces[:n], part)
	}
	for err == nil && n < len(traces) {
		n = min(n+n/2, len(traces))
		more, err := newSample(p, s, traces[:n], part)
		if err != nil || more.Problem.Visits() > visits || tables(more) > points {
			return k, err
		}
		k = more
	}
	return k, err
}

// candidates lists traces of a share by their place in the order of shots, from the middle
// shot on: first those of the receivers of its first traces, then the others.
func candidates(g *Geometry, s *Share) (list []int) {
	first := s.First + s.Shots[len(s.Shots)/2]
	order := g.Shots.List(first, min(s.Last, first+mostTraces))
	near := map[int32]bool{}
	for _, trace := range order[:min(fewTraces, len(order))] {
		near[g.Places.Receiver[trace]] = true
	}
	for _, want := range []bool{true, false} {
		for i, trace := range order {
			if near[g.Places.Receiver[trace]] == want {
				list = append(list, first+i)
			}
		}
	}
	return list
}

// newSample is a sample of traces in a part of the width of the image that they reach.
func newSample(p *Plan, s *Share, at []int, part float64) (*Sample, error) {
	q, t, traces := *p, Share{Grid: [2]int{1, 1}}, make([]int32, 0, len(at))
	geometry, way := *p.Geometry, *p.Times
	q.Geometry, q.Times = &geometry, &way
	for _, i := range slices.Sorted(slices.Values(at)) {
		traces = append(traces, p.Geometry.Shots.List(i, i+1)...)
	}
	t.Places, t.From = p.Geometry.Places.Subset(traces)
	geometry.Image, geometry.windows = pieceOf(p.Geometry, s, &t, part), nil
	least, most := p.Times.Speeds()
	velocity := math.Sqrt(least * most)
	times, err := constantTimes(velocity, geometry.Image)
	if err != nil {
		return nil, err
	}
	if way.Method = times; traveltime.Unequal(p.Times.Method) {
		way.Method = traveltime.NewUnequal(times, nil) // as much work as the operator
	}
	k := &Sample{Problem: q.Problem(&t)}
	k.Problem.Amplitude = nil
	if k.Problem.Dynamic {
		k.Problem.Velocity = slices.Repeat([]float64{velocity}, k.Problem.ImageLen())
	}
	if p.Classes.N > 0 {
		k.Classes = p.Classes.Of(traces)
	}
	return k, nil
}

// constantTimes makes the method for a constant velocity, m/s, on an image in depth or time.
func constantTimes(velocity float64, image grid.Grid) (traveltime.Method, error) {
	if image.Domain == grid.Time {
		return traveltime.NewRMS(traveltime.Medium{Constant: velocity}, image)
	}
	return traveltime.NewAnalytic(velocity, image)
}

// pieceOf is the part of a share's image that a sample's traces reach, or of that a part
// around their midpoints which is as wide, but at least a slab.
func pieceOf(all *Geometry, s, sample *Share, part float64) grid.Grid {
	whole := all.Image
	reach := &kirchhoff.Problem{Grid: whole, Positions: sample.Places}
	all.setAperture(reach)
	g := grid.Grid{Origin: slices.Clone(whole.Origin), Spacing: whole.Spacing, Shape: slices.Clone(whole.Shape), Domain: whole.Domain, Frame: whole.Frame}
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
