package kirchhoff

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Rays finds what weights and anti-aliasing in 3-D need of a place, one place after the other. With b and
// p of the source and the receiver a pair has the dynamic weight b_s b_r |p_s + p_r| at a point, times
// Plan.Scale there.
type Rays struct {
	plan     *Plan
	of       *weights
	at       slowness
	along    [3][]float64 // with bands: room for the gradient of times
	gradient [][]float64
	window   points
}

// Rays makes room for the places of p, of which l is the plan, over its whole grid. It returns nil where
// neither weights nor anti-aliasing need rays.
func (l *Plan) Rays(p *Problem) *Rays {
	r, take := &Rays{plan: l}, func() []float64 { return make([]float64, p.Grid.Len()) }
	if p.Directed() {
		r.of, r.at = newWeights(p), newSlowness(p, take)
	}
	if l.bands.n > 1 {
		for a := range r.along {
			r.along[a] = take()
		}
	}
	if r.of == nil && l.bands.n == 1 {
		return nil
	}
	return r
}

// RaysBytes is the memory that Rays takes, in bytes.
func RaysBytes(p *Problem) (n int64) {
	if p.Directed() {
		n += 4
		if unequal(p) && p.Dynamic {
			n += 3
		}
	}
	if p.Bands() > 1 {
		n += 3
	}
	return 8 * n * int64(p.Grid.Len())
}

// Take finds those of a place from its traveltimes. An error is that of Problem.Amplitude.
func (r *Rays) Take(place int, f traveltime.Field) error {
	r.window = newPoints(r.plan.Problem.Grid, f.Window)
	if r.gradient = r.gradient[:0]; r.along[0] != nil {
		for _, all := range r.along {
			r.gradient = append(r.gradient, all[:len(f.Time)])
		}
		traveltime.CentralGradient(r.gradient, f.Time, f.Window.Grid(r.plan.Problem.Grid))
	}
	if r.of == nil {
		return nil
	}
	return r.of.of(&r.at, place, f)
}

// At returns b and p at a point of the field: p has the length 1 or, of unequal slownesses, that of
// the slowness times Problem.Slowest. b is 0 where the place counts in no pair. It needs Problem.Directed.
func (r *Rays) At(point int) (b float64, p [3]float64) {
	for a, x := range r.at.unit {
		p[a] = x[point]
	}
	return r.at.amp[point], p
}

// Ways bound what the rays of some places do in a box of points.
type Ways struct {
	rays  rays       // components of p, with limits of dip or opening angle
	lost  bool       // some have no direction
	slope [2]float32 // the least and the largest of tiles, with bands
}

// NoWays are those of no place.
func NoWays() Ways { return Ways{rays: noRays(), slope: [2]float32{math.MaxFloat32, 0}} }

// Add adds those of other places.
func (w *Ways) Add(o *Ways) {
	for a := range w.rays.lo {
		w.rays.add(a, o.rays.lo[a])
		w.rays.add(a, o.rays.hi[a])
	}
	w.lost = w.lost || o.lost
	w.slope[0], w.slope[1] = min(w.slope[0], o.slope[0]), max(w.slope[1], o.slope[1])
}

// Ways are those of the place in a box of the plan.
func (r *Rays) Ways(box int) Ways {
	l, w := r.plan, NoWays()
	for tile := l.Boxes[box].First; tile < l.end(box); tile++ {
		if l.bands.n > 1 {
			s := l.bands.slope(r.gradient, &l.Tiling, tile, r.window)
			w.slope[0], w.slope[1] = min(w.slope[0], s), max(w.slope[1], s)
		}
		if !l.Problem.limited() {
			continue
		}
		for _, n := range l.slots(tile) {
			b, p := r.At(r.window.of(l.first + int(source(n))))
			w.lost = w.lost || b == 0
			for a, x := range p {
				w.rays.add(a, x)
			}
		}
	}
	return w
}

// Alike returns the band of anti-aliasing in which all pairs of two places meet the tiles of some boxes,
// in which they have the ways s and r. It reports whether there is one, and limits of dip and opening
// angle are 1 for all of them.
func (l *Plan) Alike(s, r []Ways) (band int, alike bool) {
	z := onesOf(&l.Problem)
	for i := range s {
		if l.bands.n > 1 {
			least, most := simd.Band(l.bands.n, s[i].slope[0], r[i].slope[0]), simd.Band(l.bands.n, s[i].slope[1], r[i].slope[1])
			if i == 0 {
				band = least
			}
			if least != band || most != band {
				return 0, false
			}
		}
		if !l.Problem.limited() {
			continue
		}
		from, to := s[i].rays.cone(false), r[i].rays.cone(false)
		if s[i].lost || r[i].lost || !z.hold(&from, &to) {
			return 0, false
		}
	}
	return band, true
}

// ones says where the windows of pairs are 1: between the chords near and far of their rays, and up to
// steep between a reflector's normal and the vertical.
type ones struct {
	near, far, steep float64
	unequal          bool
}

// onesOf are those of p's windows. They are out of reach where there is no window.
func onesOf(p *Problem) ones {
	o := ones{near: math.Inf(-1), far: math.Inf(1), steep: math.Inf(1), unequal: unequal(p)}
	opening, dip := p.Opening.kernel(), p.Dip().kernel()
	if opening.Rise != 0 {
		o.near = chord(float64(opening.Rise1)) + rounding
	}
	if opening.Fall != 0 {
		o.far = chord(float64(opening.Fall0)) - rounding
	}
	if dip.Fall != 0 {
		o.steep = chord(float64(dip.Fall0)) - rounding
	}
	return o
}

// hold reports whether windows are 1 for all pairs of rays in two cones.
func (o *ones) hold(s, r *cone) bool {
	a, b := s.vector(), r.vector()
	var sum, gap float64
	for k := range a {
		sum += (a[k] + b[k]) * (a[k] + b[k])
		gap += (a[k] - b[k]) * (a[k] - b[k])
	}
	sum, gap = math.Sqrt(sum), math.Sqrt(gap)
	spread := float64(s.spread + r.spread)
	lo, hi := gap-spread, gap+spread
	if o.unequal {
		lo, hi = chords(s, r)
	}
	if lo < o.near || hi > o.far {
		return false
	}
	sin := spread / sum
	if !(sin < 1) {
		return math.IsInf(o.steep, 1)
	}
	return math.Sqrt(max(0, 2-2*(a[2]+b[2])/sum))+math.Sqrt(2-2*math.Sqrt(1-sin*sin)) <= o.steep
}
