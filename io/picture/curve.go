package picture

import (
	"image"
	"image/color"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// curve is a line through points with a name for the key.
type curve struct {
	name   string
	x, y   []float64
	color  color.RGBA
	dashed bool
	dots   bool // a dot at each point
}

func (c curve) style() draw.LineStyle {
	s := draw.LineStyle{Color: c.color, Width: vg.Points(1.4)}
	if c.dashed {
		s.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	}
	return s
}

func (p *panel) drawCurve(pen *pen, r image.Rectangle, c curve) {
	var line []vg.Point
	for i := range c.x {
		x := float64(r.Min.X) + p.x.frac(c.x[i])*float64(r.Dx())
		y := float64(r.Min.Y) + p.y.frac(c.y[i])*float64(r.Dy())
		line = append(line, pen.at(x, y))
	}
	pen.c.StrokeLines(c.style(), line)
	if !c.dots {
		return
	}
	dot := draw.GlyphStyle{Color: c.color, Radius: vg.Points(1.8), Shape: draw.CircleGlyph{}}
	for _, pt := range line {
		pen.c.DrawGlyphNoClip(dot, pt)
	}
}

// drawKey names the curves in the upper right corner of the frame.
func (p *panel) drawKey(pen *pen, r image.Rectangle) {
	wide := 0
	for _, c := range p.curves {
		wide = max(wide, pen.width(tickSize, false, c.name))
	}
	const sample = 22.0 // points of line shown
	box := image.Rect(r.Max.X-wide-pts(sample+4*gap), r.Min.Y+pts(gap),
		r.Max.X-pts(gap), r.Min.Y+pts(2*gap)+len(p.curves)*lineHeight(tickSize))
	pen.fill(box, color.White)
	for i, c := range p.curves {
		y := float64(box.Min.Y+pts(gap/2)+i*lineHeight(tickSize)) + float64(lineHeight(tickSize))/2
		x := float64(box.Min.X + pts(gap))
		pen.c.StrokeLines(c.style(), []vg.Point{pen.at(x, y), pen.at(x+float64(pts(sample)), y)})
		pen.write(x+float64(pts(sample+gap)), y, tickSize, false, text.XLeft, c.name)
	}
}
