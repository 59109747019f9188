package picture

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// Times says how the samples of a trace lie in time.
type Times struct {
	NT     int     // samples per trace
	DT, T0 float64 // s
}

// Gather draws traces side by side, time downward. data is [ntrace, NT] in C
// order. offset is in m, one value per trace, or has the quantity of Options.Across. If traces have
// equal steps, it is the horizontal axis. Otherwise the axis is the trace number, with the range of
// offsets in a note. nil means trace numbers from 0. NaN is an error.
func Gather[T Float](data []T, ts Times, offset []float64, opt Options) (*Figure, error) {
	if ts.NT < 1 || len(data) == 0 || len(data)%ts.NT != 0 {
		return nil, fmt.Errorf("picture: gather: %d samples are no whole number of traces of %d", len(data), ts.NT)
	}
	if !(ts.DT > 0) {
		return nil, fmt.Errorf("picture: gather: dt is %g s, must be positive", ts.DT)
	}
	n := len(data) / ts.NT
	if offset != nil && len(offset) != n {
		return nil, fmt.Errorf("picture: gather: %d offsets for %d traces", len(offset), n)
	}
	vals, err := finite(data, func(i int) string { return fmt.Sprintf("trace %d, sample %d", i/ts.NT, i%ts.NT) })
	if err != nil {
		return nil, err
	}
	r := &raster{v: vals, n0: n, n1: ts.NT, smooth: true, colors: opt.Colors}
	x := axis{from: -0.5, to: float64(n) - 0.5, label: "trace number", whole: true}
	y := axis{from: ts.T0 - ts.DT/2, to: ts.T0 + (float64(ts.NT)-0.5)*ts.DT, label: "time (s)"}
	note, across := "", cmp.Or(opt.Across, "offset")
	if step, ok := even(offset); ok {
		x = axis{from: offset[0] - step/2, to: offset[n-1] + step/2, label: across + " (m)"}
		if step < 0 {
			traces := slices.Collect(slices.Chunk(vals, ts.NT))
			slices.Reverse(traces)
			r.v = slices.Concat(traces...)
			x.from, x.to = x.to, x.from
		}
	} else if offset != nil {
		note = fmt.Sprintf("%ss %s to %s m", across, coordinate(slices.Min(offset)), coordinate(slices.Max(offset)))
	}
	return opt.section(r, x, y, false, func(axis, axis) (float64, float64, string) { return 4.2, 4.6, "" }, note)
}

// even reports the step of equally spaced offsets, with a slack of a
// hundredth of a step for the rounding of field coordinates.
func even(offset []float64) (step float64, ok bool) {
	n := len(offset)
	if n < 2 {
		return 0, false
	}
	step = (offset[n-1] - offset[0]) / float64(n-1)
	for i, o := range offset {
		if !(math.Abs(o-offset[0]-float64(i)*step) <= 0.01*math.Abs(step)) {
			return 0, false
		}
	}
	return step, step != 0
}

// ImageGather shows the images by class below one point of the surface.
type ImageGather struct {
	Name   string    // of the point, its parts between commas: each has a line
	Values []float32 // [classes, nz]
}

// Classes says what the classes of image gathers are.
type Classes struct {
	Name, Unit string    // such as offset, m
	Centers    []float64 // one a class
}

// Widths of image gathers in inches: of one at least, and of all where they are few.
const (
	leastGather = 0.75
	mostGathers = 6.2
)

// ImageGathers draws gathers on a grid side by side, depth downward, on one scale: each
// with its name above, and its classes from left to right with their centres below. NaN
// is an error.
func ImageGathers(g grid.Grid, gathers []ImageGather, c Classes, opt Options) (*Figure, error) {
	z := g.Dim() - 1
	n, nz, count := len(c.Centers), g.Shape[z], len(gathers)
	if count == 0 || n == 0 {
		return nil, fmt.Errorf("picture: %d image gathers of %d classes: nothing to draw", count, n)
	}
	w := max(min(mostGathers, 0.6+1.2*float64(count)), leastGather*float64(count))
	x := axis{from: 0, to: float64(count), label: fmt.Sprintf("%s (%s)", c.Name, c.Unit), given: []plot.Tick{}}
	whole, depth := cells(g, z), cells(g, z)
	if opt.Window != nil {
		if len(opt.Window) != 4 {
			return nil, fmt.Errorf("%w: the window %v has %d ends, want 4", ErrOption, opt.Window, len(opt.Window))
		}
		opt.Window = []float64{x.from, x.to, opt.Window[2], opt.Window[3]} // only of depths
		across := x
		if err := opt.crop(&raster{v: make([]float32, nz), n0: 1, n1: nz}, &across, &depth); err != nil {
			return nil, err
		}
	}
	top, above := depth.from, style(noteSize, false)
	above.XAlign, above.YAlign = text.XCenter, text.YBottom
	var all []float32
	names := plotter.Labels{Offset: vg.Point{Y: vg.Points(gap)}}
	var between []plot.Plotter
	for k, gather := range gathers {
		if len(gather.Values) != n*nz {
			return nil, fmt.Errorf("picture: image gather %s has %d values for %d classes of %d depths", gather.Name, len(gather.Values), n, nz)
		}
		v, err := finite(gather.Values, func(i int) string { return fmt.Sprintf("%s, class %d, depth %d", gather.Name, i/nz, i%nz) })
		if err != nil {
			return nil, err
		}
		all = append(all, v...)
		for _, t := range c.ticks(w / float64(count)) {
			x.given = append(x.given, plot.Tick{Value: float64(k) + t.Value, Label: t.Label})
		}
		// Labels that rounding puts outside of the frame would not be drawn.
		names.XYs = append(names.XYs, plotter.XY{X: float64(k) + 0.5, Y: top + 1e-9*depth.length()})
		names.Labels = append(names.Labels, strings.ReplaceAll(gather.Name, ", ", "\n"))
		names.TextStyle = append(names.TextStyle, above)
		if k > 0 {
			at := plotter.XYs{{X: float64(k), Y: top}, {X: float64(k), Y: depth.to}}
			between = append(between, &plotter.Line{XYs: at, LineStyle: plotter.DefaultLineStyle})
		}
	}
	r := &raster{v: all, n0: count * n, n1: nz, colors: opt.Colors}
	across := x
	if err := opt.crop(r, &across, &whole); err != nil {
		return nil, err
	}
	win, err := opt.window(r.v, false)
	if err != nil {
		return nil, err
	}
	r.win = win
	p := newPanel(w, 4, x, depth, opt.Title, r.win.note)
	p.raster, p.plotters = r, append(between, &names)
	return single(p, opt.Bar), nil
}

// ticks are the ticks of one gather of the given width in inches, at fractions of its
// width. There is one per class, labelled with the centres of evenly spaced ones that
// fit, also between neighbouring gathers.
func (c Classes) ticks(width float64) []plot.Tick {
	n := len(c.Centers)
	ticks, each, room := make([]plot.Tick, n), width/float64(n), 0.0
	for i, center := range c.Centers {
		ticks[i] = plot.Tick{Value: (float64(i) + 0.5) / float64(n), Label: coordinate(center)}
		room = max(room, textWidth(ticks[i].Label))
	}
	step := min(n, int(math.Ceil(room/each)))
	edge := max(0, int(math.Ceil(room/2/each-0.5))) // classes whose text would reach beyond the gather
	first := edge + max(0, n-1-2*edge)%step/2       // in the middle of those that are left
	for i := range ticks {
		if outside := i < edge || i >= n-edge; i%step != first%step || outside && n > 2*edge {
			ticks[i].Label = ""
		}
	}
	return ticks
}

// textWidth is the approximate width of a tick's text with a space on either side, in
// inches.
func textWidth(s string) float64 { return 0.07*float64(utf8.RuneCountInString(s)) + 0.1 }
