package picture

import (
	"fmt"
	"math"
)

// Line is a named line through points.
type Line struct {
	Name string
	X, Y []float64 // as many of each
}

// Lines draws up to five lines, y on a logarithmic axis. Without a point, or with a y
// that is not above 0 and finite, they are an error.
func Lines(x, y string, opt Options, lines ...Line) (*Figure, error) {
	if len(lines) == 0 || len(lines) > len(historyColors) {
		return nil, fmt.Errorf("picture: %d lines, want 1 to %d", len(lines), len(historyColors))
	}
	p := &panel{w: 5.6, h: 3.4}
	from, to := math.Inf(1), math.Inf(-1)
	least, most := math.Inf(1), math.Inf(-1)
	for i, l := range lines {
		if len(l.X) == 0 || len(l.X) != len(l.Y) {
			return nil, fmt.Errorf("picture: line %q has %d by %d points", l.Name, len(l.X), len(l.Y))
		}
		for k, v := range l.Y {
			if !(v > 0) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("picture: line %q: y is %g, must be above 0 and finite", l.Name, v)
			}
			from, to = min(from, l.X[k]), max(to, l.X[k])
			least, most = min(least, v), max(most, v)
		}
		p.curves = append(p.curves, curve{name: l.Name, color: historyColors[i], x: l.X, y: l.Y, dots: true})
	}
	if from == to {
		from, to = from-1, to+1
	}
	if most < 2*least {
		least, most = least/2, most*2
	}
	pad := math.Pow(most/least, 0.04)
	p.x = axis{from: from, to: to, label: x, whole: true}
	p.y = axis{from: most * pad, to: least / pad, label: y, log: true}
	p.addHead(opt.Title)
	return &Figure{rows: [][]*panel{{p}}}, nil
}
