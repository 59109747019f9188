package kirchhoff

import (
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// arrivals tells, in float64 and in the words of the package comment, where image points fall on
// traces and with which weights. A table belongs to a branch of a place. It holds tables of all points of the grid, or of some.
type arrivals struct {
	p     Problem // Velocity is given at the held points, or at the slab's if all are held
	first int     // points of the grid before the slab; 0 where some points are held
	some  []int32 // grid points that are held; nil for all

	time     [][]float64 // by table, [held point], s; nil where no trace uses the place
	slow     []slowness  // by table; with weights only
	pairings []pairing

	dip, opening simd.Window
	unequal      bool

	bands  *bands
	tiling *Tiling     // of the slab; nil with one band
	slope  [][]float32 // by table, [tile]; with several bands
	tile   []int32     // by point of the slab, or held point; with several bands
}

// newArrivals prepares the tables of all points.
func newArrivals(p *Problem) arrivals {
	lo, _ := p.slab()
	a := arrivals{p: *p, first: lo * p.plane(), dip: p.Dip().kernel(), opening: p.Opening.kernel(), unequal: unequal(p)}
	tables := p.Positions.Len() * p.branches()
	a.time, a.slow, a.pairings = make([][]float64, tables), make([]slowness, tables), p.pairings()
	if p.Directed() {
		a.p.Velocity = slices.Clone(p.Velocity)
	}
	a.makeBands(p)
	return a
}

// makeBands prepares anti-aliasing, if p has any.
func (r *arrivals) makeBands(p *Problem) {
	var m memory
	if r.bands = newBands(p, &m); r.bands.n == 1 {
		return
	}
	lo, hi := p.slab()
	r.tiling = newTiling(p.Grid, [2]int{lo, hi}, &m)
	r.slope, r.tile = make([][]float32, len(r.time)), make([]int32, p.ImageLen())
	for tile := range r.tiling.Tiles {
		for _, n := range r.tiling.slots(tile) {
			if n >= 0 {
				r.tile[n] = int32(tile)
			}
		}
	}
}

// only holds some points of the grid, which lie in the slab.
func (r *arrivals) only(points []int32) {
	pick := func(v []int32) (out []int32) {
		for _, i := range points {
			out = append(out, v[int(i)-r.first])
		}
		return out
	}
	if r.tile != nil {
		r.tile = pick(r.tile)
	}
	if r.p.Velocity != nil {
		velocity := make([]float64, len(points))
		for n, i := range points {
			velocity[n] = r.p.Velocity[int(i)-r.first]
		}
		r.p.Velocity = velocity
	}
	r.first, r.some = 0, points
}

// sink returns what takes the arrivals of p's places.
func (r *arrivals) sink(p *Problem) func(place, branch int, window traveltime.Window, b traveltime.Branch) error {
	var w *weights
	if p.Directed() {
		w = newWeights(p)
	}
	return func(place, branch int, window traveltime.Window, b traveltime.Branch) error {
		at, table := newPoints(p.Grid, window), table(p.Positions, place, branch)
		r.time[table] = slices.Clone(r.held(b.Time, window, at, math.Inf(1)))
		part := window.Grid(p.Grid)
		take := func() []float64 { return make([]float64, part.Len()) }
		if r.tiling != nil {
			var along [][]float64
			for range p.Grid.Dim() {
				along = append(along, take())
			}
			fillGradient(along, b, part)
			r.steepen(table, along, window, at)
		}
		if w == nil {
			return nil
		}
		s := newSlowness(p, take)
		err := w.fillFrom(&s, place, window, b)
		s.ray = [3][]float64{}
		s.amp, s.angle = r.held(s.amp, window, at, 0), r.held(s.angle, window, at, 0)
		for axis := range s.unit {
			s.unit[axis] = r.held(s.unit[axis], window, at, 0)
		}
		r.slow[table] = s
		return err
	}
}

// held returns the values of a field at the held points, "beyond" where they lie outside its
// window. v may be nil.
func (r *arrivals) held(v []float64, w traveltime.Window, at points, beyond float64) []float64 {
	if r.some == nil || v == nil {
		return v
	}
	out := make([]float64, len(r.some))
	for n, i := range r.some {
		out[n] = beyond
		if r.within(int(i), w) {
			out[n] = v[at.of(int(i))]
		}
	}
	return out
}

// within reports whether grid point i lies in a window.
func (r *arrivals) within(i int, w traveltime.Window) bool {
	shape, _, _ := gridSides(r.p.Grid)
	column := i / shape[2]
	if r.p.Grid.Dim() == 2 {
		return w.Lo[0] <= column && column < w.Hi[0]
	}
	x, y := column/shape[1], column%shape[1]
	return w.Lo[0] <= x && x < w.Hi[0] && w.Lo[1] <= y && y < w.Hi[1]
}

// steepen finds the slopes of a branch of a place from the gradient of its times. Tiles that its window does
// not hold as a whole have points that no trace with the place needs.
func (r *arrivals) steepen(table int, gradient [][]float64, w traveltime.Window, at points) {
	slope := make([]float32, r.tiling.Tiles)
	for tile := range slope {
		outside := func(n int32) bool { return !r.within(r.tiling.first+int(source(n)), w) }
		if !slices.ContainsFunc(r.tiling.slots(tile), outside) {
			slope[tile] = r.bands.slope(gradient, r.tiling, tile, at)
		}
	}
	r.slope[table] = slope
}

// ends are the tables of a trace's source and receiver in a pairing.
func (r *arrivals) ends(trace int, of pairing) (source, receiver int) {
	p := r.p.Positions
	return table(p, int(p.Source[trace]), of.source), table(p, int(p.Receiver[trace]), of.receiver)
}

// band returns the band in which a trace meets point i of the slab, or held point i.
func (r *arrivals) band(trace, i int, of pairing) int {
	if r.bands.n == 1 {
		return 0
	}
	s, rec := r.ends(trace, of)
	return simd.Band(r.bands.n, r.slope[s][r.tile[i]], r.slope[rec][r.tile[i]])
}

// grid is the grid point that is held as point i.
func (r *arrivals) grid(i int) int {
	if r.some == nil {
		return i
	}
	return int(r.some[i])
}

// at returns where held point i falls on a trace in a pairing: between samples k and k+1, at a
// fraction w, with weight a. k is −1 if the point makes no contribution.
func (r *arrivals) at(trace, i int, of pairing) (k int, w, a float64) {
	s, rec := r.ends(trace, of)
	q := (r.time[s][i] + r.time[rec][i] - r.p.T0) / r.p.DT
	if !(q > -1 && q < float64(r.p.NT-1)) {
		return -1, 0, 0
	}
	k = int(q)
	w = q - float64(k)
	if a = r.p.taper(int(r.p.Positions.Source[trace]), int(r.p.Positions.Receiver[trace]), r.grid(i)); a == 0 || !r.p.Directed() {
		if a == 0 {
			k = -1
		}
		return k, w, a
	}
	a *= r.slow[s].amp[i] * r.slow[rec].amp[i]
	if a == 0 {
		return -1, 0, 0
	}
	if of.minus {
		a = -a
	}
	if r.p.limited() {
		dip, opening := r.angles(s, rec, i)
		a *= at(r.dip, dip) * at(r.opening, opening)
	}
	if !r.p.Dynamic {
		return k, w, a
	}
	if r.unequal {
		return k, w, a * sum(r.slow[s].direction(i), r.slow[rec].direction(i)) / r.p.Slowest
	}
	return k, w, a * 2 * r.cosine(s, rec, i) / r.p.Velocity[i-r.first]
}

// cosine returns cos θ, where θ is half the angle between the slowness vectors.
func (r *arrivals) cosine(s, rec, i int) float64 {
	if r.p.Grid.Dim() == 2 {
		return math.Cos((r.slow[s].angle[i] - r.slow[rec].angle[i]) / 2)
	}
	return sum(r.slow[s].direction(i), r.slow[rec].direction(i)) / 2
}

// sum is |a + b|.
func sum(a, b [3]float64) float64 {
	x, y, z := a[0]+b[0], a[1]+b[1], a[2]+b[2]
	return math.Sqrt(x*x + y*y + z*z)
}

// angles returns the dip and the opening angle of a pair of rays, in radians.
func (r *arrivals) angles(s, rec, i int) (dip, opening float64) {
	if r.slow[s].angle != nil {
		return angles2(r.slow[s].angle[i], r.slow[rec].angle[i])
	}
	return angles3(r.slow[s].direction(i), r.slow[rec].direction(i))
}

// direction is the vector at point i, where tables hold vectors.
func (s *slowness) direction(i int) [3]float64 {
	return [3]float64{s.unit[0][i], s.unit[1][i], s.unit[2][i]}
}
