package h5

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// Property is a quantity that a model may hold next to /velocity, on the same grid. Properties up to Eta
// describe a transversely isotropic medium, Eta in two-way time and the others in depth. The last one says
// how sure the velocity is.
type Property int

const (
	Epsilon   Property = iota // of Thomsen 1986
	Delta                     // the same
	Tilt                      // of the symmetry axis from the vertical, degrees
	Azimuth                   // in which the axis leans, degrees from +x towards +y; 3-D only
	Eta                       // of Alkhalifah and Tsvankin 1995
	Deviation                 // standard deviation of /velocity, m/s; not of the medium, and no run reads it
	numProperties
)

// properties says how each is stored, and what its values may be.
var properties = [numProperties]struct {
	name            string
	degrees         bool
	least, greatest float64 // limits; only angles may equal the least
}{
	Epsilon:   {"epsilon", false, -0.5, 5},
	Delta:     {"delta", false, -0.5, 5},
	Tilt:      {"tilt", true, -180, 180},
	Azimuth:   {"azimuth", true, -360, 360},
	Eta:       {"eta", false, -0.5, 2},
	Deviation: {"standard_deviation", false, 0, math.Inf(1)},
}

// Properties lists those that a model in its domain may have.
func (r *ModelReader) Properties() []Property { return PropertiesIn(r.grid.Domain) }

// PropertiesIn lists those that a model in a domain may have.
func PropertiesIn(d grid.Domain) []Property {
	if d == grid.Time {
		return []Property{Eta}
	}
	return []Property{Epsilon, Delta, Tilt, Azimuth}
}

func (p Property) String() string { return properties[p].name }

// Unit is " degrees" of angles, "" of the others.
func (p Property) Unit() string {
	if properties[p].degrees {
		return " degrees"
	}
	return ""
}

var degrees = []string{"degrees", "degree", "deg"}

// OpenAnisotropy opens the properties that the file holds. Their grid must be that of
// /velocity. Without it the model counts as isotropic.
func (r *ModelReader) OpenAnisotropy() error {
	for _, p := range r.Properties() {
		name := "/" + p.String()
		if !r.Has(name) {
			continue
		}
		d, err := r.Dataset(name)
		if err == nil {
			err = sameGrid(d, r.data.name, r.grid)
		}
		if err == nil && p.Unit() != "" {
			err = wantUnits(d, degrees)
		}
		if err != nil {
			return err
		}
		r.beside[p] = d
	}
	return nil
}

// openAll opens what a model file holds, in the order in which a run does.
func (r *ModelReader) openAll() error {
	if err := r.open(""); err != nil {
		return err
	}
	return r.OpenAnisotropy()
}

// sameGrid refuses a dataset whose grid is not g, that of another dataset, as far as it says.
func sameGrid(d *Dataset, other string, g grid.Grid) error {
	if !slices.Equal(d.shape, g.Shape) {
		return inputError(d.path, d.name, "has shape %s, want %s, that of %s", shapeText(d.shape), shapeText(g.Shape), other)
	}
	own := g
	for _, part := range []struct {
		name string
		to   *[]float64
	}{{"origin", &own.Origin}, {"spacing", &own.Spacing}} {
		if !d.Attrs().Has(part.name) {
			continue
		}
		want := *part.to
		found, err := d.Attrs().Floats(part.name, g.Dim())
		if err != nil {
			return err
		}
		if *part.to = found; own.Validate() != nil || !own.Equal(g) {
			return inputError(d.path, d.name+"@"+part.name, "is %s, want %s, that of %s", tuple(found), tuple(want), other)
		}
	}
	return nil
}

// Holds reports whether OpenAnisotropy has found a property.
func (r *ModelReader) Holds(p Property) bool { return r.beside[p] != nil }

// ReadProperty is Read for a property. It returns nil for one that the file does not hold,
// which stands for zeros.
func (r *ModelReader) ReadProperty(p Property, first, n int) ([]float64, error) {
	d := r.beside[p]
	if d == nil {
		return nil, nil
	}
	if err := checkMemory(r.path, d.name, n, sizeOf[float64]()); err != nil {
		return nil, err
	}
	v := make([]float64, n)
	err := ReadAt(d, v, first)
	if err == nil {
		err = r.admit(p, v, first)
	}
	return v, err
}

// PropertyRange is Range for a property: zeros for one that the file does not hold.
func (r *ModelReader) PropertyRange(p Property) (least, greatest float64, err error) {
	if !r.Holds(p) {
		return 0, 0, nil
	}
	least, greatest = math.Inf(1), math.Inf(-1)
	var fault error // the first; a digest that differs explains it
	err = EachPart(r.beside[p], func(first int, v []float64) {
		fault = cmp.Or(fault, r.admit(p, v, first))
		least, greatest = min(least, slices.Min(v)), max(greatest, slices.Max(v))
	})
	return least, greatest, cmp.Or(err, fault)
}

// admit refuses values of a property, from number first on, that no medium has.
func (r *ModelReader) admit(p Property, v []float64, first int) error {
	if err := p.admit(r.grid, v, first); err != nil {
		return inputError(r.path, r.beside[p].name, "%w", err)
	}
	return nil
}

// Admit refuses values of a property on a grid, in C order, that no medium has.
func (p Property) Admit(g grid.Grid, v []float64) error { return p.admit(g, v, 0) }

func (p Property) admit(g grid.Grid, v []float64, first int) error {
	limit := properties[p]
	want := fmt.Sprintf("above %g and at most %g, a fraction", limit.least, limit.greatest)
	if limit.degrees {
		want = fmt.Sprintf("from %g to %g degrees", limit.least, limit.greatest)
	}
	if p == Azimuth && g.Dim() == 2 {
		limit.least, limit.greatest, want = 0, 0, "0 in a 2-D model, whose axis leans along x"
	}
	for i, x := range v {
		if !(x >= limit.least && x <= limit.greatest) || x == limit.least && !limit.degrees {
			return fmt.Errorf("is %g%s at point %s, must be %s", x, p.Unit(), pointText(g, first+i), want)
		}
	}
	return nil
}

// Beside is a property that is written with a model, in C order over its grid.
type Beside struct {
	Property Property
	Values   []float64
}

// write writes a property on a grid.
func (b Beside) write(w *Writer, g grid.Grid) error {
	attrs := gridAttrs(g)
	if b.Property.Unit() != "" {
		attrs = append(attrs, Attr{"units", degrees[0]})
	}
	if b.Property == Deviation {
		attrs = append(attrs, Attr{"units", "m/s"})
	}
	_, err := over(w, "/"+b.Property.String(), gridAxes(g), b.Values, attrs...)
	return err
}
