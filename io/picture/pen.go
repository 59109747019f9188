package picture

import (
	"image"
	"image/color"
	stddraw "image/draw"
	"math"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
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

// Sizes of the furniture, in points.
const (
	titleSize = 11.0
	labelSize = 10.0
	tickSize  = 9.0
	noteSize  = 8.0
	lineWidth = 0.7
	tickLong  = 4.0
	tickShort = 2.2
	gap       = 4.0 // between neighbouring pieces
)

var ink = color.RGBA{A: 255}

// fonts hands out the text styles; it owns the font cache, so that nothing
// outlives a picture.
type fonts struct{ plain text.Plain }

func newFonts() *fonts {
	return &fonts{text.Plain{Fonts: font.NewCache(liberation.Collection())}}
}

func (f *fonts) style(size float64, bold bool) text.Style {
	fnt := font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)}
	if bold {
		fnt.Weight = xfont.WeightBold
	}
	return text.Style{Color: ink, Font: fnt, Handler: f.plain}
}

// width and height of a line of text in pixels.
func (f *fonts) width(size float64, bold bool, s string) int {
	return int(math.Ceil(f.style(size, bold).Width(s).Points() * dpi / 72))
}

func lineHeight(size float64) int { return pts(1.25 * size) }

// pen draws on a picture in pixels from the upper left corner.
type pen struct {
	*fonts
	img *image.RGBA
	c   draw.Canvas
}

func newPen(f *fonts, w, h int) *pen {
	cv := vgimg.NewWith(vgimg.UseDPI(dpi), vgimg.UseImage(image.NewRGBA(image.Rect(0, 0, w, h))))
	// The canvas draws on a copy of the image it is given.
	return &pen{f, cv.Image().(*image.RGBA), draw.New(cv)}
}

// at converts a pixel position to the canvas's points from the lower left.
func (p *pen) at(x, y float64) vg.Point {
	h := float64(p.img.Rect.Dy())
	return vg.Point{X: vg.Points(x * 72 / dpi), Y: vg.Points((h - y) * 72 / dpi)}
}

// fill paints a rectangle of whole pixels.
func (p *pen) fill(r image.Rectangle, c color.Color) {
	stddraw.Draw(p.img, r, image.NewUniform(c), image.Point{}, stddraw.Src)
}

// write sets a line of text aligned at x, its digits centred on y.
func (p *pen) write(x, y float64, size float64, bold bool, align text.XAlignment, s string) {
	st := p.style(size, bold)
	st.XAlign, st.YAlign = align, text.YCenter
	// The text box includes room for descenders, which digits do not use.
	lift := st.FontExtents().Descent.Points() / 2 * dpi / 72
	p.c.FillText(st, p.at(x, y-lift), s)
}

// upward writes a line that runs from bottom to top, centred on (x, y).
func (p *pen) upward(x, y float64, size float64, s string) {
	st := p.style(size, false)
	st.XAlign, st.YAlign, st.Rotation = text.XCenter, text.YCenter, math.Pi/2
	p.c.FillText(st, p.at(x, y), s)
}

// frame draws the outline just outside r, so that it hides no sample.
func (p *pen) frame(r image.Rectangle) {
	w := pts(lineWidth)
	o := r.Inset(-w)
	p.fill(image.Rect(o.Min.X, o.Min.Y, o.Max.X, r.Min.Y), ink)
	p.fill(image.Rect(o.Min.X, r.Max.Y, o.Max.X, o.Max.Y), ink)
	p.fill(image.Rect(o.Min.X, o.Min.Y, r.Min.X, o.Max.Y), ink)
	p.fill(image.Rect(r.Max.X, o.Min.Y, o.Max.X, o.Max.Y), ink)
}
