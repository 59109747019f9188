package pipeline

import (
	"iter"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// limit sets the aperture of an operator.
func (p *Plan) limit(k *kirchhoff.Problem) {
	c := p.Config.Kirchhoff
	if len(c.Aperture) == 0 {
		return
	}
	for axis := range p.Image.Dim() - 1 {
		a := c.Aperture[min(axis, len(c.Aperture)-1)]
		taper := a / 10
		if len(c.ApertureTaper) > 0 {
			taper = min(a, c.ApertureTaper[0])
		}
		k.Aperture, k.ApertureTaper = append(k.Aperture, a), append(k.ApertureTaper, taper)
	}
	k.Margin = slices.Max(k.Aperture) / 2
	if m := p.Config.Traveltime.Margin; len(m) > 0 {
		k.Margin = m[0]
	}
}

// Heard is about how much longer, or shorter, kernels take than kirchhoff's Visits say, since
// waves cross a tile in more samples or fewer than 20 (kirchhoff.TileCost), or arrive after
// the record has ended: tiles beyond it take no time, those in which it ends
// kirchhoff.EndCost times as long. It takes rays as straight, and is 1 where there is no
// velocity.
func (p *Plan) Heard() float64 {
	if least, _ := p.Inputs.Velocity.Range(); least <= 0 {
		return 1
	}
	k := &kirchhoff.Problem{Grid: p.Image}
	p.limit(k)
	all, total := 0, 0.0
	for q := range p.SamplePairs() {
		inside := true
		for axis, a := range k.Aperture {
			inside = inside && (a == 0 || math.Abs(q.X[axis]-0.5*(q.Source[axis]+q.Receiver[axis])) < a)
		}
		if !inside {
			continue
		}
		all++
		total += tileCost(p, q)
	}
	if all == 0 {
		return 1
	}
	return total / float64(all)
}

// tileCost is how many times longer than another the tile of a pair takes.
func tileCost(p *Plan, q Pair) float64 {
	arrival, width := straightArrival(p, q)
	switch early := p.RecordEnd() - arrival; {
	case math.Abs(early) < width/2:
		return kirchhoff.EndCost
	case early > 0:
		return kirchhoff.TileCost(p.Image.Dim(), width/p.Inputs.Survey.DT)
	}
	return 0
}

// straight is about when a wave arrives on straight rays, and how far apart it does so at the
// points of a tile, in s.
func straightArrival(p *Plan, q Pair) (arrival, width float64) {
	if p.Image.Domain == grid.Time {
		return straightArrivalInTime(p, q)
	}
	const parts = 8 // of a ray, whose slowness is their mean
	at, gradient := make([]float64, len(q.X)), make([]float64, len(q.X))
	for role, from := range [2][]float64{survey.AtSource: q.Source, survey.AtReceiver: q.Receiver} {
		medium := LegMedium(p, survey.Role(role))
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
	return arrival, tileWidth(p, gradient)
}

// straightInTime is straight for an image in the time domain, without η.
func straightArrivalInTime(p *Plan, q Pair) (arrival, width float64) {
	gradient := make([]float64, len(q.X))
	for role, from := range [2][]float64{survey.AtSource: q.Source, survey.AtReceiver: q.Receiver} {
		t, slope := LegMedium(p, survey.Role(role)).RMSTime(from, q.X)
		arrival += t
		for a := range gradient {
			gradient[a] += slope[a]
		}
	}
	return arrival, tileWidth(p, gradient)
}

// tileWidth is how far apart waves of that gradient arrive at the points of a tile, in s.
func tileWidth(p *Plan, gradient []float64) (width float64) {
	side := float64(kirchhoff.TileSide(len(gradient)) - 1)
	for a, g := range gradient {
		width += math.Abs(g) * side * p.Image.Spacing[a]
	}
	return width
}

// Missed returns the number of traces that count at no point of a plan's image, and the
// number of the image's columns of points at which no trace counts.
func Missed(p *Plan) (traces, columns int) {
	k := &kirchhoff.Problem{Grid: p.Image, Positions: p.Inputs.Places}
	p.limit(k)
	return k.Missed()
}

// TimesNeeded lists the places of the whole survey that some trace uses where it may count,
// and says how their traveltimes are solved. Without an aperture there are no windows.
func (p *Plan) TimesNeeded() ([]int, traveltime.Options) {
	k := &kirchhoff.Problem{Grid: p.Image, Positions: p.Inputs.Places, AllWindows: p.windows, Threads: p.Hardware.Threads}
	p.limit(k)
	return k.TimesNeeded()
}

// tiltedCost is about how many times longer a point of an anisotropic model takes to solve.
const tiltedCost = 5

// Solved is the number of points of the models, over the places of a share, at which
// traveltimes are computed, of anisotropic ones as many as take as long in isotropic ones; 0
// for a method that solves nothing.
func (p *Plan) Solved(s *Share) (n float64) {
	for role, w := range solvedRegions(p, s) {
		m, cost := LegMedium(p, role), 1.0
		if m.Anisotropic {
			cost = tiltedCost
		}
		n += cost * float64(w.Grid(m.Grid).Len())
	}
	return n
}

// ModelSlabs are the parts of the velocity models that the operator of a share needs, by the
// role of the places whose waves lie there: the indices [lo, hi) along a model's first axis
// between which traveltimes are solved and dynamic weights take velocities. A part is empty
// where nothing is needed.
func (p *Plan) ModelSlabs(s *Share) (slabs [2][2]int) {
	if p.Config.Kirchhoff.Dynamic {
		slabs[survey.AtSource] = p.Inputs.Velocity.Below(p.Image, s.Slab)
	}
	if p.Image.Domain == grid.Time && !p.Config.Traveltime.Given() {
		for role := range media(p) {
			slabs[role] = LegMedium(p, survey.Role(role)).Below(p.Image, TimedColumns(p, s))
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
		return [2]int{0, p.Image.Shape[0]}
	}
	for i, place := range places {
		w := opt.Window(p.Image, place)
		if i == 0 {
			columns = [2]int{w.Lo[0], w.Hi[0]}
		}
		columns = [2]int{min(columns[0], w.Lo[0]), max(columns[1], w.Hi[0])}
	}
	return columns
}

// regions yields the parts of the models in which the places of a share are solved, with the
// roles of the models; none for a method that solves nothing.
func solvedRegions(p *Plan, s *Share) iter.Seq2[survey.Role, traveltime.Window] {
	return func(yield func(survey.Role, traveltime.Window) bool) {
		if Eikonal(p, survey.AtSource) == nil && Eikonal(p, survey.AtReceiver) == nil {
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
			opt = traveltime.CoarseOptions(p.Image, CoarseFactor, opt)
		}
		for _, place := range places {
			role := legRole(p, s.Places.Role[place])
			if e := Eikonal(p, role); e != nil && !yield(role, e.Region(s.Places, place, opt)) {
				return
			}
		}
	}
}

// findWindows finds the windows of all places of the survey. Traveltimes depend on them,
// so they must not depend on how traces are dealt to ranks.
func (p *Plan) findWindows() {
	k := &kirchhoff.Problem{Grid: p.Image, Positions: p.Inputs.Places}
	p.limit(k)
	p.windows = k.Windows()
}
