package picture

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// marks are the places of sources or receivers on a panel.
type marks struct {
	name  string
	x, y  []float64 // in the units of the panel's axes
	star  bool      // a star, else a triangle
	color color.RGBA
	onMap bool // seen from above: centred on its place
}

const markRadius = 3.4 // points

// Sources are red stars, receivers blue triangles. On a section a star stands
// on its place and a triangle hangs from it, so that sources and receivers at
// one depth do not hide each other.
var (
	sourceColor   = color.RGBA{R: 214, G: 39, B: 40, A: 255}
	receiverColor = color.RGBA{R: 31, G: 119, B: 230, A: 255}
)

// alongX sorts marks from left to right.
type alongX marks

func (m alongX) Len() int           { return len(m.x) }
func (m alongX) Less(i, j int) bool { return m.x[i] < m.x[j] }
func (m alongX) Swap(i, j int) {
	m.x[i], m.x[j] = m.x[j], m.x[i]
	m.y[i], m.y[j] = m.y[j], m.y[i]
}

// thin says that every n-th mark is drawn, so that no two overlap.
func (m marks) thin(p *panel) int {
	if len(m.x) < 2 {
		return 1
	}
	near := math.Inf(1)
	for i := 1; i < len(m.x); i++ {
		dx := (p.x.frac(m.x[i]) - p.x.frac(m.x[i-1])) * p.w
		dy := (p.y.frac(m.y[i]) - p.y.frac(m.y[i-1])) * p.h
		if d := math.Hypot(dx, dy); d > 0 {
			near = math.Min(near, d)
		}
	}
	return max(1, int(math.Ceil(2.2*markRadius/72/near)))
}

func (m marks) keyText(p *panel) string {
	s := fmt.Sprintf("%d %s", len(m.x), m.name)
	if len(m.x) == 1 {
		s = "1 " + strings.TrimSuffix(m.name, "s")
	}
	if n := m.thin(p); n > 1 {
		s += fmt.Sprintf(" (every %s drawn)", ordinal(float64(n)))
	}
	return s
}

func (m marks) keyWidth(f *fonts, p *panel) int {
	return pts(3*markRadius) + f.width(noteSize, false, m.keyText(p))
}

// drawKey writes the line above the frame that explains the mark.
func (m marks) drawKey(pen *pen, p *panel, x, y float64) {
	m.glyph(pen, x+float64(pts(markRadius)), y)
	pen.write(x+float64(pts(3*markRadius)), y, noteSize, false, text.XLeft, m.keyText(p))
}

func (p *panel) drawMarks(pen *pen, r image.Rectangle, m marks) {
	every := m.thin(p)
	for i := 0; i < len(m.x); i += every {
		fx, fy := p.x.frac(m.x[i]), p.y.frac(m.y[i])
		if fx < 0 || fx > 1 || fy < 0 || fy > 1 {
			continue
		}
		x, y := float64(r.Min.X)+fx*float64(r.Dx()), float64(r.Min.Y)+fy*float64(r.Dy())
		switch {
		case m.onMap:
		case m.star:
			y -= float64(pts(markRadius))
		default:
			y += float64(pts(0.8 * markRadius))
		}
		m.glyph(pen, x, y)
	}
}

// glyph draws one mark with a white rim, so that it shows on any ground.
func (m marks) glyph(pen *pen, x, y float64) {
	for _, layer := range []struct {
		grow float64
		c    color.Color
	}{{1.3, color.White}, {1, m.color}} {
		rad := layer.grow * markRadius * dpi / 72
		var pts []vg.Point
		if m.star {
			for k := range 10 {
				q := rad
				if k%2 == 1 {
					q *= 0.45
				}
				a := math.Pi/2 + float64(k)*math.Pi/5
				pts = append(pts, pen.at(x+q*math.Cos(a), y-q*math.Sin(a)))
			}
		} else {
			for k := range 3 {
				a := math.Pi/2 + float64(k)*2*math.Pi/3
				pts = append(pts, pen.at(x+0.8*rad*math.Cos(a), y-0.8*rad*math.Sin(a)))
			}
		}
		pen.c.FillPolygon(layer.c, pts)
	}
}
