package traveltime

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Eikonal is the method for a velocity model: first arrivals from the eikonal
// equation |∇T|² = s², s the slowness. See the package documentation for how.
type Eikonal struct {
	placewise // on the image's grid
	model     grid.Grid
	slab      [2]int    // the range [lo, hi) of indices along model's first axis that slow2 has
	slow2     []float32 // (s / scale)², C order on the slab
	straight  []float32 // share of T's own differences in each column of the slab, of straightness
	tilt      []float32 // plane, along, cross, axis of each point; nil where no point is anisotropic
	bent      []bool    // planes of slab with anisotropic points; nil like tilt
	scale     float64   // s/m, largest slowness
	resample  *resample // nil where image and model are the same grid
	widths    []int     // numbers of lanes that a batch may have, largest first

	anisotropic bool // the model is, maybe beside slab
}

// NewEikonal returns the method for the velocity in m/s, in C order on the grid
// model. Fields are given on the grid image, which must lie inside model.
// The velocity is not kept.
func NewEikonal[F float32 | float64](velocity []F, model, image grid.Grid) (*Eikonal, error) {
	e, err := outlineEikonal(model, image)
	if err != nil {
		return nil, err
	}
	if len(velocity) != model.Len() {
		panic(fmt.Sprintf("traveltime: velocity has %d values, its grid %d points", len(velocity), model.Len()))
	}
	return e, hold(e, velocity, [2]int{0, model.Shape[0]}, float64(slices.Min(velocity)))
}

// newEikonalIn is NewEikonal for the slab of a model that m holds. It has the same bits as
// for the whole model.
func newEikonalIn(m Medium, image grid.Grid) (*Eikonal, error) {
	e, err := outlineEikonal(m.Grid, image)
	if err != nil {
		return nil, err
	}
	if err := hold(e, m.Values, m.Slab, m.Least); err != nil {
		return nil, err
	}
	return e, e.setAnisotropy(m)
}

// outlineEikonal makes the method without velocities. It can tell what Solve would need.
func outlineEikonal(model, image grid.Grid) (*Eikonal, error) {
	if err := model.Validate(); err != nil {
		return nil, fmt.Errorf("traveltime: velocity model: %w", err)
	}
	if err := image.Validate(); err != nil {
		return nil, fmt.Errorf("traveltime: image: %w", err)
	}
	if !image.Inside(model) {
		return nil, fmt.Errorf("traveltime: the image %s reaches outside the velocity model %s", box(image), box(model))
	}
	e := &Eikonal{placewise: placewise{name: "eikonal", g: image}, model: model, widths: widths()}
	var err error
	if !image.Equal(model) {
		e.resample, err = newResample(model, image)
	}
	return e, err
}

// straightness is the share of T's own in the second-order differences of a column of the model with
// these velocities, see doc.go. It depends on the largest ratio of two neighbours.
func straightness[F float32 | float64](column []F) float32 {
	jump := 1.0
	for k := range len(column) - 1 {
		a, b := float64(column[k]), float64(column[k+1])
		jump = max(jump, a/b, b/a)
	}
	return float32(0.75 * max(0, min((jump-1.02)/0.08, 1, (15-jump)/10)))
}

// hold gives e the velocities of a slab, in m/s. least is the least velocity of the whole
// model.
func hold[F float32 | float64](e *Eikonal, velocity []F, slab [2]int, least float64) error {
	e.slab, e.scale = slab, 1/least
	e.slow2 = make([]float32, len(velocity))
	for i, v := range velocity {
		if f := float64(v); !(f > 0) || math.IsInf(f, 0) {
			at := make([]float64, e.model.Dim())
			e.model.Point(at, e.skipped()+i)
			return fmt.Errorf("traveltime: velocity at %v m is %g m/s, must be positive and finite", at, f)
		}
		s := 1 / (float64(v) * e.scale)
		e.slow2[i] = float32(s * s)
	}
	for column := range slices.Chunk(velocity, e.model.Shape[e.model.Dim()-1]) {
		e.straight = append(e.straight, straightness(column))
	}
	return nil
}

// skipped is the number of points of the model before those of slow2.
func (e *Eikonal) skipped() int { return e.slab[0] * (e.model.Len() / e.model.Shape[0]) }

// Domain implements Method: the model's grid, on which the equation is solved.
func (e *Eikonal) Domain() *grid.Grid { return &e.model }

// Solve implements Method. Places must lie inside the velocity model. Up to 16
// places near each other are solved together, but every field has the same bits
// whatever the other places, their windows and order and the number of threads. It panics
// if it does not hold the part of the model that Region says.
func (e *Eikonal) Solve(ctx context.Context, p *survey.Positions, places []int, opt Options, sink func(place int, f Field) error) error {
	if err := Check(e, p, places, opt); err != nil {
		return err
	}
	return distributeJobs(ctx, e.groupPlaces(p, places, opt), opt, func() worker { return e.worker(p, places, opt) }, sink)
}

// check returns an error if a place lies outside the model. It panics if its part of the
// model is not held.
func (e *Eikonal) check(p *survey.Positions, places []int, opt Options) error {
	for _, i := range places {
		if at := p.At(i); !e.model.Contains(at) {
			return outside(p, i, e.model)
		}
		if w := e.Region(p, i, opt); w.Lo[0] < e.slab[0] || w.Hi[0] > e.slab[1] {
			panic(fmt.Sprintf("traveltime: places are solved in columns %v to %v of the velocity model, slab %v is held", w.Lo, w.Hi, e.slab))
		}
	}
	return nil
}

// outside is the error of a place that lies outside a model.
func outside(p *survey.Positions, place int, model grid.Grid) error {
	return fmt.Errorf("traveltime: %s %d at %s m lies outside the velocity model %s", p.Role[place], p.Row[place], point(p.At(place)), box(model))
}

// point prints a position as (120.0, 4.0).
func point(x []float64) string { return "(" + readable.Join("%.1f", ", ", x) + ")" }

// box prints a grid's extent as [0, 100] × [0, 50] m.
func box(g grid.Grid) string {
	s := make([]string, g.Dim())
	for a := range s {
		s[a] = fmt.Sprintf("[%g, %g]", g.Origin[a], g.End(a))
	}
	return strings.Join(s, " × ") + " m"
}

// groupPlaces groups places near each other, because sources whose rays run alike
// need the same sweeps, into batches as wide as keeps all threads busy. The
// last few places go into a narrower batch if there is one. A batch's window of the model
// holds those of its places and is at most share times as large as the largest of them. All of
// them are anisotropic, or none.
func (e *Eikonal) groupPlaces(p *survey.Positions, places []int, opt Options) []job {
	sorted := e.Near(p, places)
	widest := e.widths
	threads := opt.threads(len(places))
	for len(widest) > 1 && len(places) <= (threads-1)*widest[0] {
		widest = widest[1:]
	}
	var jobs []job
	for len(sorted) > 0 {
		model := e.Region(p, sorted[0], opt)
		n, largest, tilted := 1, model.count(), e.anyAnisotropic(model)
		for ; n < min(widest[0], len(sorted)); n++ {
			own := e.Region(p, sorted[n], opt)
			both := model.union(own)
			if largest = max(largest, own.count()); float64(both.count()) > share*float64(largest) || e.anyAnisotropic(own) != tilted {
				break
			}
			model = both
		}
		widths := widest
		for len(widths) > 1 && n <= widths[1] {
			widths = widths[1:]
		}
		jobs = append(jobs, job{sorted[:n], widths[0], model})
		sorted = sorted[n:]
	}
	return jobs
}

// numberOnCurve numbers positions along a Z-order curve of 1024 cells a side over the
// grid, so that neighbours in number are near in space.
func numberOnCurve(g grid.Grid, at []float64) uint64 {
	var key uint64
	widest := 0.0
	for a := range at {
		widest = max(widest, g.End(a)-g.Origin[a])
	}
	for a := range at {
		cell := uint64(0)
		if widest > 0 {
			cell = uint64(max(0, min((at[a]-g.Origin[a])/widest*1023, 1023)))
		}
		for bit := range 10 {
			key |= cell >> bit & 1 << (bit*len(at) + a)
		}
	}
	return key
}

// Region is the part of the model in which Solve solves for a place: what the place's image
// window reads of the model, the margin on each side of that, and the start box.
func (e *Eikonal) Region(p *survey.Positions, place int, opt Options) Window {
	r := Whole(e.model)
	w := opt.Window(e.g, place)
	if w == Whole(e.g) {
		return r // nothing is left out: neither is any of the model
	}
	for a := range e.g.Dim() - 1 {
		n := e.model.Shape[a]
		lo, hi := w.Lo[a]-1, w.Hi[a]
		if e.resample != nil {
			lo, _ = support(e.model, e.g, a, w.Lo[a])
			first, width := support(e.model, e.g, a, w.Hi[a]-1)
			hi = first + width - 1
		}
		margin := int(min(math.Ceil(opt.Margin/e.model.Spacing[a]), float64(n)))
		first, last := startRange(e.model, a, p.At(place)[a])
		r.Lo[a], r.Hi[a] = max(0, min(lo-margin, first)), min(max(hi+margin, last)+1, n)
	}
	return r
}
