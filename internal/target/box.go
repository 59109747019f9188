package target

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
)

// Box is a part of the points of a grid: along axis a the Count[a] points from
// First[a] on.
type Box struct{ First, Count []int }

// ParseWindow reads a window of a grid: for each axis the smallest and the largest
// coordinate, "lo:hi", in the units of the grid, separated by commas. A limit that is left
// out is the grid's end.
func ParseWindow(text string, g grid.Grid) (Box, error) {
	parts := strings.Split(text, ",")
	if len(parts) != g.Dim() {
		return Box{}, fmt.Errorf("window %q has %d ranges lo:hi, the image has %d axes", text, len(parts), g.Dim())
	}
	w := Box{make([]int, g.Dim()), make([]int, g.Dim())}
	for a, part := range parts {
		low, high, ok := strings.Cut(part, ":")
		if !ok {
			return w, fmt.Errorf("window %q: %q along %s is not a range lo:hi", text, part, g.AxisName(a))
		}
		lo, hi := g.Origin[a], g.End(a)
		for _, limit := range []struct {
			text string
			to   *float64
		}{{low, &lo}, {high, &hi}} {
			if limit.text == "" {
				continue
			}
			v, err := strconv.ParseFloat(strings.TrimSpace(limit.text), 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				return w, fmt.Errorf("window %q: %q along %s is not a number", text, limit.text, g.AxisName(a))
			}
			*limit.to = v
		}
		const near = 1e-6 // of a step: a limit that rounding has moved off its point
		first := counts.Near(math.Ceil((lo-g.Origin[a])/g.Spacing[a]-near), 0, g.Shape[a])
		last := counts.Near(math.Floor((hi-g.Origin[a])/g.Spacing[a]+near), -1, g.Shape[a]-1)
		if first > last {
			return w, fmt.Errorf("window %q holds no point along %s: the image has points every %s %s from %s to %s",
				text, g.AxisName(a), g.Text(a, g.Spacing[a]), g.Unit(a), g.Text(a, g.Origin[a]), g.Text(a, g.End(a)))
		}
		w.First[a], w.Count[a] = first, last-first+1
	}
	return w, nil
}

// Len is the number of points.
func (b Box) Len() int {
	n := 1
	for _, c := range b.Count {
		n *= c
	}
	return n
}

// Grow is the box with a frame of the given points, as far as the grid goes.
func (b Box) Grow(frame int, g grid.Grid) Box {
	out := Box{slices.Clone(b.First), slices.Clone(b.Count)}
	for a, n := range g.Shape {
		out.First[a] = max(0, b.First[a]-frame)
		out.Count[a] = min(n, b.First[a]+b.Count[a]+frame) - out.First[a]
	}
	return out
}

// Grid is the grid of the box's points.
func (b Box) Grid(g grid.Grid) grid.Grid {
	out := g
	out.Origin, out.Shape = make([]float64, g.Dim()), slices.Clone(b.Count)
	for a, first := range b.First {
		out.Origin[a] = g.Coord(a, first)
	}
	return out
}

// Points are the numbers of the box's points in an array of a shape, in C order.
func (b Box) Points(shape []int) []int {
	points := []int{0}
	for a, n := range shape {
		var next []int
		for _, p := range points {
			for i := range b.Count[a] {
				next = append(next, p*n+b.First[a]+i)
			}
		}
		points = next
	}
	return points
}

// In is the box as seen from another that holds it.
func (b Box) In(o Box) Box {
	out := Box{slices.Clone(b.First), b.Count}
	for a := range out.First {
		out.First[a] -= o.First[a]
	}
	return out
}

// Text is the size of the box, such as "64 × 64 points".
func (b Box) Text() string {
	var axes []string
	for _, n := range b.Count {
		axes = append(axes, strconv.Itoa(n))
	}
	return strings.Join(axes, " × ") + " points"
}
