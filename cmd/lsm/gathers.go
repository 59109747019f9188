package main

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// shownGathers is how many image gathers are shown unless told otherwise.
const shownGathers = 5

// readGathers reads image gathers at the given places, x in 2-D and x, y in turn in
// 3-D; none stands for some that are spread along x.
func readGathers(r *h5.GatherReader, at []float64) (out []picture.ImageGather, err error) {
	g := r.Grid()
	axes := g.Dim() - 1
	if len(at)%axes != 0 {
		return nil, status.Usage(fmt.Errorf("--gather: %s, want x, y of each gather of a 3-D image", readable.Count(len(at), "value")))
	}
	if len(at) == 0 {
		for k := range shownGathers {
			at = append(at, g.Coord(0, (2*k+1)*g.Shape[0]/(2*shownGathers)))
			if axes == 2 {
				at = append(at, g.Coord(1, g.Shape[1]/2))
			}
		}
	}
	for ; len(at) > 0; at = at[axes:] {
		column, name := 0, ""
		for a := range axes {
			i := math.Round((at[a] - g.Origin[a]) / g.Spacing[a])
			axis := [2]string{"x", "y"}[a]
			if !(i >= 0 && i < float64(g.Shape[a])) {
				return nil, status.Usage(fmt.Errorf("--gather: %s = %s m lies outside the image, [%s, %s] m", axis, readable.Length(at[a]), readable.Length(g.Origin[a]), readable.Length(g.End(a))))
			}
			column = column*g.Shape[a] + int(i)
			if a > 0 {
				name += ", "
			}
			name += fmt.Sprintf("%s = %s m", axis, readable.Length(g.Coord(a, int(i))))
		}
		v, err := r.Panel(column)
		if err != nil {
			return nil, err
		}
		out = append(out, picture.ImageGather{Name: name, Values: v})
	}
	return out, nil
}

// classesOf says what the classes of gathers are.
func classesOf(g h5.Gathers) picture.Classes {
	return picture.Classes{Name: g.Kind, Unit: h5.GatherUnits(g.Kind), Centers: g.Centers}
}

func noGathers(file string) error {
	return status.Hint(status.Input(fmt.Errorf("%s: has no /gathers", file)), "image.gathers makes lsm run and lsm migrate write them")
}

// imageGathers draws the gathers of an image file, nil where there are none.
func (f *plotFlags) imageGathers(file string, opt picture.Options) (*picture.Figure, error) {
	f.used = append(f.used, "gather")
	r, err := h5.OpenGathers(file)
	if err != nil {
		return nil, err
	}
	if r == nil {
		if len(f.gathers) > 0 {
			return nil, noGathers(file)
		}
		return nil, nil
	}
	defer r.Close()
	gathers, err := readGathers(r, f.gathers)
	if err != nil {
		return nil, err
	}
	opt.Title = "gathers by " + r.Kind
	return drawable(picture.ImageGathers(r.Grid(), gathers, classesOf(r.Gathers), opt))
}
