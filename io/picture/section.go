package picture

import (
	"cmp"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// Float is the element type of the arrays that can be drawn.
type Float interface{ ~float32 | ~float64 }

// Options steer a picture. The zero value gives a good one.
type Options struct {
	Title  string
	Colors Colors
	Clip   float64 // percentile of |v| in (0, 100]; 0 means 99; models are clipped only when it is set
	Limit  float64 // |v| of an image or gather that gets full colour, instead of the percentile; 0 for none
	Turn   float64 // the values of a model are angles that repeat after this many degrees, 180 for those of axes; 0: they are not angles
	Bar    string  // label of a colour bar; "" means none for images, "velocity (m/s)" for models

	// At is the point, m, through which the slices of a 3-D array are taken;
	// nil means the centre of the grid.
	At []float64

	// The fields below are for sections and gathers, not for 3-D arrays.

	Span    [2]float64 // least and greatest value that the colours of a model span, instead of its own; zeros for none
	Window  []float64  // left, right, upper and lower end of the picture, in the units of the axes; nil for all
	Gain    float64    // what is drawn is multiplied by depth or time to this power
	Size    [2]float64 // width and height of the frame, inches; 0 leaves one to the picture
	Wiggles bool       // traces as lines whose positive side is filled, instead of colours
	Across  string     // what the distances of a gather are, "" means offset; what semblances are of, "" means γ
	Under   *Layer     // a model that colours the ground of an image
	Grey    []bool     // points of a section, in C order, that are grey; nil for none
}

// Layer is a model to lie beneath an image, on a grid of its own.
type Layer struct {
	Grid   grid.Grid
	Values []float64 // C order
	Bar    string    // label of its colour bar
}

// Image draws an image on a grid: a section with x to the right and z down, or
// three slices when the grid has three axes. v is in C order, [nx, nz] or
// [nx, ny, nz]. A value that is NaN or infinite is an error.
func Image[T Float](g grid.Grid, v []T, opt Options) (*Figure, error) {
	return onGrid(g, v, opt, false)
}

// Model draws a velocity model like Image does an image, with a sequential
// colour map over all its values and a colour bar in m/s.
func Model[T Float](g grid.Grid, v []T, opt Options) (*Figure, error) {
	opt.Colors, opt.Bar = cmp.Or(opt.Colors, Sequential), cmp.Or(opt.Bar, "velocity (m/s)")
	return onGrid(g, v, opt, true)
}

func onGrid[T Float](g grid.Grid, v []T, opt Options, model bool) (*Figure, error) {
	if err := g.Validate(); err != nil {
		return nil, fmt.Errorf("picture: %w", err)
	}
	if len(v) != g.Len() {
		return nil, fmt.Errorf("picture: %d values for a grid of %d points (%v)", len(v), g.Len(), g.Shape)
	}
	vals, err := finite(v, func(i int) string {
		p := make([]float64, g.Dim())
		g.Point(p, i)
		return "at " + g.Place(p)
	})
	if err != nil {
		return nil, err
	}
	look := raster{v: vals, colors: opt.Colors, smooth: !model && opt.Grey == nil, turn: opt.Turn}
	if g.Dim() == 3 {
		if err := opt.flat(); err != nil {
			return nil, err
		}
		if look.win, err = opt.window(vals, model); err != nil {
			return nil, err
		}
		return threeSlices(g, vals, look, opt)
	}
	look.n0, look.n1 = g.Shape[0], g.Shape[1]
	if opt.Under != nil {
		if look.under, err = opt.Under.on(g); err != nil {
			return nil, err
		}
		opt.Bar = opt.Under.Bar
	}
	if opt.Grey != nil {
		look.grey = &raster{n0: look.n0, n1: look.n1, v: make([]float32, len(vals))}
		for i, grey := range opt.Grey {
			if grey {
				look.grey.v[i] = 1
			}
		}
	}
	return opt.section(&look, cells(g, 0), cells(g, 1), model, func(x, y axis) (w, h float64, scale string) {
		switch {
		case g.Domain == grid.Time:
			return 6.2, 4, "" // metres and seconds have no scale in common
		case g.Shape[0] == 1 || g.Shape[1] == 1:
			return 6.2, 4, "not to scale"
		}
		return fit(x.length(), y.length())
	})
}

// finite converts to float32 and refuses NaN and what is or becomes infinite;
// where names the place of a value.
func finite[T Float](v []T, where func(i int) string) ([]float32, error) {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x)
		if f := float64(out[i]); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("picture: value %d (%s) is %g, must be finite in float32", i, where(i), float64(x))
		}
	}
	return out, nil
}

// cells is the axis across the cells of a grid axis, half a spacing beyond the
// first and last points.
func cells(g grid.Grid, a int) axis {
	h := g.Spacing[a]
	name := g.AxisName(a)
	switch name {
	case "z":
		name = "depth"
	case "time":
		name = "two-way time"
	}
	return axis{from: g.Coord(a, 0) - h/2, to: g.End(a) + h/2, label: fmt.Sprintf("%s (%s)", name, g.Unit(a))}
}

// fit sizes a frame for lx by lz metres, in inches, true to scale where the
// section's shape allows it, and says so where it does not.
func fit(lx, lz float64) (w, h float64, note string) {
	const width, most, least, narrow = 6.2, 5.5, 1.3, 1.6
	w, h = width, width*lz/lx
	if h > most {
		h, w = most, most*lx/lz
	}
	switch {
	case h < least:
		// A long shallow section: stretch the depth by a round factor.
		e := roundUp(least / h)
		return w, h * e, "vertical exaggeration " + number(e) + "×"
	case w < narrow:
		e := roundUp(narrow / w)
		return w * e, h, "horizontal exaggeration " + number(e) + "×"
	}
	return w, h, ""
}

// roundUp gives the next of 1.5, 2, 3, 5 times a power of ten and so on.
func roundUp(v float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 1.5, 2, 3, 4, 5, 6, 8} {
		if v <= f*p*(1+1e-12) {
			return f * p
		}
	}
	return 10 * p
}

// layout says how three slices share a page.
type layout int

const (
	folded  layout = iota // the x section below the map, the y section to the right of it, on its side
	stepped               // the x section below the map, the y section to the right of that
	level                 // all beside each other
)

// layoutOf leaves the least of the page empty. Sizes are the sizes of the cube as it is drawn; inches
// is its scale on the page.
func layoutOf(x, y, z float64) (best layout, inches float64) {
	empty := [...]float64{
		folded:  z * z / ((x + z) * (y + z)),
		stepped: y * y / ((x + y) * (y + z)),
		level:   (x*max(0, z-y) + (x+y)*max(0, y-z)) / ((2*x + y) * max(y, z)),
	}
	for l, share := range empty {
		if share < empty[best] {
			best = layout(l)
		}
	}
	page := [...][2]float64{folded: {x + z, y + z}, stepped: {x + y, y + z}, level: {2*x + y, max(y, z)}}[best]
	return best, min(7.6/page[0], 7.0/page[1])
}

// threeSlices draws three orthogonal cuts through one point: the depth slice as a map with y upward, and the
// sections along x and y. Common axes line up. All three share one clip.
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
			return nil, fmt.Errorf("picture: slices through %s = %s %s: outside the grid [%s, %s] %[3]s",
				g.AxisName(a), g.Text(a, opt.At[a]), g.Unit(a), g.Text(a, g.Origin[a]), g.Text(a, g.End(a)))
		}
		at[a] = int(i)
	}
	x, y, z := cells(g, 0), cells(g, 1), cells(g, 2)
	north := axis{from: y.to, to: y.from, label: y.label} // y upward on the map
	point := [3]float64{g.Coord(0, at[0]), g.Coord(1, at[1]), g.Coord(2, at[2])}

	// One scale for all three, so that they can be folded into a box. Two-way time is drawn as
	// high as the shorter side is wide.
	high := z.length()
	if g.Domain == grid.Time {
		high = min(x.length(), y.length())
	}
	on, inches := layoutOf(x.length(), y.length(), high)
	size := func(a axis) float64 {
		if a.label == z.label {
			return max(0.8, inches*high)
		}
		return max(0.8, inches*a.length())
	}
	note := ""
	if inches*min(x.length(), y.length(), high) < 0.8 {
		note = "not to scale"
	}
	cut := func(right, down axis, first, second, fixed int, name string) *panel {
		r := look
		r.n0, r.n1 = g.Shape[first], g.Shape[second]
		r.v = make([]float32, r.n0*r.n1)
		st := g.Strides()
		for i := range r.n0 {
			for j := range r.n1 {
				r.v[i*r.n1+j] = v[i*st[first]+j*st[second]+at[fixed]*st[fixed]]
			}
		}
		p := newPanel(size(right), size(down), right, down, "", fmt.Sprintf("%s = %s %s", name, g.Text(fixed, point[fixed]), g.Unit(fixed)))
		p.raster = &r
		p.guides(point[first], point[second])
		return p
	}
	top := cut(x, north, 0, 1, 2, map[grid.Domain]string{grid.Depth: "depth slice at z", grid.Time: "slice at time"}[g.Domain])
	top.raster.flip = true
	top.title = opt.Title
	top.notes = append(oneLine(look.win.note, note), top.notes...)
	along, across := cut(x, z, 0, 2, 1, "section at y"), (*panel)(nil)
	if on == folded {
		across = cut(z, north, 2, 1, 0, "section at x")
		across.raster.flip = true
	} else {
		across = cut(y, z, 1, 2, 0, "section at x")
	}
	last := []*panel{across} // with the colour bar
	if opt.Bar != "" {
		last = append(last, across.bar(opt.Bar))
	}
	switch on {
	case folded:
		return &Figure{rows: [][]*panel{append([]*panel{top}, last...), {along}}}, nil
	case stepped:
		return &Figure{rows: [][]*panel{{top, nil}, append([]*panel{along}, last...)}}, nil
	}
	return &Figure{rows: [][]*panel{append([]*panel{top, along}, last...)}}, nil
}

// coordinate writes metres without needless decimals.
func coordinate(v float64) string { return readable.Length(math.Round(v*100) / 100) }
