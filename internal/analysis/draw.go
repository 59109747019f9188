package analysis

import (
	"fmt"
	"math"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// drawn is the number of places that a picture shows.
const drawn = 6

// places are the places that a picture shows, evenly along x; in 3-D those of the section nearest to the middle of y.
func (c *Scan) places() (list []int) {
	var all []int
	section := c.section()
	for i := range c.Spectra {
		if x := c.position(i); len(x) == 1 || x[1] == section {
			all = append(all, i)
		}
	}
	n := min(drawn, len(all))
	for i := range n {
		list = append(list, all[(2*i+1)*len(all)/(2*n)])
	}
	return list
}

// section is y of the places nearest to the middle along y, m; 0 on a line.
func (c *Scan) section() (y float64) {
	g, off := c.Gathers.Grid, math.Inf(1)
	for i := range c.Spectra {
		if x := c.position(i); len(x) > 1 {
			if d := math.Abs(x[1] - (g.Origin[1]+g.End(1))/2); d < off {
				y, off = x[1], d
			}
		}
	}
	return y
}

// position is where a place lies along x, in 3-D and along y.
func (c *Scan) position(place int) []float64 {
	g := c.Gathers.Grid
	x := make([]float64, g.Dim())
	g.Point(x, c.Spectra[place].Column*g.Shape[g.Dim()-1])
	return x[:g.Dim()-1]
}

func (c *Scan) name(place int) string {
	g := c.Gathers.Grid
	return fmt.Sprintf("%s = %s %s", g.AxisName(0), g.Text(0, c.position(place)[0]), g.Unit(0))
}

// titled is a title, in 3-D with the section that is shown.
func (c *Scan) titled(title string) string {
	g := c.Gathers.Grid
	if g.Dim() == 2 {
		return title
	}
	return fmt.Sprintf("%s, %s = %s %s", title, g.AxisName(1), g.Text(1, c.section()), g.Unit(1))
}

// Panels draws semblances of places along the line, with the trajectories and the picks.
func (c *Scan) Panels(title string) (*picture.Figure, error) {
	gammas := c.Options.Gammas()
	var panels []picture.Panel
	for _, i := range c.places() {
		p := picture.Panel{Name: c.name(i), Values: c.Spectra[i].Semblance, Line: c.Trajectories[i]}
		x := c.position(i)
		for _, q := range c.Picks {
			if q.X == x[0] && (len(x) == 1 || q.Y == x[1]) {
				p.At, p.Depth = append(p.At, q.Gamma), append(p.Depth, q.Z)
			}
		}
		panels = append(panels, p)
	}
	return picture.Semblances(c.Gathers.Grid, gammas, panels, picture.Options{Title: c.titled(title)})
}

// Flattened draws gathers of places along the line, and below them the same gathers with the picked
// moveout taken off.
func (c *Scan) Flattened(title string) (*picture.Figure, error) {
	g := c.Gathers.Grid
	none := make([]float64, g.Shape[g.Dim()-1])
	for i := range none {
		none[i] = 1
	}
	var before, after []picture.ImageGather
	for _, i := range c.places() {
		column := c.Spectra[i].Column
		panel, err := c.Gathers.Panel(column)
		if err != nil {
			return nil, err
		}
		before = append(before, picture.ImageGather{Name: c.name(i), Values: c.Gathers.Flatten(column, panel, none, c.Options)})
		after = append(after, picture.ImageGather{Name: c.name(i), Values: c.Gathers.Flatten(column, panel, c.Trajectories[i], c.Options)})
	}
	classes := picture.Classes{Name: "offset", Unit: "m", Centers: c.Gathers.Offsets}
	top, err := picture.ImageGathers(g, before, classes, picture.Options{Title: c.titled(title)})
	if err != nil {
		return nil, err
	}
	bottom, err := picture.ImageGathers(g, after, classes, picture.Options{Title: "flattened along the picks"})
	if err != nil {
		return nil, err
	}
	return picture.Stack(top, bottom), nil
}

// WriteCSV writes the picks as text, a line each below one with the names.
func (c *Scan) WriteCSV(path string) error {
	text, g := &strings.Builder{}, c.Gathers.Grid
	units := map[grid.Domain][4]string{grid.Depth: {"z_m", "slope", "speed", "datum_m"}, grid.Time: {"t_s", "slope_s_per_m", "v_m_per_s", "datum_s"}}[g.Domain]
	fmt.Fprintf(text, "x_m,%s,gamma,semblance,width,certainty,%s,far_m,%s,%s", units[0], units[1], units[2], units[3])
	if g.Dim() == 3 {
		fmt.Fprintf(text, ",y_m,%s", strings.Replace(units[1], "slope", "slope_y", 1))
	}
	if c.HasEllipses() {
		fmt.Fprint(text, ",fast_axis_degrees,anisotropy_percent,anisotropy_deviation_percent")
	}
	fmt.Fprintln(text)
	for _, p := range c.Picks {
		list := []string{}
		for _, v := range values(&p, g.Dim(), c.HasEllipses()) {
			list = append(list, fmt.Sprintf("%.8g", *v))
		}
		fmt.Fprintln(text, strings.Join(list, ","))
	}
	if err := plainfile.Write(path, []byte(text.String()), true); err != nil {
		return status.Resource(fmt.Errorf("%s: %w", path, err))
	}
	return nil
}
