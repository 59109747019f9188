package h5

import (
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// The values of the root attribute format.
const (
	FormatSurvey = "lsm-survey"
	FormatModel  = "lsm-model"
	FormatTables = "lsm-tables"
	FormatImage  = "lsm-image"
)

// FormatVersion is the root attribute format_version of what this package
// writes, and the newest that it reads.
const FormatVersion = 1

// checkFormat refuses a file that says it is of another format or of a newer
// version. A file that says nothing, such as one written by hand with h5py, is
// judged by its datasets alone.
func (f *File) checkFormat(formats ...string) error {
	a := f.Attrs()
	if a.Has("format") {
		have, err := a.Text("format")
		if err != nil {
			return err
		}
		if !slices.Contains(formats, have) {
			return inputError(f.path, "@format", "is %q, want %q", have, formats[0])
		}
	}
	if a.Has("format_version") {
		v, err := a.Int("format_version")
		if err != nil {
			return err
		}
		if v < 1 || v > FormatVersion {
			return inputError(f.path, "@format_version", "is %d, this program reads 1 to %d", v, FormatVersion)
		}
	}
	return nil
}

// gridOf reads the grid of a dataset whose trailing axes, from axis first on,
// are its points. Origin and spacing are attributes of the dataset, or of the
// root.
func (f *File) gridOf(d *Dataset, first int) (grid.Grid, error) {
	dim := len(d.shape) - first
	g := grid.Grid{Shape: slices.Clone(d.shape[first:])}
	for _, p := range []struct {
		name string
		to   *[]float64
	}{{"origin", &g.Origin}, {"spacing", &g.Spacing}} {
		from := d.Attrs()
		if !from.Has(p.name) && f.Attrs().Has(p.name) {
			from = f.Attrs()
		}
		v, err := from.Floats(p.name, dim)
		if err != nil {
			return grid.Grid{}, err
		}
		*p.to = v
	}
	if err := g.Validate(); err != nil {
		return grid.Grid{}, inputError(f.path, d.name, "%w", err)
	}
	return g, nil
}

// wantGridAxes refuses a dataset that has not 2 or 3 axes beyond the leading
// ones.
func wantGridAxes(d *Dataset, leading int, text string) error {
	if dim := len(d.shape) - leading; (dim == 2 || dim == 3) && d.len > 0 {
		return nil
	}
	return inputError(d.path, d.name, "has shape %s, want %s", shapeText(d.shape), text)
}

// pointText names a point of a grid by index and position.
func pointText(g grid.Grid, n int) string {
	index := make([]int, g.Dim())
	at := make([]float64, g.Dim())
	g.Point(at, n)
	for a := g.Dim() - 1; a >= 0; a-- {
		index[a] = n % g.Shape[a]
		n /= g.Shape[a]
	}
	return fmt.Sprintf("%s at %s m", shapeText(index), tuple(at))
}

func tuple(v []float64) string {
	s := "("
	for i, x := range v {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%g", x)
	}
	return s + ")"
}
