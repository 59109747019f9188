package picture

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// lineColors tell apart up to five lines.
var lineColors = []color.RGBA{
	{31, 78, 180, 255}, {200, 60, 30, 255}, {30, 130, 60, 255}, {120, 60, 160, 255}, {110, 110, 110, 255},
}

// mostDots is the largest number of points for which a line has a dot at each point.
const mostDots = 41

// Line is a named line through points.
type Line struct {
	Name string
	X, Y []float64 // as many of each

	// Deviation is half the height of a band around each point, as many; nil for none. The axis
	// of y must not be logarithmic.
	Deviation []float64

	dashed bool // in the colour of the line before
	dots   bool // points that nothing joins
}

// Lines draws up to five lines, y on a logarithmic axis and ticks of x at whole numbers.
// Without a point, or with a y that is not above 0 and finite, they are an error.
func Lines(x, y string, opt Options, lines ...Line) (*Figure, error) {
	f, err := chart(axis{label: x, whole: true}, axis{label: y, log: true}, opt, lines)
	if err == nil {
		f.rows[0][0].keyLeft = !falling(lines)
	}
	return f, err
}

// Marks draws values of several things, y on a logarithmic axis: the things lie side by side,
// named, and X of up to five lines counts them from 0. The points are not joined. Points of
// one thing are next to each other in the order of the lines. Errors are the errors of Lines.
func Marks(names []string, y string, opt Options, lines ...Line) (*Figure, error) {
	x := axis{given: []plot.Tick{}}
	for i, name := range names {
		x.given = append(x.given, plot.Tick{Value: float64(i), Label: name})
	}
	lines = slices.Clone(lines)
	for i := range lines {
		l := &lines[i]
		l.dots, l.X = true, slices.Clone(l.X)
		for k := range l.X {
			l.X[k] += (float64(i) - float64(len(lines)-1)/2) / 10
		}
	}
	f, err := chart(x, axis{label: y, log: true}, opt, lines)
	if err == nil {
		p := f.rows[0][0]
		p.x.from, p.x.to = -0.5, float64(len(names))-0.5
		p.y.from *= math.Pow(p.y.from/p.y.to, 0.25) // room for the key
	}
	return f, err
}

// falling reports whether the highest point lies in the left half.
func falling(lines []Line) bool {
	from, to, at, most := math.Inf(1), math.Inf(-1), 0.0, math.Inf(-1)
	for _, l := range lines {
		for k, x := range l.X {
			if from, to = min(from, x), max(to, x); l.Y[k] > most {
				at, most = x, l.Y[k]
			}
		}
	}
	return at < (from+to)/2
}

// Spectra draws up to five lines, y in decibels.
func Spectra(x, y string, opt Options, lines ...Line) (*Figure, error) {
	return chart(axis{label: x}, axis{label: y}, opt, lines)
}

// Profiles draws up to five lines with their bands, below their names.
func Profiles(x, y string, opt Options, lines ...Line) (*Figure, error) {
	f, err := chart(axis{label: x}, axis{label: y}, opt, lines)
	if err == nil {
		p := f.rows[0][0]
		p.y.from += 0.07 * float64(len(lines)) * (p.y.from - p.y.to)
	}
	return f, err
}

// band is the outline of a line's band.
func (l *Line) band() (xy plotter.XYs) {
	for k, d := range l.Deviation {
		xy = append(xy, plotter.XY{X: l.X[k], Y: l.Y[k] + d})
	}
	for k := len(l.Deviation) - 1; k >= 0; k-- {
		xy = append(xy, plotter.XY{X: l.X[k], Y: l.Y[k] - l.Deviation[k]})
	}
	return xy
}

// chart draws lines on axes that span them.
func chart(x, y axis, opt Options, lines []Line) (*Figure, error) {
	if len(lines) == 0 || len(lines) > 2*len(lineColors) {
		return nil, fmt.Errorf("picture: %d lines, want 1 to %d", len(lines), len(lineColors))
	}
	p := newPanel(5.6, 3.4, x, y, opt.Title)
	from, to, least, most := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	color := -1
	for _, l := range lines {
		if !l.dashed {
			color++
		}
		if len(l.X) == 0 || len(l.X) != len(l.Y) {
			return nil, fmt.Errorf("picture: line %q has %d by %d points", l.Name, len(l.X), len(l.Y))
		}
		from, to = min(from, slices.Min(l.X)), max(to, slices.Max(l.X))
		least, most = min(least, slices.Min(l.Y)), max(most, slices.Max(l.Y))
		if l.Deviation != nil {
			if len(l.Deviation) != len(l.X) {
				return nil, fmt.Errorf("picture: line %q has %d points and %d deviations", l.Name, len(l.X), len(l.Deviation))
			}
			outline := l.band()
			for _, corner := range outline {
				least, most = min(least, corner.Y), max(most, corner.Y)
			}
			c := lineColors[color%len(lineColors)]
			p.plotters = append(p.plotters, &plotter.Polygon{XYs: []plotter.XYs{outline}, Color: pale(c)})
		}
		xy := make(plotter.XYs, len(l.X))
		for k := range xy {
			if v := l.Y[k]; y.log && (!(v > 0) || math.IsInf(v, 0)) {
				return nil, fmt.Errorf("picture: line %q: y is %g, must be above 0 and finite", l.Name, v)
			}
			xy[k] = plotter.XY{X: l.X[k], Y: l.Y[k]}
		}
		dot := draw.GlyphStyle{Color: lineColors[color%len(lineColors)], Radius: vg.Points(1.8), Shape: draw.CircleGlyph{}}
		if l.dots {
			dot.Radius = vg.Points(3)
			marks := &plotter.Scatter{XYs: xy, GlyphStyle: dot}
			p.plotters, p.key = append(p.plotters, bare{marks}), append(p.key, entry{l.Name, marks})
			continue
		}
		drawn := &plotter.Line{XYs: xy, LineStyle: draw.LineStyle{Color: dot.Color, Width: vg.Points(1.4)}}
		if l.dashed {
			drawn.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		}
		p.plotters, p.key = append(p.plotters, drawn), append(p.key, entry{l.Name, drawn})
		if len(xy) <= mostDots && !l.dashed {
			p.plotters = append(p.plotters, bare{&plotter.Scatter{XYs: xy, GlyphStyle: dot}})
		}
	}
	if from == to {
		from, to = from-1, to+1
	}
	p.x.from, p.x.to = from, to
	if y.log {
		least = min(least, most/2) // lines that hardly move still get an axis
		pad := math.Pow(most/least, 0.04)
		p.y.from, p.y.to = most*pad, least/pad
	} else {
		pad := cmp.Or(0.04*(most-least), 0.04*math.Abs(most), 1)
		p.y.from, p.y.to = most+pad, least-pad
	}
	return single(p, ""), nil
}

// pale is a colour through which others show.
func pale(c color.RGBA) color.Color { return color.NRGBA{c.R, c.G, c.B, 64} }

// bare is a plotter whose glyphs may reach over the frame, so that axes stay at it.
type bare struct{ plot.Plotter }

// History is the course of one solve: norms before the first iteration and
// after each.
type History struct {
	Name     string    // put before the names of its curves, "" for none
	Residual []float64 // [iterations + 1]
	Gradient []float64 // [iterations + 1], may be nil
}

// Convergence draws the norms of the residual (solid) and of the gradient (dashed)
// relative to their start, on a logarithmic axis, against the iteration. A norm that
// reached zero exactly has no place on that axis: the curve ends before it. A
// history that is empty, not finite or zero at its start is an error.
func Convergence(opt Options, histories ...History) (*Figure, error) {
	var lines []Line
	if len(histories) > len(lineColors) {
		return nil, fmt.Errorf("picture: convergence: %d histories, want 1 to %d", len(histories), len(lineColors))
	}
	for _, h := range histories {
		if h.Name != "" {
			h.Name += ": "
		}
		for _, q := range []struct {
			name   string
			v      []float64
			dashed bool
		}{{"residual", h.Residual, false}, {"gradient", h.Gradient, true}} {
			if q.v == nil && q.dashed {
				continue
			}
			l := Line{Name: h.Name + q.name, dashed: q.dashed}
			if err := l.relative(q.v); err != nil {
				return nil, fmt.Errorf("picture: convergence: %s: %w", l.Name, err)
			}
			lines = append(lines, l)
		}
	}
	return chart(axis{label: "iteration", whole: true}, axis{label: "norm relative to start", log: true}, opt, lines)
}

// relative sets the points of v over v[0] against the iteration, except zeros.
func (l *Line) relative(v []float64) error {
	if len(v) == 0 {
		return fmt.Errorf("no values")
	}
	for i, x := range v {
		switch {
		case math.IsNaN(x) || math.IsInf(x, 0) || x < 0:
			return fmt.Errorf("iteration %d is %g, must be finite and not negative", i, x)
		case i == 0 && x == 0:
			return fmt.Errorf("is zero at the start: there is nothing to converge")
		case x > 0:
			l.X, l.Y = append(l.X, float64(i)), append(l.Y, x/v[0])
		}
	}
	return nil
}

// Histogram draws counts in bins: bin i reaches from `from + i step` to `from +
// (i+1) step` on the axis x. Counts must not be negative.
func Histogram(from, step float64, count []int, x, y string, opt Options) (*Figure, error) {
	if len(count) == 0 || !(step > 0) || math.IsNaN(from-from) {
		return nil, fmt.Errorf("picture: histogram of %d bins of %g from %g", len(count), step, from)
	}
	h := &plotter.Histogram{FillColor: lineColors[0], LineStyle: draw.LineStyle{Color: lineColors[0], Width: vg.Points(0.5)}, Width: step}
	most := 1
	for i, n := range count {
		if n < 0 {
			return nil, fmt.Errorf("picture: histogram: bin %d is %d, must not be negative", i, n)
		}
		most = max(most, n)
		h.Bins = append(h.Bins, plotter.HistogramBin{Min: from + float64(i)*step, Max: from + float64(i+1)*step, Weight: float64(n)})
	}
	end := h.Bins[len(count)-1].Max
	p := newPanel(6.2, 2.6, axis{from: from, to: end, label: x}, axis{from: 1.08 * float64(most), to: 0, label: y, whole: true}, opt.Title)
	p.plotters = append(p.plotters, h)
	return single(p, ""), nil
}

// CountMap draws counts in bins of a plane, shape [nx, ny] in C order: x to the
// right, y upwards, true to scale where its shape allows it.
func CountMap(from, step [2]float64, shape [2]int, count []int, axes [2]string, opt Options) (*Figure, error) {
	nx, ny := shape[0], shape[1]
	if nx < 1 || ny < 1 || len(count) != nx*ny || !(step[0] > 0) || !(step[1] > 0) {
		return nil, fmt.Errorf("picture: map of %d counts, %d by %d bins of %g by %g", len(count), nx, ny, step[0], step[1])
	}
	v := make([]float32, len(count))
	for i, n := range count {
		v[i] = float32(n)
	}
	x := axis{from: from[0], to: from[0] + float64(nx)*step[0], label: axes[0]}
	y := axis{from: from[1] + float64(ny)*step[1], to: from[1], label: axes[1]}
	w, h, scale := fit(x.length(), y.length())
	p := newPanel(w, h, x, y, opt.Title, scale)
	p.raster = &raster{v: v, n0: nx, n1: ny, flip: true, win: fullWindow(v), colors: Sequential}
	return single(p, opt.Bar), nil
}

// Colours of places on a map.
var (
	sourceColor   = color.RGBA{R: 214, G: 39, B: 40, A: 255}
	receiverColor = color.RGBA{R: 31, G: 119, B: 230, A: 255}
)

// Plan draws sources and receivers from above, [n, 2] each, m: x to the right, y
// upwards.
func Plan(sources, receivers []float64, opt Options) (*Figure, error) {
	lo, hi := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for _, xy := range [][]float64{sources, receivers} {
		for i, v := range xy {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("picture: place %d lies at %g, must be finite", i/2, v)
			}
			lo[i%2], hi[i%2] = min(lo[i%2], v), max(hi[i%2], v)
		}
	}
	if len(sources)%2 != 0 || len(receivers)%2 != 0 || len(sources)+len(receivers) == 0 {
		return nil, fmt.Errorf("picture: places have %d and %d coordinates, want pairs", len(sources), len(receivers))
	}
	least := 0.02 * max(1, hi[0]-lo[0], hi[1]-lo[1]) // a line along an axis has no width
	for a := range lo {
		pad := max(least, 0.04*(hi[a]-lo[a]))
		lo[a], hi[a] = lo[a]-pad, hi[a]+pad
	}
	x, y := axis{from: lo[0], to: hi[0], label: "x (m)"}, axis{from: hi[1], to: lo[1], label: "y (m)"}
	w, h, scale := fit(x.length(), y.length())
	p := newPanel(w, h, x, y, opt.Title, readable.Count(len(sources)/2, "source")+" (red)", readable.Count(len(receivers)/2, "receiver")+" (blue)", scale)
	for _, m := range []struct {
		xy    []float64
		color color.RGBA
		shape draw.GlyphDrawer
	}{{receivers, receiverColor, draw.PyramidGlyph{}}, {sources, sourceColor, draw.CircleGlyph{}}} {
		places := &plotter.Scatter{GlyphStyle: draw.GlyphStyle{Color: m.color, Radius: vg.Points(2.4), Shape: m.shape}}
		for xy := range slices.Chunk(m.xy, 2) {
			places.XYs = append(places.XYs, plotter.XY{X: xy[0], Y: xy[1]})
		}
		p.plotters = append(p.plotters, bare{places})
	}
	return single(p, ""), nil
}
