// Package grid describes the regular grids of velocity models, traveltime tables and
// images.
//
// Axis i of an array is coordinate column i: an array of shape [nx, nz] (2-D) or
// [nx, ny, nz] (3-D) is stored in C order, so z is the fastest axis. Coordinates
// are in metres and z points down. In the time domain the last axis is two-way vertical time,
// in seconds, instead of z.
package grid

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// Grid is a regular grid of points: point (i, j, k) lies at
// Origin + (i, j, k)·Spacing. All three slices have length 2 or 3.
type Grid struct {
	Origin  []float64 // m, position of the first point
	Spacing []float64 // m, positive
	Shape   []int     // number of points on each axis
	Domain  Domain    // of the last axis, which in the time domain is in s
	Frame   *Frame    // of the horizontal axes in 3-D; nil: the map's, or not known
}

// Limits on grids and coordinates, m. Smaller cells and farther places come from a slip
// in units or a damaged file.
const (
	LeastSpacing    = 1e-9
	GreatestSpacing = 1e9
	Farthest        = 1e15 // of a coordinate from 0
)

// AxisNames are the names of the coordinate columns of positions with dim axes.
func AxisNames(dim int) []string {
	if dim == 2 {
		return []string{"x", "z"}
	}
	return []string{"x", "y", "z"}
}

// Dim is the number of axes, 2 or 3.
func (g Grid) Dim() int { return len(g.Shape) }

// Len is the number of points.
func (g Grid) Len() int {
	n := 1
	for _, s := range g.Shape {
		n *= s
	}
	return n
}

// Coord is the coordinate, in the axis's Unit, of point i on the given axis.
func (g Grid) Coord(axis, i int) float64 {
	return g.Origin[axis] + float64(i)*g.Spacing[axis]
}

// End is the coordinate, in the axis's Unit, of the last point on the given axis.
func (g Grid) End(axis int) float64 { return g.Coord(axis, g.Shape[axis]-1) }

// Strides are the distances, in elements, between neighbours along each axis.
func (g Grid) Strides() []int {
	st := make([]int, g.Dim())
	n := 1
	for a := g.Dim() - 1; a >= 0; a-- {
		st[a] = n
		n *= g.Shape[a]
	}
	return st
}

// Point writes the position of the point with C-order number n into p.
func (g Grid) Point(p []float64, n int) {
	for a := g.Dim() - 1; a >= 0; a-- {
		p[a] = g.Coord(a, n%g.Shape[a])
		n /= g.Shape[a]
	}
}

// Contains reports whether p lies on or inside the box spanned by the grid
// points, with a slack of a millionth of a cell for rounding.
func (g Grid) Contains(p []float64) bool {
	for a := range g.Shape {
		slack := 1e-6 * g.Spacing[a]
		if !(p[a] >= g.Origin[a]-slack && p[a] <= g.End(a)+slack) {
			return false
		}
	}
	return true
}

// Inside reports whether every point of g lies inside the box of outer.
func (g Grid) Inside(outer Grid) bool {
	if g.Dim() != outer.Dim() || g.Domain != outer.Domain {
		return false
	}
	end := make([]float64, g.Dim())
	g.Point(end, g.Len()-1)
	return outer.Contains(g.Origin) && outer.Contains(end)
}

// Equal reports whether two grids have the same domain and shape and, within a millionth
// of a cell, the same points. A grid without a frame may lie in any.
func (g Grid) Equal(o Grid) bool {
	if g.Domain != o.Domain || !slices.Equal(g.Shape, o.Shape) || g.Frame != nil && o.Frame != nil && !g.Frame.Equal(o.Frame) {
		return false
	}
	for a := range g.Shape {
		slack := 1e-6 * g.Spacing[a]
		if math.Abs(g.Origin[a]-o.Origin[a]) > slack || math.Abs(g.End(a)-o.End(a)) > slack {
			return false
		}
	}
	return true
}

// Validate returns an error that names what is wrong with the grid, or nil.
func (g Grid) Validate() error {
	dim := len(g.Shape)
	if dim != 2 && dim != 3 {
		return fmt.Errorf("grid: shape %v has %d axes, want 2 or 3", g.Shape, dim)
	}
	if len(g.Origin) != dim || len(g.Spacing) != dim {
		return fmt.Errorf("grid: origin %v and spacing %v must have %d values each, like shape %v",
			g.Origin, g.Spacing, dim, g.Shape)
	}
	if err := g.Frame.Validate(); err != nil {
		return fmt.Errorf("grid: %w", err)
	}
	total := 1
	for a, n := range g.Shape {
		name, unit := g.AxisName(a), g.Unit(a)
		if n < 1 {
			return fmt.Errorf("grid: shape along %s is %d, must be at least 1", name, n)
		}
		if total > math.MaxInt32/n {
			return fmt.Errorf("grid: shape %v has more than %d points", g.Shape, math.MaxInt32)
		}
		total *= n
		h, o := g.Spacing[a], g.Origin[a]
		switch {
		case !(h > 0):
			return fmt.Errorf("grid: spacing along %s is %g %s, must be positive", name, h, unit)
		case !(h >= LeastSpacing && h <= GreatestSpacing):
			return fmt.Errorf("grid: spacing along %s is %g %s, must be from %g to %g %s", name, h, unit, LeastSpacing, GreatestSpacing, unit)
		case !(math.Abs(o) <= Farthest):
			return fmt.Errorf("grid: origin along %s is %g %s, must be finite and at most %g %s from 0", name, o, unit, Farthest, unit)
		}
	}
	return nil
}

// String is a short description such as "401×301 points, 10×10 m", or "401×501 points,
// 10 m×0.004 s" in the time domain.
func (g Grid) String() string {
	return readable.Join("%d", "×", g.Shape) + " points, " + g.each("×", func(a int) string { return fmt.Sprintf("%g", g.Spacing[a]) })
}
