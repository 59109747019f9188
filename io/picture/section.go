package picture

import (
	"fmt"
	"math"
	"sort"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// Float is the element type of the arrays that can be drawn.
type Float interface{ ~float32 | ~float64 }

// Options steer a picture; the zero value is a good one.
type Options struct {
	Title  string
	Colors Colors
	Clip   float64 // percentile of |v| in (0, 100]; 0 means 99; models are clipped only when it is set
	Limit  float64 // |v| of an image or gather that gets full colour, instead of the percentile; 0 for none
	Bar    string  // label of a colour bar; "" means none for images, "velocity (m/s)" for models

	// Sources and Receivers are positions to mark, [n, dim] in C order, m.
	Sources, Receivers []float64

	// At is the point, m, through which the slices of a 3-D array are taken;
	// nil means the centre of the grid.
	At []float64
}

const defaultClip = 99

// Image draws an image on a grid: a section with x to the right and z down, or
// three slices when the grid has three axes. v is in C order, [nx, nz] or
// [nx, ny, nz]. A value that is NaN or infinite is an error.
func Image[T Float](g grid.Grid, v []T, opt Options) (*Figure, error) {
	if opt.Clip == 0 {
		opt.Clip = defaultClip
	}
	return onGrid(g, v, opt, false)
}

// Model draws a velocity model like Image does an image, with a sequential
// colour map over all its values and a colour bar in m/s.
func Model[T Float](g grid.Grid, v []T, opt Options) (*Figure, error) {
	if opt.Colors == Default {
		opt.Colors = Sequential
	}
	if opt.Bar == "" {
		opt.Bar = "velocity (m/s)"
	}
	return onGrid(g, v, opt, true)
}

func onGrid[T Float](g grid.Grid, v []T, opt Options, model bool) (*Figure, error) {
	if err := g.Validate(); err != nil {
		return nil, fmt.Errorf("picture: %w", err)
	}
	if len(v) != g.Len() {
		return nil, fmt.Errorf("picture: %d values for a grid of %d points (%v)", len(v), g.Len(), g.Shape)
	}
	if opt.Clip < 0 || opt.Clip > 100 || math.IsNaN(opt.Clip) {
		return nil, fmt.Errorf("picture: clip percentile is %g, must be in (0, 100]", opt.Clip)
	}
	vals, err := finite(v, func(i int) string {
		p := make([]float64, g.Dim())
		g.Point(p, i)
		return fmt.Sprintf("at %v m", p)
	})
	if err != nil {
		return nil, err
	}
	for _, m := range []struct {
		name string
		xyz  []float64
	}{{"sources", opt.Sources}, {"receivers", opt.Receivers}} {
		if len(m.xyz)%g.Dim() != 0 {
			return nil, fmt.Errorf("picture: %d coordinates of %s are not a multiple of %d", len(m.xyz), m.name, g.Dim())
		}
	}
	look := raster{colors: opt.Colors.table()}
	switch {
	case model && opt.Clip == 0:
		look.win = fullWindow(vals)
	case model:
		look.win = quantileWindow(vals, opt.Clip)
	default:
		look.win = opt.window(vals)
	}
	look.smooth = !model
	if g.Dim() == 3 {
		return threeSlices(g, vals, look, opt)
	}
	look.v, look.n0, look.n1 = vals, g.Shape[0], g.Shape[1]
	p := &panel{raster: &look, bar: opt.Bar, x: cells(g, 0), y: cells(g, 1)}
	p.w, p.h = 6.2, 4
	scale := ""
	if g.Shape[0] > 1 && g.Shape[1] > 1 {
		p.w, p.h, scale = fit(span1(p.x), span1(p.y))
	} else {
		scale = "not to scale"
	}
	p.addHead(opt.Title, look.win.note, scale)
	p.addMarks(opt, 2, 0, 1)
	return &Figure{rows: [][]*panel{{p}}}, nil
}

// finite converts to float32 and refuses NaN and what is or becomes infinite;
// where names the place of a value.
func finite[T Float](v []T, where func(i int) string) ([]float32, error) {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x)
		if f := float64(out[i]); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("picture: value %d (%s) is %g, must be finite in float32", i, where(i), float64(x))
		}
	}
	return out, nil
}

// cells is the axis across the cells of a grid axis, half a spacing beyond the
// first and last points.
func cells(g grid.Grid, a int) axis {
	h := g.Spacing[a]
	name := grid.AxisNames(g.Dim())[a]
	if name == "z" {
		name = "depth"
	}
	return axis{from: g.Coord(a, 0) - h/2, to: g.End(a) + h/2, label: name + " (m)"}
}

func span1(a axis) float64 { return math.Abs(a.to - a.from) }

// fit sizes a frame for lx by lz metres, in inches, true to scale where the
// section's shape allows it, and says so where it does not.
func fit(lx, lz float64) (w, h float64, note string) {
	const width, most, least, narrow = 6.2, 5.5, 1.3, 1.6
	w, h = width, width*lz/lx
	if h > most {
		h, w = most, most*lx/lz
	}
	switch {
	case h < least:
		// A long shallow section: stretch the depth by a round factor.
		e := roundUp(least / h)
		return w, h * e, "vertical exaggeration " + number(e) + "×"
	case w < narrow:
		e := roundUp(narrow / w)
		return w * e, h, "horizontal exaggeration " + number(e) + "×"
	}
	return w, h, ""
}

// roundUp gives the next of 1.5, 2, 3, 5 times a power of ten and so on.
func roundUp(v float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 1.5, 2, 3, 4, 5, 6, 8} {
		if v <= f*p*(1+1e-12) {
			return f * p
		}
	}
	return 10 * p
}

func (p *panel) addHead(title string, notes ...string) {
	if title != "" {
		p.titles = append(p.titles, title)
	}
	line := ""
	for _, n := range notes {
		if n != "" && line != "" {
			line += "; "
		}
		line += n
	}
	if line != "" {
		p.notes = append(p.notes, line)
	}
}

// addMarks puts the sources and receivers onto the panel; h and v are the
// coordinate columns of its axes.
func (p *panel) addMarks(opt Options, dim, h, v int) {
	for _, m := range []struct {
		marks
		xyz []float64
	}{
		{marks{name: "receivers", color: receiverColor}, opt.Receivers},
		{marks{name: "sources", color: sourceColor, star: true}, opt.Sources},
	} {
		for i := 0; i+dim <= len(m.xyz); i += dim {
			m.x, m.y = append(m.x, m.xyz[i+h]), append(m.y, m.xyz[i+v])
		}
		m.onMap = dim == 3
		if !m.onMap {
			sort.Stable(alongX(m.marks)) // thinning counts along the line
		}
		if len(m.x) > 0 {
			p.marks = append(p.marks, m.marks)
		}
	}
}
