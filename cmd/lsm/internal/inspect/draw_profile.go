package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// profiles draws images along the axis that --profile leaves out.
func (d *drawing) profiles(files []string) (*picture.Figure, error) {
	if d.convergence {
		return nil, status.Usage(errors.New("plot: give --profile or --convergence, not both"))
	}
	opt, err := d.options(nil)
	if err != nil {
		return nil, err
	}
	var lines []picture.Line
	var axis, place string
	for i, file := range files {
		line, along, at, err := d.lineOf(file)
		if err != nil {
			return nil, err
		}
		if i > 0 && along != axis {
			return nil, status.Input(fmt.Errorf("%s has its profile along %s, %s along %s", file, along, files[0], axis))
		}
		axis = along
		place = cmp.Or(place, at)
		if at != place {
			line.Name += " at " + at
		}
		lines = append(lines, line)
	}
	opt.Title = cmp.Or(d.title, "profile at "+place)
	f, err := picture.Profiles(axis, "amplitude", opt, lines...)
	return f, status.Input(err)
}

// lineOf reads the profile of an image file, and says what its axis is and where it lies.
func (d *drawing) lineOf(file string) (line picture.Line, axis, place string, err error) {
	if kind, err := h5.Kind(file); err != nil {
		return line, "", "", withFormatHint(file, err)
	} else if kind != "image" {
		return line, "", "", status.Usage(fmt.Errorf("plot: --profile: %s is of kind %s, profiles are drawn of images", file, kind))
	}
	r, err := h5.OpenImage(file)
	if err != nil {
		return line, "", "", err
	}
	defer r.Close()
	g := r.Grid()
	part, along, err := partOf(g, d.profile)
	if err != nil {
		return line, "", "", status.Usage(fmt.Errorf("plot: --profile %q: %s: %w", d.profile, file, err))
	}
	name, deviation := "/image", "/standard_deviation"
	if !r.Has(name) {
		name, deviation = "/reflectivity", ""
	}
	line.Name = filepath.Base(file)
	if line.Y, err = readLine(r.File, name, part); err != nil {
		return line, "", "", err
	}
	for i := range line.Y {
		line.X = append(line.X, g.Coord(along, i))
	}
	if deviation != "" && r.Has(deviation) {
		line.Name += " ± one standard deviation"
		if line.Deviation, err = readLine(r.File, deviation, part); err != nil {
			return line, "", "", err
		}
	}
	var at []string
	for a, n := range part.Count {
		if a != along {
			at = append(at, fmt.Sprintf("%s = %g %s", g.AxisName(a), g.Coord(a, part.First[a]), g.Unit(a)))
		} else if n < 2 {
			return line, "", "", status.Usage(fmt.Errorf("plot: --profile %q: %s has one point along %s", d.profile, file, g.AxisName(a)))
		}
	}
	return line, fmt.Sprintf("%s (%s)", g.AxisName(along), g.Unit(along)), strings.Join(at, ", "), nil
}

// readLine reads part of a dataset.
func readLine(f *h5.File, name string, part h5.Part) ([]float64, error) {
	set, err := f.Dataset(name)
	if err != nil {
		return nil, err
	}
	v := make([]float64, part.Len())
	if err := h5.ReadPart(set, v, part); err != nil {
		return nil, err
	}
	for i, x := range v {
		if x-x != 0 {
			return nil, status.Input(fmt.Errorf("%s: element %d of the profile is %g, must be finite", name, i, x))
		}
	}
	return v, nil
}

// partOf is the line of a grid that a text such as x=100,y=20 names, and the axis it runs along:
// through the points that are nearest to these coordinates, which lie in the grid.
func partOf(g grid.Grid, text string) (p h5.Part, along int, err error) {
	given := map[string]float64{}
	for _, field := range strings.Split(text, ",") {
		name, number, ok := strings.Cut(field, "=")
		v, err := strconv.ParseFloat(number, 64)
		if _, again := given[name]; !ok || again || err != nil || v-v != 0 {
			return p, 0, fmt.Errorf("%q is not an axis and a value, such as x=100", field)
		}
		given[name] = v
	}
	var names []string
	for a := range g.Shape {
		names = append(names, g.AxisName(a))
	}
	for name := range given {
		if !slices.Contains(names, name) {
			return p, 0, fmt.Errorf("there is no axis %q, but %s", name, strings.Join(names, ", "))
		}
	}
	along = -1
	for a, n := range g.Shape {
		first, count := 0, n
		if v, ok := given[g.AxisName(a)]; ok {
			at := math.Round((v - g.Origin[a]) / g.Spacing[a])
			if at < 0 || at >= float64(n) {
				return p, 0, fmt.Errorf("%s is %g, want %g to %g %s", g.AxisName(a), v, g.Origin[a], g.End(a), g.Unit(a))
			}
			first, count = int(at), 1
		} else if along >= 0 {
			return p, 0, fmt.Errorf("neither %s nor %s has a value: only one is drawn along", g.AxisName(along), g.AxisName(a))
		} else {
			along = a
		}
		p.First, p.Step, p.Count = append(p.First, first), append(p.Step, 1), append(p.Count, count)
	}
	if along < 0 {
		return p, 0, errors.New("all axes have values: leave out the one to draw along")
	}
	return p, along, nil
}
