package h5

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// ReadSurface reads the topography /surface [nx] or [nx, ny], z in m, of an image of
// dim axes, with the grid of its horizontal axes from the attributes origin and
// spacing. Every value must be finite.
func ReadSurface(path string, dim int) (grid.Grid, []float64, error) {
	f, err := Open(path)
	if err != nil {
		return grid.Grid{}, nil, err
	}
	defer f.Close()
	g, z, err := f.surface(dim)
	if err != nil {
		return grid.Grid{}, nil, err
	}
	return g, z, nil
}

func (f *File) surface(dim int) (grid.Grid, []float64, error) {
	d, err := f.Dataset("/surface")
	if err != nil {
		return grid.Grid{}, nil, err
	}
	if text := map[int]string{2: "[nx]", 3: "[nx, ny]"}[dim]; len(d.shape) != dim-1 || d.len == 0 {
		return grid.Grid{}, nil, inputError(f.path, d.name, "has shape %s, want %s for an image of %d axes", shapeText(d.shape), text, dim)
	}
	if err := wantUnits(d, metres); err != nil {
		return grid.Grid{}, nil, err
	}
	g := grid.Grid{Shape: d.shape}
	if g.Origin, err = d.Attrs().Floats("origin", dim-1); err != nil {
		return grid.Grid{}, nil, err
	}
	if g.Spacing, err = d.Attrs().Floats("spacing", dim-1); err != nil {
		return grid.Grid{}, nil, err
	}
	for a, h := range g.Spacing {
		if !(h > 0) {
			return grid.Grid{}, nil, inputError(f.path, d.name+"@spacing", "is %g m along %s, must be positive", h, grid.AxisNames(dim)[a])
		}
		if !(h >= grid.LeastSpacing && h <= grid.GreatestSpacing) {
			return grid.Grid{}, nil, inputError(f.path, d.name+"@spacing", "is %g m along %s, must be from %g to %g m", h, grid.AxisNames(dim)[a], grid.LeastSpacing, grid.GreatestSpacing)
		}
		if o := g.Origin[a]; !(math.Abs(o) <= grid.Farthest) {
			return grid.Grid{}, nil, inputError(f.path, d.name+"@origin", "is %g m along %s, must be finite and at most %g m from 0", o, grid.AxisNames(dim)[a], grid.Farthest)
		}
	}
	z, err := Read[float64](d)
	if err != nil {
		return grid.Grid{}, nil, err
	}
	for i, v := range z {
		if !(math.Abs(v) <= grid.Farthest) {
			return grid.Grid{}, nil, inputError(f.path, d.name, "is %g m at point %s, must be finite and at most %g m from 0", v, pointText(g, i), grid.Farthest)
		}
	}
	return g, z, nil
}
