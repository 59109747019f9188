package traveltime

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Coarse keeps the tables of another method at every second (third, …) point of each axis
// and interpolates between them. It takes a quarter of the memory in 2-D at factor 2, and
// an eighth in 3-D. It is for tables that are needed repeatedly and cost more to solve
// than to interpolate.
//
// It keeps and interpolates, cubically, τ = T/R with R the distance from the position, or T
// / (R g) in an anisotropic medium: smooth where T has its tip. Gradients are derivatives
// of the interpolant.
type Coarse struct {
	placewise // with the name of the method whose tables these are
	coarse    grid.Grid
	r         *resample
	places    map[row]CoarseTable
	length    int       // of tau
	tau       []float32 // of all places; nil before they are solved
	homes     []*home   // of all tables; nil for isotropic ones

	of Method // whose tables these are
}

// CoarseTable is where the coarse table of a place lies among all: τ in s/m at the points of a
// window of the coarse grid, in C order.
type CoarseTable struct {
	Window Window
	First  int
	number int
}

// row names a place by where it comes from, since callers number their own.
type row struct {
	role survey.Role
	row  int32
}

func rowOf(p *survey.Positions, place int) row { return row{p.Role[place], p.Row[place]} }

// coarseWindow is the part of the coarse grid from which the window w of g is interpolated.
func coarseWindow(coarse, g grid.Grid, w Window) Window {
	c := Whole(coarse)
	for a := range g.Dim() - 1 {
		c.Lo[a], _ = support(coarse, g, a, w.Lo[a])
		first, width := support(coarse, g, a, w.Hi[a]-1)
		c.Hi[a] = first + width
	}
	return c
}

// CoarseOptions are the options with which NewCoarse solves by its method: windows with the
// coarse points from which those of opt are interpolated, and the points next to them.
func CoarseOptions(g grid.Grid, factor int, opt Options) Options {
	opt.Gradient = false
	coarse := coarseGrid(g, factor)
	windows := slices.Clone(opt.Windows)
	for i := range windows {
		w := opt.Window(g, i)
		if w.empty() {
			continue
		}
		c := coarseWindow(coarse, g, w)
		for a := range g.Dim() - 1 {
			windows[i].Lo[a] = max(0, min(w.Lo[a], finePoint(coarse, g, a, c.Lo[a])-1))
			windows[i].Hi[a] = min(max(w.Hi[a], finePoint(coarse, g, a, c.Hi[a]-1)+2), g.Shape[a])
		}
	}
	opt.Windows = windows
	return opt
}

// finePoint is the number on g of a coarse point along an axis.
func finePoint(coarse, g grid.Grid, axis, i int) int {
	return int(math.Round(float64(i) * coarse.Spacing[axis] / g.Spacing[axis]))
}

// coarseGrid is the grid of every factor-th point. Points beyond its last one, less
// than a coarse cell away, are extrapolated.
func coarseGrid(g grid.Grid, factor int) grid.Grid {
	c := grid.Grid{Origin: slices.Clone(g.Origin), Spacing: slices.Clone(g.Spacing), Shape: slices.Clone(g.Shape), Domain: g.Domain, Frame: g.Frame}
	for a, n := range g.Shape {
		if cells := (n - 1) / factor; cells > 0 {
			c.Shape[a] = cells + 1
			c.Spacing[a] *= float64(factor)
		}
	}
	return c
}

// OutlineCoarse returns the method of NewCoarse without its tables, to tell what it takes.
func OutlineCoarse(m Method, p *survey.Positions, factor int, opt Options) (*Coarse, error) {
	if factor < 1 {
		return nil, fmt.Errorf("traveltime: coarse tables keep every %d-th point, must be at least 1", factor)
	}
	g := m.Grid()
	c := &Coarse{coarse: coarseGrid(g, factor), places: make(map[row]CoarseTable, p.Len()), of: m}
	c.placewise = placewise{name: m.Name(), g: g, tau: true, fill: c.field}
	var err error
	if c.r, err = newResample(c.coarse, g); err != nil {
		return nil, err
	}
	for i := range p.Len() {
		if w := opt.Window(g, i); !w.empty() {
			k := CoarseTable{coarseWindow(c.coarse, g, w), c.length, len(c.places)}
			c.places[rowOf(p, i)] = k
			c.length += c.points(k)
		}
	}
	return c, nil
}

// NewCoarse solves for all of p's places by m and keeps every factor-th point that opt's
// windows need. A place with an empty window gets no table. Later positions must be among
// the other places, by role and row, and their windows inside those given here.
func NewCoarse(ctx context.Context, m Method, p *survey.Positions, factor int, opt Options) (*Coarse, error) {
	c, err := OutlineCoarse(m, p, factor, opt)
	if err != nil {
		return nil, err
	}
	var places []int
	for i := range p.Len() {
		if _, ok := c.places[rowOf(p, i)]; ok {
			places = append(places, i)
		}
	}
	c.tau = make([]float32, c.length) // at once: nothing is lost between two
	c.homes = make([]*home, len(c.places))
	err = m.Solve(ctx, p, places, CoarseOptions(c.g, factor, opt), func(place int, f Field) error {
		c.keep(c.places[rowOf(p, place)], f.Window, f.Branches[0], p.At(place))
		return nil
	})
	return c, err
}

// Bytes is the memory of the tables.
func (c *Coarse) Bytes() int64 { return 4 * int64(c.length) }

// points is the number of points of a table.
func (c *Coarse) points(k CoarseTable) int { return k.Window.count() * c.coarse.Shape[c.g.Dim()-1] }

// keep stores τ at the coarse points of a window inside that of an arrival.
func (c *Coarse) keep(to CoarseTable, w Window, b Branch, at []float64) {
	dim := c.g.Dim()
	var x [3]float64
	part := w.Grid(c.g)
	strides := part.Strides()
	out, nz := to.First, c.coarse.Shape[dim-1]
	c.homes[to.number] = b.home
	for column := range to.Window.Columns(c.coarse) {
		for n := column; n < column+nz; n++ {
			c.coarse.Point(x[:dim], n)
			i, rest := 0, n
			for a := dim - 1; a >= 0; a-- {
				k := finePoint(c.coarse, c.g, a, rest%c.coarse.Shape[a])
				if a < dim-1 {
					k -= w.Lo[a]
				}
				rest /= c.coarse.Shape[a]
				i += k * strides[a]
				x[a] -= at[a]
			}
			if r := b.reach(x[:dim]); r == 0 {
				c.tau[out] = float32(slownessAt(part, b, i))
			} else {
				c.tau[out] = float32(b.Time[i] / r)
			}
			out++
		}
	}
}

// slownessAt is the limit of τ at a position that is point i: the mean over its neighbours.
func slownessAt(g grid.Grid, b Branch, i int) float64 {
	sum, count := 0.0, 0.0
	for a, stride := range g.Strides() {
		var x [3]float64
		x[a] = g.Spacing[a]
		k, r := i/stride%g.Shape[a], b.reach(x[:g.Dim()])
		if k > 0 {
			sum, count = sum+b.Time[i-stride]/r, count+1
		}
		if k < g.Shape[a]-1 {
			sum, count = sum+b.Time[i+stride]/r, count+1
		}
	}
	if count == 0 {
		return 0
	}
	return sum / count
}

// unequal is for Unequal.
func (c *Coarse) unequal() bool { return Unequal(c.of) }

// rays is for Rays.
func (c *Coarse) rays(role survey.Role, slowness [][]float64, w Window) {
	Rays(c.of, role, slowness, w)
}

// Table returns that of a place from which its window w is interpolated.
func (c *Coarse) Table(p *survey.Positions, place int, w Window) (CoarseTable, error) {
	k, ok := c.places[rowOf(p, place)]
	if !ok {
		return k, fmt.Errorf("traveltime: %s %d has no coarse table", p.Role[place], p.Row[place])
	}
	if need := coarseWindow(c.coarse, c.g, w); !need.inside(k.Window) {
		return k, fmt.Errorf("traveltime: %s %d has a coarse table of the coarse columns %v, but %v are needed", p.Role[place], p.Row[place], k.Window, need)
	}
	return k, nil
}

// field interpolates τ and its slopes and makes T and ∇T of them.
func (c *Coarse) field(b *Branch, w Window, r *room, place int) error {
	k, err := c.Table(r.p, place, w)
	if err != nil {
		return err
	}
	c.r.apply(r.part, r.line, c.tau[k.First:][:c.points(k)], k.Window, w)
	b.home = c.homes[k.number]
	finish(*b, w, r.part, r.part[0], w, c.g, r.p.At(place), 1)
	return nil
}
