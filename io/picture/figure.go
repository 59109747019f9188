package picture

import (
	"image"
	"slices"
)

// Figure is a finished picture: one panel, or several in rows and columns
// whose frames line up. It holds the arrays it was made from and must not
// outlive changes to them.
type Figure struct {
	Software, Source string // what draws it, and from what; the file tells, see Origin

	rows [][]*panel // a nil panel leaves its place empty
}

// outer is the white border around a picture, between is the space from one
// panel to the next, both in points.
const (
	outer   = 4.0
	between = 10.0
)

// besideWidth is the most that the frames of figures side by side span
// together, in inches.
const besideWidth = 8.4

// single is a figure of one panel, with a colour bar where it has a label.
func single(p *panel, bar string) *Figure {
	row := []*panel{p}
	if bar != "" {
		row = append(row, p.bar(bar))
	}
	return &Figure{rows: [][]*panel{row}}
}

// panels yields the panels with their places: x is the column, y the row.
func (f *Figure) panels(yield func(at image.Point, p *panel) bool) {
	for i, row := range f.rows {
		for j, p := range row {
			if p != nil && !yield(image.Pt(j, i), p) {
				return
			}
		}
	}
}

// Beside puts figures side by side, aligned at the top. Each keeps its own
// clip, which its panel states. Frames are made smaller where they would
// otherwise be wider than a page together.
func Beside(figures ...*Figure) *Figure {
	out := &Figure{}
	total, cols := 0.0, 0
	for _, f := range figures {
		wide, most := make([]float64, len(f.rows)), 0 // width of each row, columns
		for at, p := range f.panels {
			wide[at.Y] += p.w
		}
		for i, row := range f.rows {
			most = max(most, len(row))
			if i == len(out.rows) {
				out.rows = append(out.rows, nil)
			}
			out.rows[i] = append(append(out.rows[i], make([]*panel, cols-len(out.rows[i]))...), row...)
		}
		total, cols = total+slices.Max(wide), cols+most
	}
	if total > besideWidth {
		out.scale(besideWidth / total)
	}
	return out
}

// Stack puts figures one below the other, aligned at the left.
func Stack(figures ...*Figure) *Figure {
	out := &Figure{}
	for _, f := range figures {
		out.rows = append(out.rows, f.rows...)
	}
	return out
}

// scale changes the size of all frames; text keeps its size.
func (f *Figure) scale(s float64) {
	for at, p := range f.panels {
		c := *p // figures share panels: never change one in place
		c.w, c.h = s*c.w, s*c.h
		f.rows[at.Y][at.X] = &c
	}
}

// span is the size of one row or column of panels, in pixels.
type span struct{ before, size, after int }

func (s *span) cover(o span) {
	s.before, s.size, s.after = max(s.before, o.before), max(s.size, o.size), max(s.after, o.after)
}

// layout places every frame: rects holds the framed areas, w and h the size of
// the picture.
func (f *Figure) layout() (rects [][]image.Rectangle, w, h int) {
	cols := 0
	for _, row := range f.rows {
		cols = max(cols, len(row))
		rects = append(rects, make([]image.Rectangle, len(row)))
	}
	across, down := make([]span, cols), make([]span, len(f.rows))
	for at, p := range f.panels {
		x, y := p.spans()
		if row := f.rows[at.Y][at.X+1:]; len(row) > 0 && row[0] != nil && row[0].headHeight() > 0 {
			x.after = max(x.after, p.overhang())
		}
		across[at.X].cover(x)
		down[at.Y].cover(y)
	}
	left, w := starts(across)
	top, h := starts(down)
	for at, p := range f.panels {
		r := image.Rect(0, 0, px(p.w), px(p.h)).Add(image.Pt(left[at.X], top[at.Y]))
		rects[at.Y][at.X] = r
		w = max(w, r.Max.X+p.overhang())
	}
	return rects, w + pts(outer), h + pts(outer)
}

// starts gives the first framed pixel of each row or column, and where the last ends.
func starts(spans []span) (at []int, end int) {
	x := pts(outer)
	for _, s := range spans {
		at = append(at, x+s.before)
		end = x + s.before + s.size + s.after
		x = end
		if s.size > 0 {
			x += pts(between)
		}
	}
	return at, end
}

// Draw renders the figure.
func (f *Figure) Draw() *image.RGBA {
	rects, w, h := f.layout()
	c := newCanvas(w, h)
	for at, p := range f.panels {
		p.draw(c, rects[at.Y][at.X])
	}
	return c.img
}
