package picture

import (
	"fmt"
	"math"
)

// Histogram draws counts in bins: bin i reaches from `from + i step` to `from +
// (i+1) step` on the axis x. Counts must not be negative.
func Histogram(from, step float64, count []int, x, y string, opt Options) (*Figure, error) {
	if len(count) == 0 || !(step > 0) || math.IsNaN(from-from) {
		return nil, fmt.Errorf("picture: histogram of %d bins of %g from %g", len(count), step, from)
	}
	c := curve{name: y, color: historyColors[0]}
	most := 1
	for i, n := range count {
		if n < 0 {
			return nil, fmt.Errorf("picture: histogram: bin %d is %d, must not be negative", i, n)
		}
		most = max(most, n)
		left, right := from+float64(i)*step, from+float64(i+1)*step
		c.x = append(c.x, left, right)
		c.y = append(c.y, float64(n), float64(n))
	}
	end := c.x[len(c.x)-1]
	c.x = append(append([]float64{from}, c.x...), end)
	c.y = append(append([]float64{0}, c.y...), 0)
	p := &panel{w: 6.2, h: 2.6, curves: []curve{c}}
	p.x = axis{from: from, to: end, label: x}
	p.y = axis{from: 1.15 * float64(most), to: 0, label: y, whole: true}
	p.addHead(opt.Title)
	return &Figure{rows: [][]*panel{{p}}}, nil
}

// CountMap draws counts in bins of a plane, shape [nx, ny] in C order: x to the
// right, y upwards, true to scale where its shape allows it.
func CountMap(from, step [2]float64, shape [2]int, count []int, axes [2]string, opt Options) (*Figure, error) {
	nx, ny := shape[0], shape[1]
	if nx < 1 || ny < 1 || len(count) != nx*ny || !(step[0] > 0) || !(step[1] > 0) {
		return nil, fmt.Errorf("picture: map of %d counts, %d by %d bins of %g by %g", len(count), nx, ny, step[0], step[1])
	}
	v := make([]float32, len(count))
	for i := range nx {
		for j := range ny {
			v[i*ny+j] = float32(count[i*ny+ny-1-j])
		}
	}
	r := &raster{win: fullWindow(v), colors: Sequential.table()}
	r.v, r.n0, r.n1 = v, nx, ny
	p := &panel{raster: r, bar: opt.Bar}
	p.x = axis{from: from[0], to: from[0] + float64(nx)*step[0], label: axes[0]}
	p.y = axis{from: from[1] + float64(ny)*step[1], to: from[1], label: axes[1]}
	scale := ""
	p.w, p.h, scale = fit(span1(p.x), span1(p.y))
	p.addHead(opt.Title, scale)
	return &Figure{rows: [][]*panel{{p}}}, nil
}

// Plan draws sources and receivers from above, [n, 2] each, m: x to the right, y
// upwards.
func Plan(sources, receivers []float64, opt Options) (*Figure, error) {
	lo, hi := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for _, xy := range [][]float64{sources, receivers} {
		for i, v := range xy {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("picture: place %d lies at %g, must be finite", i/2, v)
			}
			lo[i%2], hi[i%2] = math.Min(lo[i%2], v), math.Max(hi[i%2], v)
		}
	}
	if len(sources)%2 != 0 || len(receivers)%2 != 0 || len(sources)+len(receivers) == 0 {
		return nil, fmt.Errorf("picture: places have %d and %d coordinates, want pairs", len(sources), len(receivers))
	}
	least := 0.02 * math.Max(1, math.Max(hi[0]-lo[0], hi[1]-lo[1])) // a line along an axis has no width
	for a := range lo {
		pad := math.Max(least, 0.04*(hi[a]-lo[a]))
		lo[a], hi[a] = lo[a]-pad, hi[a]+pad
	}
	p := &panel{x: axis{from: lo[0], to: hi[0], label: "x (m)"}, y: axis{from: hi[1], to: lo[1], label: "y (m)"}}
	scale := ""
	p.w, p.h, scale = fit(span1(p.x), span1(p.y))
	p.addHead(opt.Title, scale)
	for _, m := range []struct {
		marks
		xy []float64
	}{
		{marks{name: "receivers", color: receiverColor, onMap: true}, receivers},
		{marks{name: "sources", color: sourceColor, star: true, onMap: true}, sources},
	} {
		for i := 0; i+2 <= len(m.xy); i += 2 {
			m.x, m.y = append(m.x, m.xy[i]), append(m.y, m.xy[i+1])
		}
		if len(m.x) > 0 {
			p.marks = append(p.marks, m.marks)
		}
	}
	return &Figure{rows: [][]*panel{{p}}}, nil
}
