package h5

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
)

// ReadModel reads the velocity model /velocity [nx, (ny,) nz] with its grid from the
// attributes origin and spacing, and gives it in m/s, from whatever its attribute units
// says. Every velocity must be finite and positive. The file may be a model or a survey
// that carries one.
func ReadModel(path string) (grid.Grid, []float64, error) { return ReadModelIn(path, "") }

// ReadModelIn is ReadModel of a file whose velocities are in "m/s", "km/s" or "ft/s"; ""
// leaves that to the file. An attribute units that says otherwise is an error.
func ReadModelIn(path, unit string) (grid.Grid, []float64, error) {
	f, err := Open(path)
	if err != nil {
		return grid.Grid{}, nil, err
	}
	defer f.Close()
	g, d, err := f.modelGrid()
	if err != nil {
		return grid.Grid{}, nil, err
	}
	if unit, err = speedUnit(d, unit); err != nil {
		return grid.Grid{}, nil, err
	}
	v, err := Read[float64](d)
	if err != nil {
		return grid.Grid{}, nil, err
	}
	factor := velocity.Factor(unit)
	for i, c := range v {
		if !(c > 0) || math.IsInf(c, 0) {
			return grid.Grid{}, nil, inputError(path, d.name, "is %g m/s at point %s, must be positive and finite", c, pointText(g, i))
		}
		v[i] = factor * c
		if err := velocity.Possible(v[i], v[i]); err != nil {
			return grid.Grid{}, nil, inputError(path, d.name, "at point %s: %w", pointText(g, i), err)
		}
	}
	return g, v, nil
}

// ReadModelGrid reads the grid of a velocity model and leaves the velocities.
func ReadModelGrid(path string) (grid.Grid, error) {
	f, err := Open(path)
	if err != nil {
		return grid.Grid{}, err
	}
	defer f.Close()
	g, _, err := f.modelGrid()
	return g, err
}

func (f *File) modelGrid() (grid.Grid, *Dataset, error) {
	if err := f.checkFormat(FormatModel, FormatSurvey); err != nil {
		return grid.Grid{}, nil, err
	}
	d, err := f.Dataset("/velocity")
	if err != nil {
		return grid.Grid{}, nil, err
	}
	if err := wantGridAxes(d, 0, "[nx, nz] or [nx, ny, nz]"); err != nil {
		return grid.Grid{}, nil, err
	}
	g, err := f.gridOf(d, 0)
	return g, d, err
}

// WriteModel writes a velocity model, m/s in C order, as float32 or float64 as
// it comes.
func WriteModel[T float32 | float64](path string, g grid.Grid, v []T, opt WriteOptions) error {
	w, err := Create(path, FormatModel, opt)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := writeField(w, "/velocity", g, v, "m/s"); err != nil {
		return err
	}
	return w.Commit()
}

// writeField writes an array over a grid with its origin, spacing and axes.
func writeField[T Number](w *Writer, name string, g grid.Grid, v []T, units string) error {
	if err := w.coordinates(g); err != nil {
		return err
	}
	attrs := []Attr{{"origin", g.Origin}, {"spacing", g.Spacing}}
	if units != "" {
		attrs = append(attrs, Attr{"units", units})
	}
	if err := Write(w, name, g.Shape, v, attrs...); err != nil {
		return err
	}
	return w.attachGrid(name, 0, g)
}
