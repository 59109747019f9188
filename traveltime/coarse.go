package traveltime

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Coarse keeps the tables of another method at every second (third, …) point of
// each axis and interpolates between them: a quarter of the memory in 2-D at
// factor 2, an eighth in 3-D, for tables that are needed again and again and
// cost more to solve than to interpolate.
//
// What is kept and interpolated, cubically, is τ = T/R with R the distance from the
// position: smooth where T has its tip. Gradients are those of the interpolant.
type Coarse struct {
	placewise // with the name of the method whose tables these are
	coarse    grid.Grid
	r         *resample
	tau       map[row][]float32 // [coarse.Len()], s/m
}

// row names a place by where it comes from, since callers number their own.
type row struct {
	role survey.Role
	row  int32
}

func rowOf(p *survey.Positions, place int) row { return row{p.Role[place], p.Row[place]} }

// CoarseBytes is the memory that the tables of one place take at a factor.
func CoarseBytes(g grid.Grid, factor int) int64 { return 4 * int64(coarsened(g, factor).Len()) }

// coarsened is the grid of every factor-th point. Points beyond its last one, less
// than a coarse cell away, are extrapolated.
func coarsened(g grid.Grid, factor int) grid.Grid {
	c := grid.Grid{Origin: slices.Clone(g.Origin), Spacing: slices.Clone(g.Spacing), Shape: slices.Clone(g.Shape)}
	for a, n := range g.Shape {
		if cells := (n - 1) / factor; cells > 0 {
			c.Shape[a] = cells + 1
			c.Spacing[a] *= float64(factor)
		}
	}
	return c
}

// NewCoarse solves for all of p's places by m and keeps every factor-th point. Later
// positions must be among these places, by role and row.
func NewCoarse(ctx context.Context, m Method, p *survey.Positions, factor int, opt Options) (*Coarse, error) {
	if factor < 1 {
		return nil, fmt.Errorf("traveltime: coarse tables keep every %d-th point, must be at least 1", factor)
	}
	g := m.Grid()
	c := &Coarse{coarse: coarsened(g, factor), tau: make(map[row][]float32, p.Len())}
	c.placewise = placewise{m.Name(), g, c.field}
	var err error
	if c.r, err = newResample(c.coarse, g); err != nil {
		return nil, err
	}
	places := make([]int, p.Len())
	n := c.coarse.Len()
	tau := make([]float32, p.Len()*n) // at once: nothing is lost between two
	for i := range places {
		places[i] = i
		c.tau[rowOf(p, i)] = tau[i*n : (i+1)*n]
	}
	opt.Gradient = false
	err = m.Solve(ctx, p, places, opt, func(place int, f Field) error {
		c.keep(c.tau[rowOf(p, place)], f.Time, p.At(place))
		return nil
	})
	return c, err
}

// keep stores τ at the coarse points.
func (c *Coarse) keep(tau []float32, t, at []float64) {
	dim := c.g.Dim()
	var x [3]float64
	strides := c.g.Strides()
	for n := range tau {
		c.coarse.Point(x[:dim], n)
		i, r2, rest := 0, 0.0, n
		for a := dim - 1; a >= 0; a-- {
			k := rest % c.coarse.Shape[a]
			rest /= c.coarse.Shape[a]
			i += int(math.Round(float64(k)*c.coarse.Spacing[a]/c.g.Spacing[a])) * strides[a]
			r2 += (x[a] - at[a]) * (x[a] - at[a])
		}
		if r2 == 0 {
			tau[n] = float32(slownessAt(c.g, t, i))
			continue
		}
		tau[n] = float32(t[i] / math.Sqrt(r2))
	}
}

// slownessAt is the limit of τ at a position that is point i: the mean of T/R
// over its neighbours.
func slownessAt(g grid.Grid, t []float64, i int) float64 {
	sum, count := 0.0, 0.0
	for a, stride := range g.Strides() {
		k := i / stride % g.Shape[a]
		if k > 0 {
			sum, count = sum+t[i-stride]/g.Spacing[a], count+1
		}
		if k < g.Shape[a]-1 {
			sum, count = sum+t[i+stride]/g.Spacing[a], count+1
		}
	}
	if count == 0 {
		return 0
	}
	return sum / count
}

// ScratchBytes implements Method: a field, and as many arrays of τ and its slopes.
func (c *Coarse) ScratchBytes(gradient bool) int64 {
	return c.placewise.ScratchBytes(gradient) * (8 + 4) / 8
}

// field interpolates τ and its slopes and makes T and ∇T of them.
func (c *Coarse) field(r *room, p *survey.Positions, place int) error {
	tau, ok := c.tau[rowOf(p, place)]
	if !ok {
		return fmt.Errorf("traveltime: %s %d has no coarse table", p.Role[place], p.Row[place])
	}
	if r.part == nil {
		for range 1 + len(r.out.Gradient) {
			r.part = append(r.part, take[float32](&r.scratch, c.g.Len()))
		}
		r.line = make([]float32, c.coarse.Shape[c.g.Dim()-1])
	}
	if r.err != nil {
		return r.err
	}
	c.r.apply(r.part, r.line, tau)
	finish(r.out, r.part, r.part[0], c.g, p.At(place), 1)
	return nil
}

// CoarseScratchBytes is the memory that one worker of Coarse.Solve holds without
// gradients.
func CoarseScratchBytes(g grid.Grid) int64 { return (8 + 4) * int64(g.Len()) }
