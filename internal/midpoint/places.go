package midpoint

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// modelStep is about the step of a velocity model in time, s.
const modelStep = 0.02

// Grid is the grid of a velocity model for the whole line: columns at equal distances from the first
// source or receiver to the last, and times to the end of the traces by a multiple of their step.
func (l *Line) Grid(every float64) (g grid.Grid, err error) {
	if l.Times() < 2 {
		return g, fmt.Errorf("traces end at %g s, must end after time 0", l.T0+float64(l.NT-1)*l.DT)
	}
	lo, hi := survey.Bounds(slices.Concat(l.Sources, l.Receivers), 2, 0)
	step, columns := l.DT*max(1, math.Round(modelStep/l.DT)), 0
	if columns, err = counts.Of(fmt.Sprintf("columns every %g m", every), math.Ceil((hi-lo)/every-1e-6)+1, counts.Most); err != nil {
		return g, err
	}
	g = grid.Grid{Origin: []float64{lo, 0}, Spacing: []float64{every, step}, Domain: grid.Time}
	g.Shape = []int{columns, int(math.Ceil(float64(l.Times()-1)*l.DT/step-1e-6)) + 1}
	if err := g.Validate(); err != nil {
		return g, err
	}
	return g, counts.Fit("a velocity model of that many columns", 100*float64(g.Len()))
}

// Place is one at which velocities are analysed, with the bins from First to Last.
type Place struct {
	X           float64 // m
	First, Last int
}

// Places are the columns of a grid that have traces around them, in bins up to reach metres away.
func (l *Line) Places(g grid.Grid, around float64) (places []Place) {
	for i := range g.Shape[0] {
		x := g.Coord(0, i)
		first, last := math.Ceil((x-around-l.Bins.Origin)/l.Bins.Width-1e-6), math.Floor((x+around-l.Bins.Origin)/l.Bins.Width+1e-6)
		p := Place{x, counts.Near(first, 0, l.Bins.N), counts.Near(last, -1, l.Bins.N-1)}
		if p.First <= p.Last && l.Cuts[p.Last+1] > l.Cuts[p.First] {
			places = append(places, p)
		}
	}
	return places
}
