package picture

import "image"

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

// Beside puts figures side by side, aligned at the top. Each keeps its own
// clip, which its panel states. Frames are made smaller where they would
// otherwise be wider than a page together.
func Beside(figures ...*Figure) *Figure {
	out := &Figure{}
	total, cols := 0.0, 0
	for _, f := range figures {
		wide, most := 0.0, 0
		for i, row := range f.rows {
			w := 0.0
			for _, p := range row {
				if p != nil {
					w += p.w
				}
			}
			wide, most = max(wide, w), max(most, len(row))
			if i == len(out.rows) {
				out.rows = append(out.rows, nil)
			}
			out.rows[i] = append(append(out.rows[i], make([]*panel, cols-len(out.rows[i]))...), row...)
		}
		total, cols = total+wide, cols+most
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
	for _, row := range f.rows {
		for j, p := range row {
			if p != nil {
				c := *p // figures share panels: never change one in place
				c.w, c.h = s*c.w, s*c.h
				row[j] = &c
			}
		}
	}
}

// span is what one row or column of panels takes, in pixels.
type span struct{ before, size, after int }

// layout places every frame: rects holds the framed areas, w and h the size of
// the picture.
func (f *Figure) layout() (rects [][]image.Rectangle, w, h int) {
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
			m := p.margins()
			c, r := &across[j], &down[i]
			c.before, c.size, c.after = max(c.before, m.left), max(c.size, px(p.w)), max(c.after, m.right)
			r.before, r.size, r.after = max(r.before, m.top), max(r.size, px(p.h)), max(r.after, m.bottom)
			if j+1 < len(row) && row[j+1] != nil && row[j+1].headHeight() > 0 {
				c.after = max(c.after, p.overhang())
			}
		}
	}
	left, right := starts(across)
	top, bottom := starts(down)
	rects = make([][]image.Rectangle, len(f.rows))
	w = right
	for i, row := range f.rows {
		rects[i] = make([]image.Rectangle, len(row))
		for j, p := range row {
			if p != nil {
				rects[i][j] = image.Rect(left[j], top[i], left[j]+px(p.w), top[i]+px(p.h))
				w = max(w, rects[i][j].Max.X+p.overhang())
			}
		}
	}
	return rects, w + pts(outer), bottom + pts(outer)
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
	for i, row := range f.rows {
		for j, p := range row {
			if p != nil {
				p.draw(c, rects[i][j])
			}
		}
	}
	return c.img
}
