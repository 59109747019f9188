package picture

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// threeSlices draws three orthogonal cuts through one point: the depth slice at the
// upper left, the x section below it, the y section to the right of that, so
// that common axes line up. All three share one clip.
func threeSlices(g grid.Grid, v []float32, look raster, opt Options) (*Figure, error) {
	var at [3]int
	for a, n := range g.Shape {
		at[a] = n / 2
		if opt.At == nil {
			continue
		}
		if len(opt.At) != 3 {
			return nil, fmt.Errorf("picture: slices through %v: want three coordinates", opt.At)
		}
		i := math.Round((opt.At[a] - g.Origin[a]) / g.Spacing[a])
		if !(i >= 0 && i < float64(n)) {
			return nil, fmt.Errorf("picture: slices through %s = %s m: outside the grid [%s, %s] m",
				grid.AxisNames(3)[a], readable.Length(opt.At[a]), readable.Length(g.Origin[a]), readable.Length(g.End(a)))
		}
		at[a] = int(i)
	}
	x, y, z := cells(g, 0), cells(g, 1), cells(g, 2)
	point := [3]float64{g.Coord(0, at[0]), g.Coord(1, at[1]), g.Coord(2, at[2])}

	// One scale for all three, so that they can be folded into a box.
	lx, ly, lz := span1(x), span1(y), span1(z)
	inches := math.Min(7.6/(lx+ly), 7.0/(ly+lz))
	size := func(l float64) float64 { return math.Max(0.8, inches*l) }
	note := ""
	if inches*math.Min(lx, math.Min(ly, lz)) < 0.8 {
		note = "not to scale"
	}

	north := axis{from: y.to, to: y.from, label: y.label} // y upward on the map
	cut := func(first, second, fixed int) *raster {
		r := look
		r.n0, r.n1 = g.Shape[first], g.Shape[second]
		r.v = make([]float32, r.n0*r.n1)
		st := g.Strides()
		for i := range r.n0 {
			for j := range r.n1 {
				r.v[i*r.n1+j] = v[i*st[first]+j*st[second]+at[fixed]*st[fixed]]
			}
		}
		return &r
	}
	top := &panel{w: size(lx), h: size(ly), x: x, y: north, raster: cut(0, 1, 2)}
	top.raster.flip = true
	top.addHead(opt.Title)
	top.addHead("", look.win.note, note)
	top.notes = append(top.notes, fmt.Sprintf("depth slice at z = %s m", coordinate(point[2])))
	top.guides = []guide{{alongY: true, at: point[0]}, {at: point[1]}}
	top.addMarks(opt, 3, 0, 1)

	front := &panel{w: size(lx), h: size(lz), x: x, y: z, raster: cut(0, 2, 1)}
	front.notes = []string{fmt.Sprintf("section at y = %s m", coordinate(point[1]))}
	front.guides = []guide{{alongY: true, at: point[0]}, {at: point[2]}}

	side := &panel{w: size(ly), h: size(lz), x: y, y: z, raster: cut(1, 2, 0), bar: opt.Bar}
	side.notes = []string{fmt.Sprintf("section at x = %s m", coordinate(point[0]))}
	side.guides = []guide{{alongY: true, at: point[1]}, {at: point[2]}}

	return &Figure{rows: [][]*panel{{top, nil}, {front, side}}}, nil
}

// coordinate writes metres without needless decimals.
func coordinate(v float64) string { return readable.Length(math.Round(v*100) / 100) }
