package h5

import (
	"cmp"
	"math"
	"slices"

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
	r, err := OpenModel(path, unit)
	if err != nil {
		return grid.Grid{}, nil, err
	}
	defer r.Close()
	v, err := Read[float64](r.data)
	if err == nil {
		err = r.convert(v, 0)
	}
	if err != nil {
		return r.grid, nil, err
	}
	return r.grid, v, nil
}

// ModelReader reads the velocity model of a file part by part, since it need not fit into
// memory.
type ModelReader struct {
	*File
	data   *Dataset
	grid   grid.Grid
	factor float64 // of the file's unit, m/s
	beside [numProperties]*Dataset
	kind   VelocityKind
}

// OpenModel opens the velocity model of a file. unit is as in ReadModelIn.
func OpenModel(path, unit string) (*ModelReader, error) {
	return opening(path, func(f *File) (*ModelReader, error) {
		r := &ModelReader{File: f}
		return r, r.open(unit)
	})
}

func (r *ModelReader) open(unit string) (err error) {
	if r.data, r.grid, err = r.model(); err == nil {
		unit, err = speedUnit(r.data, unit)
	}
	r.factor = velocity.Factor(unit)
	if err == nil {
		err = r.findKind()
	}
	return err
}

// Grid is the grid of the model.
func (r *ModelReader) Grid() grid.Grid { return r.grid }

// Read returns n velocities from number first on, in m/s, in C order over [nx, (ny,) nz].
// They must be finite and positive. See [ReadAt] on ranges and digests.
func (r *ModelReader) Read(first, n int) ([]float64, error) {
	if err := checkMemory(r.path, r.data.name, n, sizeOf[float64]()); err != nil {
		return nil, err
	}
	v := make([]float64, n)
	err := ReadAt(r.data, v, first)
	if err == nil {
		err = r.convert(v, first)
	}
	return v, err
}

// Range reads the whole model, part by part, and returns the least and the greatest
// velocity, in m/s. It compares all with the digest in the same pass.
func (r *ModelReader) Range() (least, greatest float64, err error) {
	least, greatest = math.Inf(1), 0
	var fault error // the first; a digest that differs explains it
	err = EachPart(r.data, func(first int, v []float64) {
		fault = cmp.Or(fault, r.convert(v, first))
		least, greatest = min(least, slices.Min(v)), max(greatest, slices.Max(v))
	})
	return least, greatest, cmp.Or(err, fault)
}

// convert makes m/s of velocities from number first on.
func (r *ModelReader) convert(v []float64, first int) error {
	for i, c := range v {
		if !(c > 0) || math.IsInf(c, 0) {
			return inputError(r.path, r.data.name, "is %g m/s at point %s, must be positive and finite", c, pointText(r.grid, first+i))
		}
		v[i] = r.factor * c
		if err := velocity.Possible(v[i]); err != nil {
			return inputError(r.path, r.data.name, "at point %s: %w", pointText(r.grid, first+i), err)
		}
	}
	return nil
}

func (f *File) model() (*Dataset, grid.Grid, error) {
	if err := f.checkFormat(FormatModel, FormatSurvey); err != nil {
		return nil, grid.Grid{}, err
	}
	return f.field("/velocity")
}

// WriteModel writes a velocity model, m/s in C order, as float32 or float64 as
// it comes, and properties beside it. In the time domain the velocities are root-mean-square ones.
func WriteModel[T float32 | float64](path string, g grid.Grid, v []T, opt WriteOptions, beside ...Beside) error {
	return writeModel(path, g, v, nil, opt, beside)
}

// WriteTimeModel is WriteModel for velocities of a kind on a grid in the time domain.
func WriteTimeModel[T float32 | float64](path string, g grid.Grid, kind VelocityKind, v []T, opt WriteOptions, beside ...Beside) error {
	return writeModel(path, g, v, []Attr{{"kind", string(kind)}}, opt, beside)
}

func writeModel[T float32 | float64](path string, g grid.Grid, v []T, attrs []Attr, opt WriteOptions, beside []Beside) error {
	w, err := Create(path, FormatModel, opt)
	if err != nil {
		return err
	}
	defer w.Abort()
	attrs = slices.Concat(gridAttrs(g), []Attr{{"units", "m/s"}}, attrs)
	if _, err := over(w, "/velocity", gridAxes(g), v, attrs...); err != nil {
		return err
	}
	for _, b := range beside {
		if err := b.write(w, g); err != nil {
			return err
		}
	}
	return w.Commit()
}

// ReadSurface reads the topography /surface [nx] or [nx, ny], z in m, of an image of
// dim axes, with the grid of its horizontal axes from the attributes origin and
// spacing. Every value must be finite.
func ReadSurface(path string, dim int) (g grid.Grid, z []float64, err error) {
	z, err = reading(path, func(f *File) (z []float64, err error) {
		g, z, err = f.surface(dim)
		return z, err
	})
	return g, z, err
}

func (f *File) surface(dim int) (g grid.Grid, z []float64, err error) {
	d, err := f.Dataset("/surface")
	if err != nil {
		return g, nil, err
	}
	if text := map[int]string{2: "[nx]", 3: "[nx, ny]"}[dim]; len(d.shape) != dim-1 || d.len == 0 {
		return g, nil, inputError(f.path, d.name, "has shape %s, want %s for an image of %d axes", shapeText(d.shape), text, dim)
	}
	if err := wantUnits(d, metres); err != nil {
		return g, nil, err
	}
	g.Shape = d.shape
	if g.Origin, err = d.Attrs().Floats("origin", dim-1); err != nil {
		return g, nil, err
	}
	if g.Spacing, err = d.Attrs().Floats("spacing", dim-1); err != nil {
		return g, nil, err
	}
	below := grid.Grid{Origin: append(g.Origin, 0), Spacing: append(g.Spacing, 1), Shape: append(slices.Clone(g.Shape), 1)}
	if err := below.Validate(); err != nil {
		return g, nil, inputError(f.path, d.name, "%w", err)
	}
	if z, err = Read[float64](d); err != nil {
		return g, nil, err
	}
	for i, v := range z {
		if !(math.Abs(v) <= grid.Farthest) {
			return g, nil, inputError(f.path, d.name, "is %g m at point %s, must be finite and at most %g m from 0", v, pointText(g, i), grid.Farthest)
		}
	}
	return g, z, nil
}
