package h5

import "github.com/kirchhoff-lsm/lsm/grid"

// Field is a dataset in an image file, on the grid of the image.
type Field struct {
	Name string    // without the leading slash
	Data []float32 // [Grid.Len()], C order
}

// fields are the datasets that lsm target, lsm ava and image.halves write next to an image: their names,
// titles and units.
var fields = []struct{ name, title, units string }{
	{"gradient", "gradient B", ""},
	{"curvature", "curvature C", ""},
	{"gradient_deviation", "standard error of the gradient", ""},
	{"curvature_deviation", "standard error of the curvature", ""},
	{"angles", "number of classes of angles", ""},
	{"resolved", "where intercept and gradient are told", ""},
	{"resolution", "resolution", ""},
	{"width_x", "width of the point-spread function along x", "m"},
	{"width_y", "width of the point-spread function along y", "m"},
	{"width_z", "width of the point-spread function along z", "m"},
	{"width_time", "width of the point-spread function along time", "s"},
	{"standard_deviation", "standard deviation", ""},
	{"noise_deviation", "standard deviation by noise alone", ""},
	{agreementName[1:], "agreement of the odd and the even shots", ""},
}

// FieldTitle is the title of the field of a name, and the units of its values, "" for those of the
// image or for none. ok is false if no field has the name.
func FieldTitle(name string) (title, units string, ok bool) {
	for _, f := range fields {
		if f.name == name {
			return f.title, f.units, true
		}
	}
	return "", "", false
}

// FieldNames are the names of all fields.
func FieldNames() (names []string) {
	for _, f := range fields {
		names = append(names, f.name)
	}
	return names
}

// FieldSigned reports whether a field has values of both signs.
func FieldSigned(name string) bool { return name == "gradient" || name == "curvature" }

// WriteField writes a field on the grid of the image.
func (iw *ImageWriter) WriteField(f Field) error {
	s, err := iw.NewField(f.Name)
	if err != nil {
		return err
	}
	return writeAll(s, f.Data)
}

// NewField starts a field on the grid of the image. Every value of it must then be written once by [WriteAt].
func (iw *ImageWriter) NewField(name string) (*Section, error) {
	_, units, ok := FieldTitle(name)
	if !ok {
		panic("h5: no field is called " + name)
	}
	attrs := gridAttrs(iw.grid)
	if units != "" {
		attrs = append(attrs, Attr{"units", units})
	}
	return over[float32](iw.Writer, "/"+name, gridAxes(iw.grid), nil, attrs...)
}

// Hessian starts the dataset /hessian, [n, n] with n the number of points of a box, in C order.
// Every row must then be written once by [WriteAt].
func (iw *ImageWriter) Hessian(box grid.Grid) (*Section, error) {
	var shape []int64
	for _, points := range box.Shape {
		shape = append(shape, int64(points))
	}
	attrs := append(gridAttrs(box), Attr{"shape", shape})
	return NewSection[float64](iw.Writer, "/hessian", []int{box.Len(), box.Len()}, attrs...)
}

// ReadFields reads the fields of an image file, in the order of the table of their names. The list
// is empty if the file has none. Every value must be finite.
func ReadFields(path string) ([]Field, error) {
	return reading(path, func(f *File) (out []Field, err error) {
		for _, field := range fields {
			name := "/" + field.name
			if !f.Has(name) {
				continue
			}
			d, g, err := f.field(name)
			if err != nil {
				return nil, err
			}
			v := make([]float32, g.Len())
			if err := (&ImageReader{File: f, data: d, grid: g}).Read(v, 0); err != nil {
				return nil, err
			}
			out = append(out, Field{field.name, v})
		}
		return out, nil
	})
}
