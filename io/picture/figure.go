package picture

import (
	"image"
)

// Figure is a finished picture: one panel, or several in rows and columns
// whose frames line up. It holds the arrays it was made from and must not
// outlive changes to them.
type Figure struct {
	Software, Source string // what draws it, and from what; the file tells, see Origin

	rows [][]*panel // a nil panel leaves its place empty
}

// outer is the white border around a picture, between is the space from one
// panel's furniture to the next, both in points.
const (
	outer   = 4.0
	between = 10.0
)

// besideWidth is the most that the frames of figures side by side span
// together, in inches.
const besideWidth = 8.4

// Beside puts figures side by side, aligned at the top. Each keeps its own
// clip, which its panel states. Frames are made smaller where they would
// otherwise be wider than a page together.
func Beside(figures ...*Figure) *Figure {
	out := &Figure{}
	total := 0.0
	for _, f := range figures {
		wide, cols := 0.0, 0
		for _, row := range f.rows {
			cols = max(cols, len(row))
			w := 0.0
			for _, p := range row {
				if p != nil {
					w += p.w
				}
			}
			wide = max(wide, w)
		}
		total += wide
		at := 0
		if len(out.rows) > 0 {
			at = len(out.rows[0])
		}
		for len(out.rows) < len(f.rows) {
			out.rows = append(out.rows, make([]*panel, at))
		}
		for i := range out.rows {
			add := make([]*panel, cols)
			if i < len(f.rows) {
				copy(add, f.rows[i])
			}
			out.rows[i] = append(out.rows[i], add...)
		}
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
	for i, row := range f.rows {
		scaled := make([]*panel, len(row))
		for j, p := range row {
			if p != nil {
				c := *p // figures share panels: never change one in place
				c.w, c.h = s*c.w, s*c.h
				scaled[j] = &c
			}
		}
		f.rows[i] = scaled
	}
}

// span is what one row or column of panels takes, in pixels.
type span struct{ before, size, after int }

// layout places every frame: rects holds the framed areas, w and h the size of
// the picture.
func (f *Figure) layout(fs *fonts) (rects [][]image.Rectangle, w, h int) {
	cols := 0
	for _, row := range f.rows {
		cols = max(cols, len(row))
	}
	across, down := make([]span, cols), make([]span, len(f.rows))
	for i, row := range f.rows {
		for j, p := range row {
			if p == nil {
				continue
			}
			m := p.margins(fs)
			c, r := &across[j], &down[i]
			c.before, c.size, c.after = max(c.before, m.left), max(c.size, px(p.w)), max(c.after, m.right)
			r.before, r.size, r.after = max(r.before, m.top), max(r.size, px(p.h)), max(r.after, m.bottom)
			if j+1 < len(row) && row[j+1] != nil {
				c.after = max(c.after, p.overhang(fs))
			}
		}
	}
	left, top := starts(across), starts(down)
	rects = make([][]image.Rectangle, len(f.rows))
	for i, row := range f.rows {
		rects[i] = make([]image.Rectangle, len(row))
		for j, p := range row {
			if p == nil {
				continue
			}
			x, y := left[j], top[i]
			rects[i][j] = image.Rect(x, y, x+px(p.w), y+px(p.h))
			m := p.margins(fs)
			w = max(w, rects[i][j].Max.X+max(m.right, p.overhang(fs)))
			h = max(h, rects[i][j].Max.Y+m.bottom)
		}
	}
	return rects, w + pts(outer), h + pts(outer)
}

// starts gives the first framed pixel of each row or column.
func starts(spans []span) []int {
	at := make([]int, len(spans))
	x := pts(outer)
	for i, s := range spans {
		at[i] = x + s.before
		x = at[i] + s.size + s.after
		if s.size > 0 {
			x += pts(between)
		}
	}
	return at
}

// Draw renders the figure.
func (f *Figure) Draw() *image.RGBA {
	fs := newFonts()
	rects, w, h := f.layout(fs)
	p := newPen(fs, max(1, w), max(1, h))
	for i, row := range f.rows {
		for j, pan := range row {
			if pan != nil {
				pan.draw(p, rects[i][j])
			}
		}
	}
	return p.img
}
