package picture

import (
	"image"
	"image/color"

	"gonum.org/v1/plot/text"
)

// panel is one framed drawing with its axes: a raster, curves, or both.
type panel struct {
	w, h   float64  // of the framed area, inches
	titles []string // bold, above
	notes  []string // small, below the titles
	heads  []head   // small, right above the frame
	x, y   axis

	raster *raster
	bar    string // label of the colour bar, "" for none
	curves []curve
	marks  []marks
	guides []guide
}

// raster is an array with the way its values become colours.
type raster struct {
	array
	win    window
	colors *lut
}

// head is a text above a part of the frame, centred at a fraction of its width.
type head struct {
	at    float64
	lines []string
}

// guide is a thin line across a panel at a value of x or y: dashed and red, or solid.
type guide struct {
	alongY bool
	at     float64
	solid  bool
}

// Widths in points.
const (
	barWidth = 10.0
	barGap   = 8.0
)

// ticks of the two axes and of the colour bar.
func (p *panel) xTicks() []tick { return p.x.ticks(p.w, 0.95) }
func (p *panel) yTicks() []tick { return p.y.ticks(p.h, 0.55) }
func (p *panel) barAxis() axis {
	return axis{from: p.raster.win.hi, to: p.raster.win.lo}
}
func (p *panel) barTicks() []tick { return p.barAxis().ticks(p.h, 0.45) }

// margins are the pixels around the framed area that the furniture takes.
type margins struct{ left, right, top, bottom int }

func (p *panel) margins(f *fonts) margins {
	m := margins{
		left:   pts(lineWidth+tickLong+gap/2) + widest(f, p.yTicks()) + pts(gap) + lineHeight(labelSize),
		right:  pts(lineWidth),
		top:    pts(lineWidth+gap) + len(p.titles)*lineHeight(titleSize) + p.noteLines()*lineHeight(noteSize),
		bottom: pts(lineWidth+tickLong+gap/2) + lineHeight(tickSize) + lineHeight(labelSize) + pts(gap/2),
	}
	if len(p.marks) > 0 {
		m.top += pts(markRadius) // stars may stand on the frame
	}
	for _, t := range p.xTicks() {
		// The last label may reach past the frame.
		over := int((t.at-1)*float64(px(p.w))) + f.width(tickSize, false, t.text)/2
		m.right = max(m.right, over)
	}
	if p.bar != "" {
		m.right = pts(barGap+barWidth+lineWidth+tickLong+gap/2) + widest(f, p.barTicks()) + pts(gap) + lineHeight(labelSize)
	}
	return m
}

// overhang is how far the lines above the frame reach beyond its right edge.
func (p *panel) overhang(f *fonts) int {
	w := 0
	for _, s := range p.titles {
		w = max(w, f.width(titleSize, true, s))
	}
	for _, s := range p.notes {
		w = max(w, f.width(noteSize, false, s))
	}
	for _, m := range p.marks {
		w = max(w, m.keyWidth(f, p))
	}
	return w - px(p.w)
}

func (p *panel) noteLines() int { return len(p.notes) + len(p.marks) + p.headLines() }

func (p *panel) headLines() (most int) {
	for _, h := range p.heads {
		most = max(most, len(h.lines))
	}
	return most
}

func widest(f *fonts, ticks []tick) int {
	w := 0
	for _, t := range ticks {
		w = max(w, f.width(tickSize, false, t.text)+f.width(exponentSize, false, t.exponent))
	}
	return w
}

const exponentSize = 0.7 * tickSize

// draw puts the panel onto the picture with its framed area at r.
func (p *panel) draw(pen *pen, r image.Rectangle) {
	if p.raster != nil {
		p.raster.paint(pen.img, r, p.raster.win, p.raster.colors)
	}
	for _, g := range p.guides {
		p.drawGuide(pen, r, g)
	}
	for _, c := range p.curves {
		p.drawCurve(pen, r, c)
	}
	pen.frame(r)
	p.drawX(pen, r)
	drawY(pen, r, p.yTicks(), p.y.label, false)
	if p.bar != "" {
		p.drawBar(pen, r)
	}
	for _, m := range p.marks {
		p.drawMarks(pen, r, m)
	}
	if len(p.curves) > 0 {
		p.drawKey(pen, r)
	}
	p.drawHead(pen, r)
}

func (p *panel) drawHead(pen *pen, r image.Rectangle) {
	y := r.Min.Y - p.margins(pen.fonts).top
	x := float64(r.Min.X)
	for _, s := range p.titles {
		pen.write(x, float64(y+lineHeight(titleSize)/2), titleSize, true, text.XLeft, s)
		y += lineHeight(titleSize)
	}
	for _, s := range p.notes {
		pen.write(x, float64(y+lineHeight(noteSize)/2), noteSize, false, text.XLeft, s)
		y += lineHeight(noteSize)
	}
	for _, m := range p.marks {
		m.drawKey(pen, p, x, float64(y+lineHeight(noteSize)/2))
		y += lineHeight(noteSize)
	}
	for _, h := range p.heads {
		for i, s := range h.lines {
			pen.write(x+h.at*float64(r.Dx()), float64(y+i*lineHeight(noteSize)+lineHeight(noteSize)/2), noteSize, false, text.XCenter, s)
		}
	}
}

func (p *panel) drawX(pen *pen, r image.Rectangle) {
	w := pts(lineWidth)
	y := r.Max.Y + w
	below := float64(y + pts(tickLong+gap/2) + lineHeight(tickSize)/2)
	for _, t := range p.xTicks() {
		x := r.Min.X + int(t.at*float64(r.Dx()-1)+0.5)
		long := pts(tickShort)
		if t.text != "" {
			long = pts(tickLong)
			pen.write(float64(x), below, tickSize, false, text.XCenter, t.text)
		}
		pen.fill(image.Rect(x-w/2, y, x-w/2+w, y+long), ink)
	}
	pen.write(float64(r.Min.X+r.Max.X)/2, below+float64(lineHeight(tickSize)+lineHeight(labelSize))/2,
		labelSize, false, text.XCenter, p.x.label)
}

// drawY draws a vertical axis at the left of r, or at its right.
func drawY(pen *pen, r image.Rectangle, ticks []tick, label string, right bool) {
	w := pts(lineWidth)
	for _, t := range ticks {
		y := r.Min.Y + int(t.at*float64(r.Dy()-1)+0.5)
		long := pts(tickShort)
		if t.text != "" {
			long = pts(tickLong)
		}
		from := r.Min.X - w - long
		if right {
			from = r.Max.X + w
		}
		pen.fill(image.Rect(from, y-w/2, from+long, y-w/2+w), ink)
		if t.text == "" {
			continue
		}
		x := r.Min.X - pts(lineWidth+tickLong+gap/2) - pen.width(exponentSize, false, t.exponent)
		align := text.XRight
		if right {
			x, align = r.Max.X+pts(lineWidth+tickLong+gap/2), text.XLeft
		}
		pen.write(float64(x), float64(y), tickSize, false, align, t.text)
		if t.exponent != "" {
			pen.write(float64(x), float64(y-pts(0.4*tickSize)), exponentSize, false, text.XLeft, t.exponent)
		}
	}
	off := pts(lineWidth+tickLong+gap/2) + widest(pen.fonts, ticks) + pts(gap) + lineHeight(labelSize)/2
	x := r.Min.X - off
	if right {
		x = r.Max.X + off
	}
	pen.upward(float64(x), float64(r.Min.Y+r.Max.Y)/2, labelSize, label)
}

// drawBar draws the colour bar at the right of the frame.
func (p *panel) drawBar(pen *pen, r image.Rectangle) {
	x := r.Max.X + pts(barGap)
	b := image.Rect(x, r.Min.Y, x+pts(barWidth), r.Max.Y)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		t := 1 - (float64(y-b.Min.Y)+0.5)/float64(b.Dy())
		pen.fill(image.Rect(b.Min.X, y, b.Max.X, y+1), p.raster.colors.at(t))
	}
	pen.frame(b)
	drawY(pen, b, p.barTicks(), p.bar, true)
}

func (p *panel) drawGuide(pen *pen, r image.Rectangle, g guide) {
	const dash = 3.0 // points
	red := color.RGBA{R: 200, G: 30, B: 30, A: 255}
	w, d := pts(lineWidth), pts(dash)
	if g.alongY {
		x := r.Min.X + int(p.x.frac(g.at)*float64(r.Dx()))
		if g.solid {
			pen.fill(image.Rect(x-w/2, r.Min.Y, x-w/2+w, r.Max.Y), ink)
			return
		}
		for y := r.Min.Y; y < r.Max.Y; y += 2 * d {
			pen.fill(image.Rect(x-w/2, y, x-w/2+w, y+d).Intersect(r), red)
		}
		return
	}
	y := r.Min.Y + int(p.y.frac(g.at)*float64(r.Dy()))
	for x := r.Min.X; x < r.Max.X; x += 2 * d {
		pen.fill(image.Rect(x, y-w/2, x+d, y-w/2+w).Intersect(r), red)
	}
}
