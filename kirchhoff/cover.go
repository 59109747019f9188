package kirchhoff

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// An aperture limits the image points at which a trace counts to those near its midpoint.
// It is given along each horizontal axis. In the kernels these are the two axes before z;
// in 2-D the first of the two has one point.

// horizontal is the kernels' number of a grid's horizontal axis.
func horizontal(axis, dim int) int { return axis + 3 - dim }

// mostColumns is the widest aperture in columns: no grid has as many, and an int holds their number.
const mostColumns = 1e9

// tapers are the weights of the aperture as the kernels take them, in columns of the grid.
func (p *Problem) tapers() (out [2]simd.Taper) {
	for axis, a := range p.Aperture {
		if h := p.Grid.Spacing[axis]; a > 0 {
			a = min(a, mostColumns*h)
			b := min(p.ApertureTaper[axis], a)
			edge := float32(a / h)
			taper := simd.Taper{Flat: math.Nextafter32(edge, 0), Edge: edge, Rate: math.MaxFloat32}
			if b > 0 {
				taper.Flat, taper.Rate = float32((a-b)/h), float32(min(math.MaxFloat32, h/b))
			}
			out[horizontal(axis, p.Grid.Dim())] = taper
		}
	}
	return out
}

func (p *Problem) checkAperture() error {
	if n := len(p.Aperture); n != 0 && (n != p.Grid.Dim()-1 || len(p.ApertureTaper) != n) {
		return fmt.Errorf("kirchhoff: the aperture has %d widths and %d tapers, need %d", n, len(p.ApertureTaper), p.Grid.Dim()-1)
	}
	for _, a := range append(slices.Clone(p.Aperture), p.ApertureTaper...) {
		if !(a >= 0) || math.IsInf(a, 0) {
			return fmt.Errorf("kirchhoff: an aperture of %v m with tapers of %v m, must not be negative", p.Aperture, p.ApertureTaper)
		}
	}
	if n := len(p.AllWindows); n != 0 && n != p.Positions.Len() {
		return fmt.Errorf("kirchhoff: %d windows for %d places", n, p.Positions.Len())
	}
	return nil
}

// taper is the weight of the aperture of a trace at point i of the grid.
func (p *Problem) taper(source, receiver, i int) float64 {
	weight := 1.0
	s, r := p.Positions.At(source), p.Positions.At(receiver)
	for axis := len(p.Aperture) - 1; axis >= 0; axis-- {
		a := p.Aperture[axis]
		if a == 0 {
			continue
		}
		after := 1 // points for each step along the axis
		for _, n := range p.Grid.Shape[axis+1:] {
			after *= n
		}
		x := p.Grid.Origin[axis] + float64(i/after%p.Grid.Shape[axis])*p.Grid.Spacing[axis]
		u, b := math.Abs(x-0.5*(s[axis]+r[axis])), min(p.ApertureTaper[axis], a)
		switch {
		case u >= a:
			return 0
		case u > a-b:
			weight *= 0.5 + 0.5*math.Cos(math.Pi*(u-a+b)/b)
		}
	}
	return weight
}

// middle is the midpoint of a trace along the kernels' horizontal axes, in columns from
// the grid's first.
func (p *Problem) middle(source, receiver int32) (m [2]float64) {
	s, r := p.Positions.At(int(source)), p.Positions.At(int(receiver))
	for axis := range len(p.Aperture) {
		m[horizontal(axis, p.Grid.Dim())] = (0.5*(s[axis]+r[axis]) - p.Grid.Origin[axis]) / p.Grid.Spacing[axis]
	}
	return m
}

// reachOf says how much of a box the aperture leaves to a trace.
type reachOf int

const (
	nothing reachOf = iota
	everything
	part
)

// within says what is left of a trace with the midpoint m in the columns of a box.
func within(tapers *[2]simd.Taper, m [2]float64, b *Box) reachOf {
	what := everything
	for axis, t := range tapers {
		if t.Rate == 0 {
			continue
		}
		lo, hi := float64(b.Lo[axis])-m[axis], float64(b.Hi[axis]-1)-m[axis]
		if lo >= float64(t.Edge) || -hi >= float64(t.Edge) {
			return nothing
		}
		if -lo > float64(t.Flat) || hi > float64(t.Flat) {
			what = part
		}
	}
	return what
}

// cover says which places have tables in which boxes. A place has one in a box where some
// trace that uses it may count. Each branch of a place counts as one, see table, and needs arrivals there.
type cover struct {
	places   [][]int32 // of each box, ascending; nil for all places
	all      int       // their number
	branches int       // of each
}

// newCover finds out which places the traces of p need in the boxes of t.
func newCover(p *Problem, t *Tiling) *cover {
	c := &cover{all: p.Positions.Len() * p.branches(), branches: p.branches()}
	if !p.local() && p.present == nil {
		return c
	}
	columns := t.columns()
	lists, near := make([][]int32, len(columns[0])*len(columns[1])), p.near(columns)
	for place, n := range near {
		for i := n.lo[0]; i < n.hi[0]; i++ {
			for j := n.lo[1]; j < n.hi[1]; j++ {
				at := int(i)*len(columns[1]) + int(j)
				lists[at] = append(lists[at], int32(place))
			}
		}
	}
	c.places = make([][]int32, len(t.Boxes))
	for i := range t.Boxes {
		below := lists[i*len(lists)/len(t.Boxes)] // as many boxes below each column
		if c.places[i] = below; p.present == nil && c.branches == 1 {
			continue
		}
		c.places[i] = nil
		for branch := range c.branches {
			for _, place := range below {
				if p.present.in(p, int(place), branch, i) {
					c.places[i] = append(c.places[i], int32(table(p.Positions, int(place), branch)))
				}
			}
		}
	}
	return c
}

// local reports whether there is an aperture.
func (p *Problem) local() bool {
	return slices.ContainsFunc(p.Aperture, func(a float64) bool { return a > 0 })
}

// columnRange is a range of box columns [lo, hi) along each axis before z.
type columnRange struct{ lo, hi [2]int32 }

// near returns for each place the columns of boxes in which some trace that uses it may
// count, the smallest rectangle of them.
func (p *Problem) near(columns [2][]interval) []columnRange {
	tapers := p.tapers()
	out := make([]columnRange, p.Positions.Len())
	for i, source := range p.Positions.Source {
		receiver := p.Positions.Receiver[i]
		r := p.inside(&tapers, &columns, source, receiver)
		if r == (columnRange{}) {
			continue
		}
		for _, place := range [2]int32{source, receiver} {
			n := &out[place]
			if *n == (columnRange{}) {
				*n = r
			}
			for axis := range columns {
				n.lo[axis], n.hi[axis] = min(n.lo[axis], r.lo[axis]), max(n.hi[axis], r.hi[axis])
			}
		}
	}
	return out
}

// inside returns the columns of boxes in which a trace may count, zero for none.
func (p *Problem) inside(tapers *[2]simd.Taper, columns *[2][]interval, source, receiver int32) (r columnRange) {
	m := p.middle(source, receiver)
	for axis, of := range columns {
		edge := float64(tapers[axis].Edge)
		if tapers[axis].Rate == 0 {
			edge = math.Inf(1)
		}
		r.lo[axis] = int32(sort.Search(len(of), func(k int) bool { return m[axis]-float64(of[k].hi-1) < edge }))
		r.hi[axis] = int32(sort.Search(len(of), func(k int) bool { return float64(of[k].lo)-m[axis] >= edge }))
		if r.lo[axis] >= r.hi[axis] {
			return columnRange{}
		}
	}
	return r
}

// Windows returns, for each place, the part of the grid at which some trace that uses it
// may count, in whole boxes, with one more column on each side. It is nil without an aperture;
// a place without such points has an empty window. A rank that holds a part of a survey
// sets AllWindows to those of the whole survey, since traveltimes may depend on them.
func (p *Problem) Windows() []traveltime.Window {
	if !p.local() || p.AllWindows != nil {
		return p.AllWindows
	}
	shape, _, size := gridSides(p.Grid)
	var columns [2][]interval
	for axis := range columns {
		for lo := 0; lo < shape[axis]; lo += size[axis] {
			columns[axis] = append(columns[axis], interval{lo, min(lo+size[axis], shape[axis])})
		}
	}
	out := make([]traveltime.Window, p.Positions.Len())
	for place, n := range p.near(columns) {
		if n == (columnRange{}) {
			continue
		}
		for a := range p.Grid.Dim() - 1 {
			axis := horizontal(a, p.Grid.Dim())
			out[place].Lo[a] = max(0, columns[axis][n.lo[axis]].lo-1)
			out[place].Hi[a] = min(shape[axis], columns[axis][n.hi[axis]-1].hi+1)
		}
	}
	return out
}

// TimesNeeded lists, in ascending order, the places that some trace uses where it may count,
// and says how their traveltimes are solved.
func (p *Problem) TimesNeeded() ([]int, traveltime.Options) {
	opt := traveltime.Options{Threads: p.threads(), Progress: p.Progress, Windows: p.Windows(), Margin: p.Margin}
	opt = askRays(p, opt)
	used := p.usedPlaces()
	if opt.Windows != nil {
		used = slices.DeleteFunc(used, func(place int) bool { return opt.Windows[place] == traveltime.Window{} })
	}
	return used, opt
}

// Arrivals computes the traveltimes of places and passes each branch of each place, by its number, to
// each with its window, as a traveltime.Method's Solve does a field.
func (p *Problem) Arrivals(ctx context.Context, places []int, opt traveltime.Options, each func(place, branch int, window traveltime.Window, b traveltime.Branch) error) error {
	err := p.Times.Solve(ctx, p.Positions, places, opt, func(place int, f traveltime.Field) error {
		for branch, b := range f.Branches {
			if err := each(place, branch, f.Window, b); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("kirchhoff: traveltimes: %w", err)
	}
	return nil
}

// points numbers the points of a window by those of its grid.
type points struct {
	shift      int // of windows as wide as the grid: points before them
	nz, ny     int // of the grid
	lo0, lo1   int
	wide       int // columns along y
	everything bool
}

func newPoints(g grid.Grid, w traveltime.Window) points {
	shape, _, _ := gridSides(g)
	n := points{nz: shape[2], ny: 1, lo0: w.Lo[0], wide: 1, everything: true}
	if g.Dim() == 3 {
		n.ny, n.lo1, n.wide = shape[1], w.Lo[1], w.Hi[1]-w.Lo[1]
		n.everything = n.wide == n.ny
	}
	n.shift = n.lo0 * n.ny * n.nz
	return n
}

// of is the number in the window of point i of the grid, which must lie in it.
func (n points) of(i int) int {
	if n.everything {
		return i - n.shift
	}
	column := i / n.nz
	x := column / n.ny
	return ((x-n.lo0)*n.wide+column-x*n.ny-n.lo1)*n.nz + i - column*n.nz
}

// interval is a range of columns [lo, hi).
type interval struct{ lo, hi int }

// columns are the columns of points of the boxes along the axes before z, ascending.
func (t *Tiling) columns() (out [2][]interval) {
	for axis := range out {
		for _, b := range t.Boxes {
			if n := len(out[axis]); n == 0 || b.Lo[axis] > out[axis][n-1].lo {
				out[axis] = append(out[axis], interval{b.Lo[axis], b.Hi[axis]})
			}
		}
	}
	return out
}

// below returns the boxes [first, last) below columns lo to hi of those with one x.
func (t *Tiling) below(columns *[2][]interval, x, lo, hi int32) (first, last int) {
	deep := len(t.Boxes) / (len(columns[0]) * len(columns[1]))
	at := int(x) * len(columns[1])
	return (at + int(lo)) * deep, (at + int(hi)) * deep
}

// count is the number of places that have tables in a box.
func (c *cover) count(box int) int {
	if c.places == nil {
		return c.all
	}
	return len(c.places[box])
}

// find returns the number of a place in a box, −1 for none.
func (c *cover) find(box int, place int32) int {
	if c.places == nil {
		return int(place)
	}
	if i, found := slices.BinarySearch(c.places[box], place); found {
		return i
	}
	return -1
}

// largest is the cover of the one place that has tables in most boxes.
func (c *cover) largest() *cover {
	if c.places == nil {
		return c.alone(0)
	}
	boxes := make([]int, c.all/c.branches)
	for _, list := range c.places {
		for _, place := range list {
			boxes[int(place)%len(boxes)]++
		}
	}
	return c.alone(int32(slices.Index(boxes, slices.Max(boxes))))
}

// alone is the cover of one place, which becomes number 0.
func (c *cover) alone(place int32) *cover {
	one := &cover{all: c.branches, branches: c.branches}
	if c.places == nil {
		return one
	}
	one.places = make([][]int32, len(c.places))
	for box := range one.places {
		for branch := range c.branches {
			if c.find(box, int32(branch*c.all/c.branches)+place) >= 0 {
				one.places[box] = append(one.places[box], int32(branch))
			}
		}
	}
	return one
}
