package picture

import (
	"fmt"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// ImageGather is what the images by class show below one point of the surface.
type ImageGather struct {
	Name   string    // of the point
	X      float64   // m
	Values []float32 // [classes, nz]
}

// Classes says what the classes of image gathers are.
type Classes struct {
	Name, Unit string    // such as offset, m
	Centers    []float64 // one a class
}

// ImageGathers draws gathers on a grid side by side, depth downward, on one scale:
// each with its classes from left to right. Gathers at equal steps have their x below
// them, others their number. A single one has its classes, or their number where these
// are not at equal steps. NaN is an error.
func ImageGathers(g grid.Grid, gathers []ImageGather, c Classes, opt Options) (*Figure, error) {
	if opt.Clip == 0 {
		opt.Clip = defaultClip
	}
	z := g.Dim() - 1
	n, nz, count := len(c.Centers), g.Shape[z], len(gathers)
	if count == 0 || n == 0 {
		return nil, fmt.Errorf("picture: %d image gathers of %d classes: nothing to draw", count, n)
	}
	var all []float32
	var at []float64
	var names []string
	for _, gather := range gathers {
		if len(gather.Values) != n*nz {
			return nil, fmt.Errorf("picture: image gather %s has %d values for %d classes of %d depths", gather.Name, len(gather.Values), n, nz)
		}
		v, err := finite(gather.Values, func(i int) string { return fmt.Sprintf("%s, class %d, depth %d", gather.Name, i/nz, i%nz) })
		if err != nil {
			return nil, err
		}
		all, at, names = append(all, v...), append(at, gather.X), append(names, gather.Name)
	}
	r := &raster{win: opt.window(all), colors: opt.Colors.table()}
	r.array = array{v: all, n0: count * n, n1: nz}
	p := &panel{w: min(6.2, 0.6+1.2*float64(count)), h: 4, raster: r, bar: opt.Bar, y: cells(g, z)}
	classes := fmt.Sprintf("%s %s to %s %s from left to right in each", c.Name, coordinate(c.Centers[0]), coordinate(c.Centers[n-1]), c.Unit)
	step, ok := even(at)
	switch {
	case count == 1:
		p.x, classes = c.axis(), names[0]
	case ok && step > 0:
		p.x = axis{from: at[0] - step/2, to: at[count-1] + step/2, label: "x (m)"}
	default:
		p.x = axis{from: -0.5, to: float64(count) - 0.5, label: "gather", whole: true}
		classes += ": " + strings.Join(names, "; ")
	}
	for k := 1; k < count; k++ {
		p.guides = append(p.guides, guide{true, p.x.from + float64(k)*(p.x.to-p.x.from)/float64(count)})
	}
	p.addHead(opt.Title, r.win.note, classes)
	return &Figure{rows: [][]*panel{{p}}}, nil
}

// axis is the one across the classes.
func (c Classes) axis() axis {
	n := len(c.Centers)
	if step, ok := even(c.Centers); ok {
		return axis{from: c.Centers[0] - step/2, to: c.Centers[n-1] + step/2, label: fmt.Sprintf("%s (%s)", c.Name, c.Unit)}
	}
	return axis{from: -0.5, to: float64(n) - 0.5, label: c.Name + " class", whole: true}
}
