package traveltime

/*
#include "output.h"
#include "sweep.h"
*/
import "C"

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Spreading says for which waves a field brings the geometrical spreading b along its rays. It
// solves the transport equation ∇·(b² ∇T) = 0 and is at the source that of a homogeneous medium.
type Spreading uint8

const (
	NoSpreading Spreading = iota

	// RaySpreading is the spreading of a point source in 3-D and of a line source in 2-D. In a
	// homogeneous medium it is 1/D in 3-D and D^(−1/2) in 2-D, D the distance in m.
	RaySpreading

	// PointSpreading is the spreading of a point source in a 2-D medium, for rays in the plane: a
	// line source's over √(σ s0), with σ the integral of the velocity along the ray and s0 the
	// slowness at the source (Bleistein 1986, Two-and-one-half dimensional in-plane wave
	// propagation, Geophys. Prosp. 34). In a homogeneous medium it is 1/D.
	PointSpreading
)

// MostSpreading bounds b over that of a homogeneous medium at the same distance. Where rays
// focus, b itself has no bound.
const MostSpreading = 8

// Homogeneous returns a function that gives b in a homogeneous medium at a distance in m.
// Distances below half of g's smallest spacing count as that.
func (s Spreading) Homogeneous(g grid.Grid) func(distance float64) float64 {
	least := slices.Min(g.Spacing) / 2
	if g.Dim() == 2 && s != PointSpreading {
		return func(d float64) float64 { return 1 / math.Sqrt(max(d, least)) }
	}
	return func(d float64) float64 { return 1 / max(d, least) }
}

// Spreads reports whether fields of m can hold Spreading and Takeoff.
func Spreads(m Method) bool {
	s, ok := m.(interface{ spreads() bool })
	return ok && s.spreads() || Traced(m)
}

func (e *Eikonal) spreads() bool   { return e.tilt == nil }
func (m *placewise) spreads() bool { return m.velocity > 0 }

// rays reports whether fields need to know how their rays left the place.
func (o Options) rays() bool { return o.Spreading != NoSpreading || o.Takeoff }

// carried is the number of values that the sweeps carry along rays.
func (o Options) carried(dim int) int {
	switch {
	case !o.rays():
		return 0
	case dim == 3:
		return 3
	case o.Spreading == PointSpreading:
		return 2
	}
	return 1
}

// carriedTolerance is the least change of the carried values that is worth another sweep.
const carriedTolerance = 4e-6

// carry finds what the batch's rays carry, once its times are there.
func (b *batch) carry(ctx context.Context, e *Eikonal, p *survey.Positions, places []int) error {
	lanes := int(b.c.lanes)
	for _, v := range b.carried[:b.rays] {
		fill(v, C.EIK_UNREACHED)
	}
	clear(b.dirty)
	skipped := e.skipped()
	velocity := func(n int) float64 { return 1 / (math.Sqrt(float64(e.slow2[n-skipped])) * e.scale) }
	for lane := range lanes {
		at := p.At(places[min(lane, len(places)-1)])
		home := 1 / e.model.At(at, velocity)
		b.slowness[lane] = float32(home / e.scale)
		if lane >= len(places) {
			continue
		}
		startRays(e.model, at, home, velocity, func(k [3]int, v [3]float64, longer float64) {
			if p.Dim == 2 {
				k[1], k[2] = 0, k[1]
				v[1] = longer
			}
			to := b.window.columnsBefore(k[0], k[1])*b.row + (C.EIK_GHOSTS+k[2])*lanes + lane
			for i := range b.rays {
				b.carried[i][to] = float32(v[i])
			}
			C.eik_mark_all(&b.c, C.int(k[0]-b.first(0)), C.int(k[1]-b.first(1)), C.int(k[2]/C.EIK_CHUNK), 1<<lane)
		})
	}
	b.c.tolerance = carriedTolerance
	values, _ := b.medium(e)
	for range maxRounds {
		blocks := 0
		for d := range 1 << p.Dim {
			blocks += int(C.eik_carry(&b.c, values, C.int(d)))
		}
		if blocks == 0 {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// leave finds how the rays of a job's places leave them, and their spreading.
func (w *lanes) leave(ctx context.Context, j job) error {
	b, n, most := w.batch, C.int(len(j.places)), C.long(w.points())
	if err := b.carry(ctx, w.e, w.p, j.places); err != nil {
		return err
	}
	if w.opt.Spreading != NoSpreading {
		values, _ := b.medium(w.e)
		C.eik_spreading(cfloats(w.ratio), &b.c, values, cfloats(w.rays), most, n, MostSpreading)
	}
	if w.opt.Takeoff {
		turn := b.carried[0]
		if w.e.model.Dim() == 3 {
			turn = b.carried[2]
		}
		C.eik_split(cfloats(w.turn), &b.c, cfloats(turn), most, n)
	}
	return nil
}

// spread fills what the arrival of a lane on the window to has of Spreading and Takeoff.
func (w *lanes) spread(b Branch, to Window, lane int, model Window, at []float64) {
	e, given := w.e, model
	on := func(all []float32) []float32 {
		if all == nil {
			return nil
		}
		part := all[lane*w.points():][:w.points()]
		if e.resample == nil {
			return part
		}
		e.resample.apply([][]float32{w.rays[:w.image]}, w.line, part, model, to)
		return w.rays
	}
	if e.resample != nil {
		given = to
	}
	b.spread(to, w.opt.Spreading, on(w.ratio), given, e.g, at)
	b.leave(to, on(w.turn), given, e.g, at)
}

// startRays calls set for each grid point of the start box round a source of slowness home with
// the values that rays carry to it. These are the turn from the straight ray to the way in which
// the true one leaves, to first order in the velocity's changes, and the excess of the integral
// of the velocity over its value in a homogeneous medium. In 2-D the turn is the first value, in
// radians, in 3-D a vector. Since ∂T/∂x_s is minus the slowness with which the ray leaves, the
// turn is that of the straight ray's time when the source moves.
func startRays(g grid.Grid, at []float64, home float64, velocity func(n int) float64, set func(index [3]int, turn [3]float64, longer float64)) {
	dim := g.Dim()
	x, y := make([]float64, dim), make([]float64, dim)
	slowness := func(axis int, shift float64) float64 {
		old := y[axis]
		y[axis] += shift
		s := 1 / g.At(y, velocity)
		y[axis] = old
		return s
	}
	eachStart(g, at, func(k [3]int) {
		r2, longer := 0.0, -1.0
		for a := range x {
			x[a] = g.Coord(a, k[a]) - at[a]
			r2 += x[a] * x[a]
		}
		if r2 == 0 {
			set(k, [3]float64{}, 0)
			return
		}
		var push [3]float64 // −D ∫ (1 − f) ∇s df / s0
		along := 0.0        // of it along the ray
		for j, node := range gaussNode {
			for a := range y {
				y[a] = at[a] + node*x[a]
			}
			longer += gaussWeight[j] * home * g.At(y, velocity)
			for a := range y {
				h := g.Spacing[a] / 2
				push[a] -= gaussWeight[j] * (1 - node) * (slowness(a, h) - slowness(a, -h)) / (2 * h) / home * math.Sqrt(r2)
			}
		}
		if dim == 2 {
			set(k, [3]float64{(push[0]*x[1] - push[1]*x[0]) / math.Sqrt(r2)}, longer)
			return
		}
		for a := range x {
			along += push[a] * x[a]
		}
		turn2 := 0.0
		for a := range x {
			push[a] -= along * x[a] / r2
			turn2 += push[a] * push[a]
		}
		for a := range x { // the direction's length stays 1, to third order
			push[a] -= turn2 / 2 * x[a] / math.Sqrt(r2)
		}
		set(k, push, longer)
	})
}

// spread fills b.Spreading, if there is one, on the window w of g from its ratio to that of a
// homogeneous medium, which lies on the window given; nil stands for 1.
func (b Branch) spread(w Window, s Spreading, ratio []float32, given Window, g grid.Grid, at []float64) {
	if b.Spreading == nil {
		return
	}
	homogeneous := s.Homogeneous(g)
	w.distances(given, g, at, func(to, from int, _, _, d float64) {
		b.Spreading[to] = homogeneous(d)
		if ratio != nil {
			b.Spreading[to] *= min(max(0, float64(ratio[from])), MostSpreading)
		}
	})
}

// leave fills b.Takeoff, if there is one, on the window w of g. turn says how much more steeply rays
// leave than the straight ones, as an angle in 2-D and as the z component of a unit vector in 3-D,
// on the window given; nil stands for 0.
func (b Branch) leave(w Window, turn []float32, given Window, g grid.Grid, at []float64) {
	if b.Takeoff == nil {
		return
	}
	w.distances(given, g, at, func(to, from int, x, z, d float64) {
		more := 0.0
		if turn != nil && turn[from] < C.EIK_UNREACHED/2 {
			more = float64(turn[from])
		}
		b.Takeoff[to] = takeoff(g.Dim() == 2, x, z, d, more)
	})
}

// distances calls each with the number of every point of w in it and in the window given of g, and
// with how far it lies from a position: along the first axis, along z, and in all.
func (w Window) distances(given Window, g grid.Grid, at []float64, each func(to, from int, x, z, d float64)) {
	last, to := g.Dim()-1, 0
	n, x := g.Shape[last], make([]float64, g.Dim())
	for i := w.Lo[0]; i < w.Hi[0]; i++ {
		for j := w.Lo[1]; j < w.Hi[1]; j++ {
			g.Point(x, Whole(g).columnsBefore(i, j)*n)
			across, from := 0.0, given.columnsBefore(i, j)*n
			for a := range last {
				across += (x[a] - at[a]) * (x[a] - at[a])
			}
			for k := range n {
				z := g.Coord(last, k) - at[last]
				each(to, from+k, x[0]-at[0], z, math.Sqrt(across+z*z))
				to++
			}
		}
	}
}

// takeoff is the angle between the vertical and a ray that arrives at a horizontal offset x (of
// 2-D), a depth z and a distance d below its place, and leaves it more steeply than straight.
func takeoff(plane bool, x, z, d, more float64) float64 {
	switch {
	case d == 0:
		return 0
	case plane:
		return math.Abs(math.Remainder(math.Atan2(x, z)+more, 2*math.Pi))
	}
	return math.Acos(min(1, max(-1, z/d+more)))
}

// checkSpreads returns an error if fields of m do not bring what opt asks for.
func checkSpreads(m Method, opt Options) error {
	if opt.rays() && !Spreads(m) {
		return fmt.Errorf("traveltime: method %q does not know how rays leave their source, nor their spreading", m.Name())
	}
	return nil
}
