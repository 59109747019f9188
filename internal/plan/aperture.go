package plan

import (
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
	e, ok := p.Times.(*traveltime.Eikonal)
	if !ok {
		return 0
	}
	places, opt := p.Problem(s).TimesNeeded()
	for _, place := range places {
		n += float64(e.Region(s.Places, place, opt).Grid(*e.Domain()).Len())
	}
	return n
}

// findWindows finds the windows of all places of the survey. Traveltimes depend on them,
// so they must not depend on how traces are dealt to ranks.
func (p *Plan) findWindows() {
	k := &kirchhoff.Problem{Grid: p.Image, Positions: p.Places}
	p.limit(k)
	p.windows = k.Windows()
}
