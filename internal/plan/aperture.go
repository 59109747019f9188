package plan

import (
	"iter"
	"slices"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
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

// Triples is the number of combinations of a trace and an image point of a share that count.
func (p *Plan) Triples(s *Share) int64 {
	k := &kirchhoff.Problem{Grid: p.Image, Slab: s.Slab, Positions: s.Places}
	p.limit(k)
	return k.Triples()
}

// Missed returns the number of traces that count at no point of a plan's image, and the
// number of the image's columns of points at which no trace counts.
func Missed(p *Plan) (traces, columns int) {
	k := &kirchhoff.Problem{Grid: p.Image, Positions: p.Places}
	p.limit(k)
	return k.Missed()
}

// TimesNeeded lists the places of the whole survey that some trace uses where it may count,
// and says how their traveltimes are solved. Without an aperture there are no windows.
func (p *Plan) TimesNeeded() ([]int, traveltime.Options) {
	k := &kirchhoff.Problem{Grid: p.Image, Positions: p.Places, AllWindows: p.windows, Threads: p.Threads}
	p.limit(k)
	return k.TimesNeeded()
}

// Solved is the number of points of the model, over the places of a share, at which
// traveltimes are computed; 0 for a method that solves nothing.
func (p *Plan) Solved(s *Share) (n float64) {
	for w := range regions(p, s) {
		n += float64(w.Grid(p.Velocity.Grid).Len())
	}
	return n
}

// ModelSlab is the part of the velocity model that the operator of a share needs: the
// indices [lo, hi) along the model's first axis between which its traveltimes are solved and
// its dynamic weights take velocities. It is empty where nothing is needed.
func (p *Plan) ModelSlab(s *Share) (slab [2]int) {
	if p.Config.Kirchhoff.Dynamic {
		slab = p.Velocity.Below(p.Image, s.Slab)
	}
	for w := range regions(p, s) {
		if slab == [2]int{} {
			slab = [2]int{w.Lo[0], w.Hi[0]}
		}
		slab = [2]int{min(slab[0], w.Lo[0]), max(slab[1], w.Hi[0])}
	}
	return slab
}

// regions yields the parts of the model in which the places of a share are solved; none for
// a method that solves nothing.
func regions(p *Plan, s *Share) iter.Seq[traveltime.Window] {
	return func(yield func(traveltime.Window) bool) {
		e, solves := p.Times.(*traveltime.Eikonal)
		if !solves {
			return
		}
		places, opt := p.Problem(s).TimesNeeded()
		switch {
		case p.Engine == "reference": // which solves for all places in the whole model
			opt.Windows, places = nil, make([]int, s.Places.Len())
			for i := range places {
				places[i] = i
			}
		case p.Held.Tables == "coarse":
			opt = traveltime.CoarseOptions(p.Image, CoarseFactor, opt)
		}
		for _, place := range places {
			if !yield(e.Region(s.Places, place, opt)) {
				return
			}
		}
	}
}

// findWindows finds the windows of all places of the survey. Traveltimes depend on them,
// so they must not depend on how traces are dealt to ranks.
func (p *Plan) findWindows() {
	k := &kirchhoff.Problem{Grid: p.Image, Positions: p.Places}
	p.limit(k)
	p.windows = k.Windows()
}
