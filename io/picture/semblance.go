package picture

import (
	"cmp"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// Panel shows the semblances of residual moveout below one point of the surface.
type Panel struct {
	Name      string    // of the point
	Values    []float64 // [γ, nz], 0 to 1
	Line      []float64 // [nz], γ of the trajectory
	At, Depth []float64 // γ and depth of each pick
}

// Semblances draws panels over evenly spaced values of γ, or of the quantity of Options.Across, side by
// side, the last axis of the grid downward. Each has its name above, its trajectory as a line and its
// picks as dots. A value that is NaN or infinite is an error.
func Semblances(g grid.Grid, gammas []float64, panels []Panel, opt Options) (*Figure, error) {
	n, last := len(gammas), g.Dim()-1
	nz, count := g.Shape[last], len(panels)
	if count == 0 || n < 2 {
		return nil, fmt.Errorf("picture: %d panels of %d values of γ: nothing to draw", count, n)
	}
	depth := cells(g, last)
	x := axis{from: 0, to: float64(count), label: cmp.Or(opt.Across, "γ"), given: []plot.Tick{}}
	step := gammas[1] - gammas[0]
	place := func(k int, gamma float64) float64 {
		return float64(k) + ((gamma-gammas[0])/step+0.5)/float64(n)
	}
	low, high := labelled(gammas, count)
	labels := []float64{low, 1, high}
	if opt.Across != "" {
		labels = []float64{gammas[0], gammas[n/2], gammas[n-1]}
	}
	above := style(noteSize, false)
	above.XAlign, above.YAlign = text.XCenter, text.YBottom
	names := plotter.Labels{Offset: vg.Point{Y: vg.Points(gap)}}
	black, red := color.RGBA{A: 255}, color.RGBA{R: 200, G: 30, B: 30, A: 255}
	var values []float32
	var over []plot.Plotter
	for k, p := range panels {
		if len(p.Values) != n*nz || len(p.Line) != nz || len(p.At) != len(p.Depth) {
			return nil, fmt.Errorf("picture: panel %s has %d semblances and %d points of a line for %d by %d", p.Name, len(p.Values), len(p.Line), n, nz)
		}
		v, err := finite(p.Values, func(i int) string { return fmt.Sprintf("%s, γ %g, depth %d", p.Name, gammas[i/nz], i%nz) })
		if err != nil {
			return nil, err
		}
		values = append(values, v...)
		for _, gamma := range labels {
			x.given = append(x.given, plot.Tick{Value: place(k, gamma), Label: fmt.Sprintf("%.4g", gamma)})
		}
		line := make(plotter.XYs, nz)
		for i, gamma := range p.Line {
			line[i] = plotter.XY{X: place(k, gamma), Y: g.Coord(last, i)}
		}
		dots := make(plotter.XYs, len(p.At))
		for i, gamma := range p.At {
			dots[i] = plotter.XY{X: place(k, gamma), Y: p.Depth[i]}
		}
		if opt.Across == "" {
			flat := plotter.XYs{{X: place(k, 1), Y: depth.from}, {X: place(k, 1), Y: depth.to}}
			over = append(over, &plotter.Line{XYs: flat, LineStyle: draw.LineStyle{Color: black, Width: vg.Points(0.5), Dashes: []vg.Length{vg.Points(3), vg.Points(3)}}})
		}
		over = append(over,
			&plotter.Line{XYs: line, LineStyle: draw.LineStyle{Color: red, Width: vg.Points(1.2)}},
			&plotter.Scatter{XYs: dots, GlyphStyle: draw.GlyphStyle{Color: red, Radius: vg.Points(1.8), Shape: draw.CircleGlyph{}}})
		names.XYs = append(names.XYs, plotter.XY{X: float64(k) + 0.5, Y: depth.from + 1e-9*depth.length()})
		names.Labels, names.TextStyle = append(names.Labels, p.Name), append(names.TextStyle, above)
		if k > 0 {
			at := plotter.XYs{{X: float64(k), Y: depth.from}, {X: float64(k), Y: depth.to}}
			over = append(over, &plotter.Line{XYs: at, LineStyle: plotter.DefaultLineStyle})
		}
	}
	r := &raster{v: values, n0: count * n, n1: nz, smooth: true, colors: opt.Colors}
	if opt.Colors == Default {
		r.colors = Sequential
	}
	r.win = window{lo: 0, hi: 1}
	p := newPanel(cmp.Or(opt.Size[0], max(mostGathers, leastGather*float64(count))), cmp.Or(opt.Size[1], 4), x, depth, opt.Title)
	p.raster, p.plotters = r, append(over, &names)
	return single(p, "semblance"), nil
}

// labelled are the least and the greatest γ that have a label in each of n panels: the ends, or
// twentieths within them if labels of neighbouring panels would touch.
func labelled(gammas []float64, panels int) (low, high float64) {
	low, high = gammas[0], gammas[len(gammas)-1]
	if inset := (high - low) / 8; panels > 3 {
		low, high = math.Ceil((low+inset)*20)/20, math.Floor((high-inset)*20)/20
	}
	return low, high
}
