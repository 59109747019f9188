package pipeline

import (
	"iter"
	"math"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// arrivalCost is the ratio of the time that kernels take to what kirchhoff's Visits predict. It differs
// from 1 if waves cross a tile in more or fewer than 20 samples (kirchhoff.TileCost), or arrive after
// the record has ended: tiles beyond the end take no time, and tiles that hold the end
// kirchhoff.EndCost times as long. It takes rays as straight, and is 1 if there is no
// velocity.
func arrivalCost(g *Geometry, t *Times) float64 {
	if least, _ := t.Source.Range(); least <= 0 {
		return 1
	}
	k := &kirchhoff.Problem{Grid: g.Image}
	g.setAperture(k)
	all, total := 0, 0.0
	for q := range g.SamplePairs() {
		inside := true
		for axis, a := range k.Aperture {
			inside = inside && (a == 0 || math.Abs(q.X[axis]-0.5*(q.Source[axis]+q.Receiver[axis])) < a)
		}
		if !inside {
			continue
		}
		all++
		total += tileCost(g, t, q)
	}
	if all == 0 {
		return 1
	}
	return total / float64(all)
}

// tileCost is how many times longer than another the tile of a pair takes.
func tileCost(g *Geometry, t *Times, q Pair) float64 {
	arrival, width := straightArrival(g, t, q)
	switch early := g.RecordEnd() - arrival; {
	case math.Abs(early) < width/2:
		return kirchhoff.EndCost
	case early > 0:
		return kirchhoff.TileCost(g.Image.Dim(), width/g.Survey.DT)
	}
	return 0
}

// straightArrival finds about when a wave arrives on straight rays, and how far apart it does so at the
// points of a tile, in s.
func straightArrival(g *Geometry, t *Times, q Pair) (arrival, width float64) {
	if g.Image.Domain == grid.Time {
		return straightArrivalInTime(g, t, q)
	}
	const parts = 8 // of a ray, whose slowness is their mean
	at, gradient := make([]float64, len(q.X)), make([]float64, len(q.X))
	for role, from := range [2][]float64{survey.AtSource: q.Source, survey.AtReceiver: q.Receiver} {
		medium := t.Leg(survey.Role(role))
		slowness := 1 / medium.At(q.X)
		squares, sum := 0.0, 0.0
		for a, x := range q.X {
			squares += (x - from[a]) * (x - from[a])
		}
		if squares == 0 {
			continue
		}
		for i := range parts {
			for a, x := range q.X {
				at[a] = from[a] + (float64(i)+0.5)/parts*(x-from[a])
			}
			sum += 1 / medium.At(at)
		}
		length := math.Sqrt(squares)
		arrival += length * sum / parts
		for a, x := range q.X {
			gradient[a] += (x - from[a]) / length * slowness
		}
	}
	return arrival, g.tileWidth(gradient)
}

// straightArrivalInTime is straightArrival for an image in the time domain, without η.
func straightArrivalInTime(g *Geometry, t *Times, q Pair) (arrival, width float64) {
	gradient := make([]float64, len(q.X))
	for role, from := range [2][]float64{survey.AtSource: q.Source, survey.AtReceiver: q.Receiver} {
		t, slope := t.Leg(survey.Role(role)).RMSTime(from, q.X)
		arrival += t
		for a := range gradient {
			gradient[a] += slope[a]
		}
	}
	return arrival, g.tileWidth(gradient)
}

// tileWidth is how far apart waves of that gradient arrive at the points of a tile, in s.
func (g *Geometry) tileWidth(gradient []float64) (width float64) {
	side := float64(kirchhoff.TileSide(len(gradient)) - 1)
	for a, slope := range gradient {
		width += math.Abs(slope) * side * g.Image.Spacing[a]
	}
	return width
}

// tiltedCost is about how many times longer a point of an anisotropic model takes to solve.
const tiltedCost = 5

// Solved is the number of points of the models, over the places of a share, at which
// traveltimes are computed, of anisotropic ones as many as take as long in isotropic ones; 0
// for a method that solves nothing.
func (p *Plan) Solved(s *Share) (n float64) {
	for role, w := range solvedRegions(p, s) {
		m, cost := p.Times.Leg(role), 1.0
		if m.Anisotropic {
			cost = tiltedCost
		}
		n += cost * float64(w.Grid(m.Grid).Len())
	}
	return n
}

// ModelSlabs are the parts of the velocity models that the operator of a share needs, by the
// role of the places whose waves lie there. A part is a range of indices [lo, hi) along a model's
// first axis, where traveltimes are solved and dynamic weights take velocities. A part is empty
// if nothing is needed.
func (p *Plan) ModelSlabs(s *Share) (slabs [2][2]int) {
	if p.Config.Kirchhoff.Dynamic {
		slabs[survey.AtSource] = p.Times.Source.Below(p.Geometry.Image, s.Slab)
	}
	if p.Geometry.Image.Domain == grid.Time && !p.Config.Traveltime.Given() {
		for role := range p.Times.media() {
			slabs[role] = p.Times.Leg(survey.Role(role)).Below(p.Geometry.Image, TimedColumns(p, s))
		}
	}
	for role, w := range solvedRegions(p, s) {
		slab := &slabs[role]
		if *slab == [2]int{} {
			*slab = [2]int{w.Lo[0], w.Hi[0]}
		}
		*slab = [2]int{min(slab[0], w.Lo[0]), max(slab[1], w.Hi[0])}
	}
	return slabs
}

// TimedColumns are the columns [lo, hi) of an image in the time domain, along x, at which the
// places of a share have times.
func TimedColumns(p *Plan, s *Share) (columns [2]int) {
	places, opt := p.Problem(s).TimesNeeded()
	if p.Hardware.Engine == "reference" && len(places) > 0 { // which solves for all places everywhere
		return [2]int{0, p.Geometry.Image.Shape[0]}
	}
	for i, place := range places {
		w := opt.Window(p.Geometry.Image, place)
		if i == 0 {
			columns = [2]int{w.Lo[0], w.Hi[0]}
		}
		columns = [2]int{min(columns[0], w.Lo[0]), max(columns[1], w.Hi[0])}
	}
	return columns
}

// solvedRegions yields the parts of the models in which the places of a share are solved, with the
// roles of the models. A method without a solver has none.
func solvedRegions(p *Plan, s *Share) iter.Seq2[survey.Role, traveltime.Window] {
	return func(yield func(survey.Role, traveltime.Window) bool) {
		if p.Times.Solver(survey.AtSource) == nil && p.Times.Solver(survey.AtReceiver) == nil {
			return
		}
		places, opt := p.Problem(s).TimesNeeded()
		switch {
		case p.Hardware.Engine == "reference": // which solves for all places in the whole model
			opt.Windows, places = nil, make([]int, s.Places.Len())
			for i := range places {
				places[i] = i
			}
		case p.Held.Tables == "coarse":
			opt = traveltime.CoarseOptions(p.Geometry.Image, CoarseFactor, opt)
		}
		for _, place := range places {
			role := p.Times.legRole(s.Places.Role[place])
			if e := p.Times.Solver(role); e != nil && !yield(role, e.Region(s.Places, place, opt)) {
				return
			}
		}
	}
}
