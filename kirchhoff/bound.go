package kirchhoff

import (
	"context"
	"math"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/workers"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// slack makes bounds hold for sums in float32 of as many terms as a box has points.
const slack = 1.01

// peak returns the largest weight that p's operator may give a sample: the largest b_s
// b_r, times the largest |p_s + p_r| of vectors in tables, of any trace and box of tiles in which it may
// count. It follows only from the geometry. The maximum over all shares is therefore the same however
// traces and slabs are shared out.
func peak(ctx context.Context, p *Problem, t *Tiling) (float64, error) {
	most := slack * float64(len(p.pairings())) // arrivals of a pair at a point
	if p.T0 > 0 {
		most *= 3 // |1 − w| + |w| for times before the first sample, see the package comment
	}
	if !p.Dynamic {
		return most, nil
	}
	switch {
	case unequal(p):
		most *= 2 * excess
	case p.Grid.Dim() == 3:
		most *= 2
	}
	b := make([][]float64, p.Positions.Len()) // largest in each box, by place
	w := newWeights(p)
	places := p.usedPlaces()
	err := workers.Each(ctx, p.threads(), len(places), func(_, i int) (err error) {
		b[places[i]], err = w.largest(places[i], t)
		return err
	})
	if err != nil {
		return 0, err
	}
	largest, tapers, columns := 0.0, p.tapers(), t.columns()
	for i, s := range p.Positions.Source {
		r := p.Positions.Receiver[i]
		in := p.inside(&tapers, &columns, s, r)
		for x := in.lo[0]; x < in.hi[0]; x++ {
			first, last := t.below(&columns, x, in.lo[1], in.hi[1])
			for box := first; box < last; box++ {
				largest = max(largest, b[s][box]*b[r][box])
			}
		}
	}
	return most * largest, nil
}

// largest returns a bound on the spreading |b| of a place in each box. It skips given
// factors that are NaN, which show in the result of an application.
func (w *weights) largest(place int, t *Tiling) ([]float64, error) {
	out := make([]float64, len(t.Boxes))
	if w.p.Amplitude == nil {
		most := w.spreadingAt
		if s := spread(w.p); s != traveltime.NoSpreading {
			b := s.Homogeneous(w.p.Grid)
			most = func(d float64) float64 { return traveltime.MostSpreading * b(d) }
		}
		for i, b := range t.Boxes {
			out[i] = most(b.distance(w.p.Grid, w.p.Positions.At(place)))
		}
		return out, nil
	}
	given, err := given(w.p, place, traveltime.Whole(w.p.Grid))
	if err != nil {
		return nil, err
	}
	given = given[t.first:]
	for i, b := range t.Boxes {
		for tile := b.First; tile < t.end(i); tile++ {
			for _, n := range t.slots(tile) {
				if v := math.Abs(given[source(n)]); v > out[i] && !math.IsInf(v, 0) {
					out[i] = v
				}
			}
		}
	}
	return out, nil
}

// distance is the least distance, in m, from a place to the box that holds b's points.
func (b Box) distance(g grid.Grid, at []float64) float64 {
	sum := 0.0
	for a, x := range at {
		axis := a + 3 - g.Dim()
		d := max(0, g.Coord(a, b.Lo[axis])-x, x-g.Coord(a, b.Hi[axis]-1))
		sum += d * d
	}
	return math.Sqrt(sum)
}
