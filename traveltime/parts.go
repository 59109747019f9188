package traveltime

import (
	"cmp"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Parts are the data that a solver on other hardware takes from an Eikonal. They share its
// memory. A solver that does the same operations in the same order has the same bits.
type Parts struct {
	Model grid.Grid
	Slow2 []float32 // (s/Scale)², from point First of the model on
	First int
	Scale float64 // s/m, largest slowness

	Straight []float32 // share of T's own in the second-order differences of each column of Slow2

	// Sweeping stops where no time changes by more than Tolerance, relatively, in
	// first-order and in second-order rounds, or after Rounds of each. After Patience
	// second-order rounds the tolerance doubles with each further one.
	Tolerance        [2]float32
	Rounds, Patience int

	// Fused says whether Eikonal's own sweeps fuse multiply-add, as solvers with its bits must.
	Fused bool

	// Image says for each axis x, y, z of the image how it is interpolated; all Width are 0
	// where it has the points of the model.
	Image [3]Interpolated
}

// Interpolated says for the points of the image along an axis from which points of the model
// they are interpolated.
type Interpolated struct {
	Width  int       // their number, at most 4
	First  []int32   // [points], the first of them
	Weight []float32 // [points][4]
}

// Parts returns the parts of e, which must stay alive while they are used.
func (e *Eikonal) Parts() Parts {
	p := Parts{Model: e.model, Slow2: e.slow2, First: e.skipped(), Scale: e.scale, Straight: e.straight,
		Tolerance: [2]float32{firstTolerance, secondTolerance}, Rounds: maxRounds, Patience: patience, Fused: e.widths[0] != portable}
	if e.resample != nil {
		p.Image = e.resample.axes()
	}
	return p
}

func (r *resample) axes() (out [3]Interpolated) {
	for a := range out {
		out[a] = Interpolated{r.n[a], r.first[a], r.value[a]}
	}
	return out
}

// Parts returns the data that a solver on other hardware takes from a Coarse: all tables, the
// points of a column of them, and the interpolation of the image. The Coarse must stay alive
// while they are used.
func (c *Coarse) Parts() (tau []float32, nz int, image [3]Interpolated) {
	return c.tau, c.coarse.Shape[c.g.Dim()-1], c.r.axes()
}

// Start is the first and the last point of the start box of a place, along the model's axis.
func (e *Eikonal) Start(p *survey.Positions, place, axis int) (first, last int) {
	return startRange(e.model, axis, p.At(place)[axis])
}

// Near returns the places in an order in which neighbours are near in space: sources whose
// rays run alike need the same sweeps.
func (e *Eikonal) Near(p *survey.Positions, places []int) []int {
	sorted := slices.Clone(places)
	keys := make(map[int]uint64, len(places))
	for _, i := range places {
		keys[i] = numberOnCurve(e.model, p.At(i))
	}
	slices.SortFunc(sorted, func(a, b int) int { return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(a, b)) })
	return sorted
}

// Check returns the error that m's Solve would begin with, and panics as it would.
func Check(m Method, p *survey.Positions, places []int, opt Options) error {
	checkPlaces(m.Grid(), p, places, opt)
	if c, ok := m.(interface {
		check(p *survey.Positions, places []int, opt Options) error
	}); ok {
		if err := c.check(p, places, opt); err != nil {
			return err
		}
	}
	return checkSpreads(m, opt)
}

// Constant returns the velocity, in m/s, of a method of NewAnalytic, and 0 for other methods.
func Constant(m Method) float64 {
	if s, ok := m.(*placewise); ok {
		return s.velocity
	}
	return 0
}
