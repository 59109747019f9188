package h5

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
)

// The values of the root attribute format.
const (
	FormatSurvey = "lsm-survey"
	FormatModel  = "lsm-model"
	FormatTables = "lsm-tables"
	FormatImage  = "lsm-image"

	FormatWavelet = "lsm-wavelet"
	FormatPicks   = "lsm-picks"
)

// FormatVersion is the root attribute format_version of files that this package writes, and the
// newest that it reads.
const FormatVersion = 1

// formats are the kinds of files: their names, the root attribute format, the datasets
// that mark a file without it, and the readers of all but the numbers.
var formats = []struct {
	kind, format string
	marks        []string
	readers      []func(f *File) error
}{
	{"survey", FormatSurvey, []string{"/sources"}, []func(f *File) error{
		func(f *File) error { return (&SurveyReader{File: f}).read() },
	}},
	{"tables", FormatTables, []string{"/source_time"}, []func(f *File) error{
		func(f *File) error { return (&Tables{File: f}).read() },
	}},
	{"image", FormatImage, []string{"/image", "/reflectivity"}, []func(f *File) error{
		func(f *File) error { return (&GatherReader{File: f}).read() },
		func(f *File) error { _, _, err := f.image(); return err },
		func(f *File) error { return f.readHistory(&Image{}) },
	}},
	{"model", FormatModel, []string{"/velocity"}, []func(f *File) error{
		func(f *File) error { _, _, err := f.model(); return err },
		func(f *File) error { return (&ModelReader{File: f}).openAll() },
	}},
	{"picks", FormatPicks, nil, []func(f *File) error{
		func(f *File) error { _, err := f.picks(); return err },
	}},
	{"surface", "", []string{"/surface"}, []func(f *File) error{
		func(f *File) error { _, _, err := f.surface(2); return err },
	}},
	{"wavelet", FormatWavelet, []string{"/wavelet"}, []func(f *File) error{
		func(f *File) error { _, err := f.wavelet(); return err },
	}},
	{"checkpoint", "lsm-checkpoint", nil, nil},
}

func (f *File) kind() (kind, format string) {
	if a := f.Attrs(); a.Has("format") {
		format, _ = a.Text("format") // reading the file reports an error
	}
	for _, k := range formats {
		if format != "" && format == k.format || format == "" && slices.ContainsFunc(k.marks, f.Has) {
			return k.kind, format
		}
	}
	return "unknown", format
}

// checkFormat refuses a file that says it is of another format or of a newer
// version. A file that says nothing, such as one written by hand with h5py, is judged only by its
// datasets.
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

// field opens a dataset over a grid: leading axes, perhaps, and then the points. Origin
// and spacing are attributes of the dataset, or of the root.
func (f *File) field(name string, leading ...string) (d *Dataset, g grid.Grid, err error) {
	if d, err = f.Dataset(name); err != nil {
		return nil, g, err
	}
	dim := len(d.shape) - len(leading)
	if dim != 2 && dim != 3 || d.len == 0 {
		lead := strings.Join(append(leading, ""), ", ")
		return nil, g, d.unwanted(fmt.Sprintf("[%snx, nz] or [%[1]snx, ny, nz]", lead))
	}
	g.Shape = slices.Clone(d.shape[len(leading):])
	for _, p := range []struct {
		name string
		to   *[]float64
	}{{"origin", &g.Origin}, {"spacing", &g.Spacing}} {
		from := d.Attrs()
		if !from.Has(p.name) && f.Attrs().Has(p.name) {
			from = f.Attrs()
		}
		if *p.to, err = from.Floats(p.name, dim); err != nil {
			return nil, g, err
		}
	}
	if g.Domain, err = f.domain(d); err != nil {
		return nil, g, err
	}
	if dim == 3 {
		if g.Frame, err = f.frame(d.Attrs()); err != nil {
			return nil, g, err
		}
	}
	if err := g.Validate(); err != nil {
		return nil, g, inputError(f.path, name, "%w", err)
	}
	return d, g, nil
}

// domain returns the domain of a dataset's grid: from its attribute, or from that of the root.
// Without both it is depth.
func (f *File) domain(d *Dataset) (grid.Domain, error) {
	from := d.Attrs()
	if !from.Has("domain") {
		if from = f.Attrs(); !from.Has("domain") {
			return grid.Depth, nil
		}
	}
	text, err := from.Text("domain")
	if err != nil {
		return grid.Depth, err
	}
	domain, err := grid.ParseDomain(strings.TrimSpace(text))
	if err != nil {
		return domain, from.fault("domain", "is %q, want %q or %q", text, grid.Depth, grid.Time)
	}
	return domain, nil
}

// gridAttrs are the attributes that field reads.
func gridAttrs(g grid.Grid) []Attr {
	attrs := []Attr{{"origin", g.Origin}, {"spacing", g.Spacing}}
	if g.Domain != grid.Depth {
		attrs = append(attrs, Attr{"domain", g.Domain.String()})
	}
	return append(attrs, frameAttrs(g.Frame)...)
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
	if g.Domain != grid.Depth {
		return fmt.Sprintf("%s at %s", shapeText(index), g.Place(at))
	}
	return fmt.Sprintf("%s at %s m", shapeText(index), tuple(at))
}

func tuple(v []float64) string {
	return "(" + strings.Trim(strings.ReplaceAll(fmt.Sprint(v), " ", ", "), "[]") + ")"
}

// Spellings of the units that datasets are read in.
var (
	metres  = []string{"m", "meter", "meters", "metre", "metres"}
	seconds = []string{"s", "sec", "second", "seconds"}
)

// wantUnits refuses a dataset with an attribute units in none of the spellings; the
// message names the first of them.
func wantUnits(d *Dataset, spellings []string) error {
	text, err := units(d)
	if err != nil || text == "" || slices.Contains(spellings, strings.ToLower(text)) {
		return err
	}
	return inputError(d.path, d.name+"@units", "is %q, want %q: the numbers are taken for %[2]s", text, spellings[0])
}

// units is a dataset's attribute of that name, "" where it has none.
func units(d *Dataset) (string, error) {
	if !d.Attrs().Has("units") {
		return "", nil
	}
	text, err := d.Attrs().Text("units")
	return strings.TrimSpace(text), err
}

// speedUnit is the unit of velocities: that of the attribute units, or else the one
// wanted, which "" leaves to the file. Two that differ are an error.
func speedUnit(d *Dataset, want string) (string, error) {
	text, err := units(d)
	if err != nil || text == "" {
		return want, err
	}
	has := velocity.Unit(text)
	switch {
	case has == "" && want == "":
		return "", inputError(d.path, d.name+"@units", "is %q, want m/s, km/s or ft/s", text)
	case has != "" && want != "" && has != want:
		return "", inputError(d.path, d.name+"@units", "is %q, but %s is requested: one of the two is wrong", text, want)
	}
	return cmp.Or(has, want), nil
}
