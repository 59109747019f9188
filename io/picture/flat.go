package picture

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// ErrOption is wrapped by errors that other options mend.
var ErrOption = errors.New("picture")

// flat refuses what only sections and gathers have.
func (opt Options) flat() error {
	if opt.Window != nil || opt.Gain != 0 || opt.Wiggles || opt.Under != nil || opt.Grey != nil {
		return fmt.Errorf("%w: window, gain, wiggles, a layer beneath and grey points are for 2-D arrays, this one is 3-D", ErrOption)
	}
	return nil
}

// section is the figure of a raster between two axes, whose frame size chooses.
func (opt Options) section(r *raster, x, y axis, model bool, size func(x, y axis) (w, h float64, note string), notes ...string) (*Figure, error) {
	gained := r.gain(y, opt.Gain)
	if err := opt.crop(r, &x, &y); err != nil {
		return nil, err
	}
	var err error
	if r.win, err = opt.window(r.v, model); err != nil {
		return nil, err
	}
	w, h, scale := size(x, y)
	if opt.Size[0] != 0 || opt.Size[1] != 0 {
		for _, inches := range opt.Size {
			if inches != 0 && !(inches >= 0.5 && inches <= 60) {
				return nil, fmt.Errorf("%w: a frame of %g by %g inches: want 0.5 to 60", ErrOption, opt.Size[0], opt.Size[1])
			}
		}
		w, h, scale = cmp.Or(opt.Size[0], w), cmp.Or(opt.Size[1], h), ""
	}
	p := newPanel(w, h, x, y, opt.Title, append([]string{r.win.note, gained, scale}, notes...)...)
	p.raster = r
	if !opt.Wiggles {
		return single(p, opt.Bar), nil
	}
	p.raster = nil
	p.plotters, err = r.wiggles(x, y, w)
	return single(p, ""), err
}

// gain multiplies by the coordinate along y to a power, the middle of the axis counting 1.
func (r *raster) gain(y axis, power float64) (note string) {
	if power == 0 {
		return ""
	}
	middle, step := math.Abs(y.from+y.to)/2, (y.to-y.from)/float64(r.n1)
	v := make([]float32, len(r.v))
	for i := range v {
		at := math.Abs(y.from + (float64(i%r.n1)+0.5)*step)
		v[i] = r.v[i] * float32(math.Pow(max(at, math.Abs(step))/middle, power))
	}
	r.v = v
	return "gain " + number(power)
}

// crop leaves the cells inside the window.
func (opt Options) crop(r *raster, x, y *axis) error {
	if opt.Window == nil {
		return nil
	}
	if len(opt.Window) != 4 {
		return fmt.Errorf("%w: the window %v has %d ends, want 4", ErrOption, opt.Window, len(opt.Window))
	}
	var first, last [2]int
	for k, a := range []*axis{x, y} {
		n, from, to := [2]int{r.n0, r.n1}[k], opt.Window[2*k], opt.Window[2*k+1]
		step := (a.to - a.from) / float64(n)
		i, j := math.Floor((from-a.from)/step+1e-6), math.Ceil((to-a.from)/step-1e-6)
		if !(i < j && j > 0 && i < float64(n)) {
			return fmt.Errorf("%w: the window from %g to %g shows nothing of %s, which runs from %s to %s", ErrOption, from, to, a.label, number(a.from), number(a.to))
		}
		first[k], last[k] = int(max(0, i)), int(min(float64(n), j))
		a.from, a.to = a.from+float64(first[k])*step, a.from+float64(last[k])*step
	}
	for _, c := range []*raster{r, r.under, r.grey} {
		if c == nil {
			continue
		}
		v := make([]float32, 0, (last[0]-first[0])*(last[1]-first[1]))
		for i := first[0]; i < last[0]; i++ {
			v = append(v, c.v[i*c.n1+first[1]:i*c.n1+last[1]]...)
		}
		c.v, c.n0, c.n1 = v, last[0]-first[0], last[1]-first[1]
	}
	return nil
}

// Wiggles: how far a trace reaches to the side at the clip and at most, in traces, and the most
// traces an inch.
const (
	wiggleReach = 1.0
	wiggleMost  = 1.8
	wigglesInch = 30
)

// wiggles draws traces as lines and fills what is positive.
func (r *raster) wiggles(x, y axis, inches float64) ([]plot.Plotter, error) {
	if most := int(wigglesInch * inches); r.n0 > most {
		return nil, fmt.Errorf("%w: %d traces are too many for wiggles on %.3g inches, at most %d; a window shows fewer", ErrOption, r.n0, inches, most)
	}
	dx, dy := (x.to-x.from)/float64(r.n0), (y.to-y.from)/float64(r.n1)
	var out []plot.Plotter
	for i := range r.n0 {
		zero, trace := x.from+(float64(i)+0.5)*dx, r.v[i*r.n1:(i+1)*r.n1]
		line := make(plotter.XYs, len(trace))
		var lobe plotter.XYs
		fill := &plotter.Polygon{Color: color.Black}
		for k, v := range trace {
			side := max(-wiggleMost, min(wiggleMost, wiggleReach*float64(v)/r.win.hi))
			line[k] = plotter.XY{X: zero + side*dx, Y: y.from + (float64(k)+0.5)*dy}
			if k > 0 && (trace[k-1] > 0) != (v > 0) { // where the line crosses zero
				share := float64(trace[k-1]) / float64(trace[k-1]-v)
				lobe = append(lobe, plotter.XY{X: zero, Y: line[k-1].Y + share*dy})
				if v <= 0 {
					fill.XYs, lobe = append(fill.XYs, lobe), nil
				}
			}
			if v > 0 {
				if lobe == nil {
					lobe = plotter.XYs{{X: zero, Y: line[k].Y}}
				}
				lobe = append(lobe, line[k])
			}
		}
		if lobe != nil {
			fill.XYs = append(fill.XYs, append(lobe, plotter.XY{X: zero, Y: line[len(line)-1].Y}))
		}
		if len(fill.XYs) > 0 {
			out = append(out, fill)
		}
		thin := plotter.DefaultLineStyle
		thin.Width = vg.Points(0.4)
		out = append(out, &plotter.Line{XYs: line, LineStyle: thin})
	}
	return out, nil
}

// on samples the layer at the points of a 2-D grid; beyond its own it goes on as it ends.
func (l *Layer) on(g grid.Grid) (*raster, error) {
	if l.Grid.Dim() != 2 || l.Grid.Domain != g.Domain || len(l.Values) != l.Grid.Len() {
		return nil, fmt.Errorf("picture: a layer of %d axes in %s cannot lie beneath an image of %d axes in %s", l.Grid.Dim(), l.Grid.Domain, g.Dim(), g.Domain)
	}
	r := &raster{n0: g.Shape[0], n1: g.Shape[1], v: make([]float32, g.Len()), smooth: true, colors: Sequential}
	p := make([]float64, 2)
	for i := range r.v {
		g.Point(p, i)
		at := 0
		for a, n := range l.Grid.Shape {
			k := math.Round((p[a] - l.Grid.Origin[a]) / l.Grid.Spacing[a])
			at = at*n + int(max(0, min(float64(n-1), k)))
		}
		r.v[i] = float32(l.Values[at])
	}
	r.win = fullWindow(r.v)
	return r, nil
}
