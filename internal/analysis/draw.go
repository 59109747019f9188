package analysis

import (
	"fmt"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// drawn is the number of places that a picture shows.
const drawn = 6

// places are the places that a picture shows, evenly along the line.
func (c *Scan) places() (list []int) {
	n := min(drawn, len(c.Spectra))
	for i := range n {
		list = append(list, (2*i+1)*len(c.Spectra)/(2*n))
	}
	return list
}

func (c *Scan) name(place int) string {
	g := c.Gathers.Grid
	return fmt.Sprintf("%s = %s %s", g.AxisName(0), g.Text(0, g.Coord(0, c.Spectra[place].Column)), g.Unit(0))
}

// Panels draws semblances of places along the line, with the trajectories and the picks.
func (c *Scan) Panels(title string) (*picture.Figure, error) {
	gammas := c.Options.Gammas()
	var panels []picture.Panel
	for _, i := range c.places() {
		p := picture.Panel{Name: c.name(i), Values: c.Spectra[i].Semblance, Line: c.Trajectories[i]}
		x := c.Gathers.Grid.Coord(0, c.Spectra[i].Column)
		for _, q := range c.Picks {
			if q.X == x {
				p.At, p.Depth = append(p.At, q.Gamma), append(p.Depth, q.Z)
			}
		}
		panels = append(panels, p)
	}
	return picture.Semblances(c.Gathers.Grid, gammas, panels, picture.Options{Title: title})
}

// Flattened draws gathers of places along the line, and below them the same gathers with the picked
// moveout taken off.
func (c *Scan) Flattened(title string) (*picture.Figure, error) {
	g := c.Gathers.Grid
	none := make([]float64, g.Shape[1])
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
	top, err := picture.ImageGathers(g, before, classes, picture.Options{Title: title})
	if err != nil {
		return nil, err
	}
	bottom, err := picture.ImageGathers(g, after, classes, picture.Options{Title: "flattened along the picks"})
	if err != nil {
		return nil, err
	}
	return picture.Stack(top, bottom), nil
}

// WriteCSV writes picks as text, a line each below one with the names.
func WriteCSV(path string, picks []moveout.Pick, domain grid.Domain) error {
	text := &strings.Builder{}
	units := map[grid.Domain][4]string{grid.Depth: {"z_m", "slope", "speed", "datum_m"}, grid.Time: {"t_s", "slope_s_per_m", "v_m_per_s", "datum_s"}}[domain]
	fmt.Fprintf(text, "x_m,%s,gamma,semblance,width,certainty,%s,far_m,%s,%s\n", units[0], units[1], units[2], units[3])
	for _, p := range picks {
		list := []string{}
		for _, v := range values(&p) {
			list = append(list, fmt.Sprintf("%.8g", *v))
		}
		fmt.Fprintln(text, strings.Join(list, ","))
	}
	if err := plainfile.Write(path, []byte(text.String()), true); err != nil {
		return status.Resource(fmt.Errorf("%s: %w", path, err))
	}
	return nil
}
