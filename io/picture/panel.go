package picture

import (
	"image"
	"image/color"
	stddraw "image/draw"
	"math"
	"slices"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// dpi is the resolution of every picture: sharp in print at column width, and
// still a small file.
const dpi = 200

// px converts inches to whole pixels.
func px(inches float64) int { return int(math.Round(inches * dpi)) }

// pts converts typographic points to whole pixels.
func pts(points float64) int { return px(points / 72) }

// Sizes in points.
const (
	titleSize = 11.0
	labelSize = 10.0
	tickSize  = 9.0
	noteSize  = 8.0
	gap       = 4.0 // between neighbouring pieces
)

// panel is one framed drawing with its axes: a raster, what plotters draw, or both.
type panel struct {
	w, h  float64  // of the framed area, inches
	title string   // bold, above
	notes []string // small, below the title
	x, y  axis

	raster   *raster
	plotters []plot.Plotter
	key      []entry // named in the frame
	keyLeft  bool    // in its upper left corner, otherwise in the right one
}

// entry is a plotted line with its name.
type entry struct {
	name string
	plot.Thumbnailer
}

// newPanel makes a panel with a title and, on one line, those of the notes that are not empty.
func newPanel(w, h float64, x, y axis, title string, notes ...string) *panel {
	return &panel{w: w, h: h, x: x, y: y, title: title, notes: oneLine(notes...)}
}

// oneLine puts the notes that are not empty on one line; nil without any.
func oneLine(notes ...string) []string {
	notes = slices.DeleteFunc(notes, func(n string) bool { return n == "" })
	if len(notes) == 0 {
		return nil
	}
	return []string{strings.Join(notes, "; ")}
}

// bar is the colour bar of a panel with a raster.
func (p *panel) bar(label string) *panel {
	ramp, of := make([]float32, 256), p.raster
	if of.under != nil {
		of = of.under
	}
	win := of.win
	for i := range ramp {
		ramp[i] = float32(win.hi + (win.lo-win.hi)*(float64(i)+0.5)/float64(len(ramp)))
	}
	b := &panel{w: 10.0 / 72, h: p.h, x: axis{from: 0, to: 1, given: []plot.Tick{}}, y: axis{from: win.hi, to: win.lo, label: label}}
	b.raster = &raster{v: ramp, n0: 1, n1: len(ramp), win: win, colors: of.colors}
	return b
}

// guides adds thin lines across the frame, one at x and one at y.
func (p *panel) guides(x, y float64) {
	thin := draw.LineStyle{Color: color.RGBA{R: 200, G: 30, B: 30, A: 255}, Width: vg.Points(0.7), Dashes: []vg.Length{vg.Points(3), vg.Points(3)}}
	for _, ends := range []plotter.XYs{{{X: x, Y: p.y.from}, {X: x, Y: p.y.to}}, {{X: p.x.from, Y: y}, {X: p.x.to, Y: y}}} {
		p.plotters = append(p.plotters, &plotter.Line{XYs: ends, LineStyle: thin})
	}
}

func style(size float64, bold bool) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return text.Style{Color: color.Black, Font: f, Handler: plot.DefaultTextHandler}
}

func lineHeight(size float64) int { return pts(1.25 * size) }

// plot is the panel as gonum draws it.
func (p *panel) plot() *plot.Plot {
	q := plot.New()
	q.BackgroundColor = nil // the raster lies below
	for _, a := range []*plot.Axis{&q.X, &q.Y} {
		a.Padding, a.Width = 0, 0 // the frame is drawn around the raster
		a.Tick.Length = vg.Points(gap)
		a.Label.Padding = vg.Points(gap / 2)
		a.Label.TextStyle.Font, a.Tick.Label.Font = style(labelSize, false).Font, style(tickSize, false).Font
	}
	q.Add(p.plotters...)
	p.x.apply(&q.X, p.w, 0.95)
	p.y.apply(&q.Y, p.h, 0.55)
	if p.y.from < p.y.to {
		q.Y.Scale = plot.InvertedScale{Normalizer: q.Y.Scale}
	}
	q.Legend.Top, q.Legend.Left = true, p.keyLeft
	q.Legend.XOffs, q.Legend.YOffs, q.Legend.Padding = vg.Points(-2*gap), vg.Points(-gap), vg.Points(gap/2)
	if p.keyLeft {
		q.Legend.XOffs = vg.Points(2 * gap)
	}
	q.Legend.TextStyle.Font = style(tickSize, false).Font
	for _, k := range p.key {
		q.Legend.Add(k.name, k)
	}
	return q
}

// around is the canvas on which a plot draws its data into the given frame. The space
// that axes take depends a little on the size of the canvas.
func around(q *plot.Plot, frame draw.Canvas) draw.Canvas {
	c := frame
	for range 4 {
		d := q.DataCanvas(c)
		c.Min = c.Min.Add(frame.Min.Sub(d.Min))
		c.Max = c.Max.Add(frame.Max.Sub(d.Max))
	}
	return c
}

// spans are the sizes of the panel across and down: the framed area, with axes and texts
// around it.
func (p *panel) spans() (across, down span) {
	frame := vg.Rectangle{Max: vg.Point{X: vg.Length(p.w) * vg.Inch, Y: vg.Length(p.h) * vg.Inch}}
	c := around(p.plot(), draw.Canvas{Rectangle: frame})
	up := func(l vg.Length) int { return int(math.Ceil(l.Dots(dpi))) }
	return span{up(-c.Min.X), px(p.w), up(c.Max.X - frame.Max.X)},
		span{max(up(c.Max.Y-frame.Max.Y), pts(gap)) + p.headHeight(), px(p.h), up(-c.Min.Y)}
}

func (p *panel) headHeight() int {
	h := len(p.notes) * lineHeight(noteSize)
	if p.title != "" {
		h += lineHeight(titleSize)
	}
	return h
}

// overhang is how far the lines above the frame reach beyond its right edge.
func (p *panel) overhang() int {
	w := style(titleSize, true).Width(p.title)
	for _, s := range p.notes {
		w = max(w, style(noteSize, false).Width(s))
	}
	return int(math.Ceil(w.Dots(dpi))) - px(p.w)
}

// canvas is a picture in the making.
type canvas struct {
	img *image.RGBA
	draw.Canvas
}

func newCanvas(w, h int) *canvas {
	c := vgimg.NewWith(vgimg.UseDPI(dpi), vgimg.UseImage(image.NewRGBA(image.Rect(0, 0, w, h))))
	return &canvas{c.Image().(*image.RGBA), draw.New(c)} // c draws on a copy of the image it is given
}

// at converts pixels from the upper left corner to lengths from the lower left one.
func (c *canvas) at(x, y float64) vg.Point {
	return vg.Point{X: vg.Points(x * 72 / dpi), Y: vg.Points((float64(c.img.Rect.Dy()) - y) * 72 / dpi)}
}

// draw puts the panel onto the picture with its framed area at r.
func (p *panel) draw(c *canvas, r image.Rectangle) {
	if p.raster != nil {
		p.raster.paint(c.img, r)
	}
	frame := draw.Canvas{Canvas: c.Canvas.Canvas, Rectangle: vg.Rectangle{
		Min: c.at(float64(r.Min.X), float64(r.Max.Y)), Max: c.at(float64(r.Max.X), float64(r.Min.Y))}}
	q := p.plot()
	whole := around(q, frame)
	beyond := whole.Max.Sub(frame.Max) // gonum places the key in the whole canvas
	q.Legend.YOffs -= beyond.Y
	if !p.keyLeft {
		q.Legend.XOffs -= beyond.X
	}
	q.Draw(whole)
	for _, side := range []image.Rectangle{ // outside r, so that it hides no sample
		image.Rect(r.Min.X-2, r.Min.Y-2, r.Max.X+2, r.Min.Y), image.Rect(r.Min.X-2, r.Max.Y, r.Max.X+2, r.Max.Y+2),
		image.Rect(r.Min.X-2, r.Min.Y, r.Min.X, r.Max.Y), image.Rect(r.Max.X, r.Min.Y, r.Max.X+2, r.Max.Y),
	} {
		stddraw.Draw(c.img, side, image.Black, image.Point{}, stddraw.Src)
	}
	p.drawHeads(c, r, max(int(math.Ceil(beyond.Y.Dots(dpi))), pts(gap)))
}

// drawHeads writes title and notes at the given number of pixels above the frame.
func (p *panel) drawHeads(c *canvas, r image.Rectangle, above int) {
	y := r.Min.Y - above - p.headHeight()
	write := func(size float64, bold bool, s string) {
		st := style(size, bold)
		st.YAlign = text.YCenter
		c.FillText(st, c.at(float64(r.Min.X), float64(y+lineHeight(size)/2)), s)
		y += lineHeight(size)
	}
	if p.title != "" {
		write(titleSize, true, p.title)
	}
	for _, s := range p.notes {
		write(noteSize, false, s)
	}
}
