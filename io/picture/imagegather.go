package picture

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// ImageGather is what the images by class show below one point of the surface.
type ImageGather struct {
	Name   string    // of the point, its parts between commas: each has a line
	Values []float32 // [classes, nz]
}

// Classes says what the classes of image gathers are.
type Classes struct {
	Name, Unit string    // such as offset, m
	Centers    []float64 // one a class
}

// Widths of image gathers in inches: of one at least, and of all where they are few.
const (
	leastGather = 0.75
	mostGathers = 6.2
)

// ImageGathers draws gathers on a grid side by side, depth downward, on one scale: each
// with its name above, and its classes from left to right with their centres below. NaN
// is an error.
func ImageGathers(g grid.Grid, gathers []ImageGather, c Classes, opt Options) (*Figure, error) {
	if opt.Clip == 0 {
		opt.Clip = defaultClip
	}
	z := g.Dim() - 1
	n, nz, count := len(c.Centers), g.Shape[z], len(gathers)
	if count == 0 || n == 0 {
		return nil, fmt.Errorf("picture: %d image gathers of %d classes: nothing to draw", count, n)
	}
	var all []float32
	p := &panel{h: 4, bar: opt.Bar, y: cells(g, z)}
	p.w = max(min(mostGathers, 0.6+1.2*float64(count)), leastGather*float64(count))
	p.x = axis{from: 0, to: float64(count), label: fmt.Sprintf("%s (%s)", c.Name, c.Unit), given: []tick{}}
	for k, gather := range gathers {
		if len(gather.Values) != n*nz {
			return nil, fmt.Errorf("picture: image gather %s has %d values for %d classes of %d depths", gather.Name, len(gather.Values), n, nz)
		}
		v, err := finite(gather.Values, func(i int) string { return fmt.Sprintf("%s, class %d, depth %d", gather.Name, i/nz, i%nz) })
		if err != nil {
			return nil, err
		}
		all = append(all, v...)
		for _, t := range c.ticks(p.w / float64(count)) {
			t.at = (float64(k) + t.at) / float64(count)
			p.x.given = append(p.x.given, t)
		}
		p.heads = append(p.heads, head{(float64(k) + 0.5) / float64(count), strings.Split(gather.Name, ", ")})
		if k > 0 {
			p.guides = append(p.guides, guide{alongY: true, at: float64(k), solid: true})
		}
	}
	r := &raster{win: opt.window(all), colors: opt.Colors.table()}
	r.array = array{v: all, n0: count * n, n1: nz}
	p.raster = r
	p.addHead(opt.Title, r.win.note)
	return &Figure{rows: [][]*panel{{p}}}, nil
}

// ticks are those of one gather of so many inches, at fractions of its width: round
// values where the classes are at equal steps, else their centres. Texts keep their
// distance from each other, and those of neighbouring gathers too.
func (c Classes) ticks(width float64) []tick {
	n := len(c.Centers)
	if h, ok := even(c.Centers); ok {
		ticks := axis{from: c.Centers[0] - h/2, to: c.Centers[n-1] + h/2}.ticks(width, 0.45)
		for i, t := range ticks {
			if width*min(t.at, 1-t.at) < textWidth(t.text)/2 {
				ticks[i].text = ""
			}
		}
		return ticks
	}
	out, each, room := make([]tick, n), width/float64(n), 0.0
	for i, center := range c.Centers {
		out[i] = tick{at: (float64(i) + 0.5) / float64(n), text: strings.ReplaceAll(coordinate(center), "-", "−")}
		room = max(room, textWidth(out[i].text))
	}
	step := min(n, int(math.Ceil(room/each)))
	far := func(i int) bool { return each*min(float64(i)+0.5, float64(n-i)-0.5) >= room/2 }
	first, most := n/2, 0
	for i := range step {
		texts := 0
		for k := i; k < n; k += step {
			if far(k) {
				texts++
			}
		}
		if texts > most {
			first, most = i, texts
		}
	}
	for i := range out {
		if i%step != first%step || most > 0 && !far(i) {
			out[i].text = ""
		}
	}
	return out
}

// textWidth is about how wide a tick's text is with a space on either side, in inches.
func textWidth(s string) float64 { return 0.07*float64(utf8.RuneCountInString(s)) + 0.1 }
