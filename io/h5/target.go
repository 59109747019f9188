package h5

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// Field is a dataset that lies beside an image on its grid.
type Field struct {
	Name string    // without the leading slash
	Data []float32 // [Grid.Len()], C order
}

// fields are what lsm target and image.halves write beside an image: the names, and what they are.
var fields = []struct{ name, title, units string }{
	{"resolution", "resolution", ""},
	{"width_x", "width of the point-spread function along x", "m"},
	{"width_y", "width of the point-spread function along y", "m"},
	{"width_z", "width of the point-spread function along z", "m"},
	{"width_time", "width of the point-spread function along time", "s"},
	{"standard_deviation", "standard deviation", ""},
	{"noise_deviation", "standard deviation by noise alone", ""},
	{agreementName[1:], "agreement of the odd and the even shots", ""},
	{"difference_resolution", "resolution of the difference", ""},
	{"difference_standard_deviation", "standard deviation of the difference", ""},
	{"difference_noise_deviation", "standard deviation of the difference by noise alone", ""},
}

// FieldTitle is what the field of a name is, and the units of its values, "" for those of
// the image or of none. ok is false for a name that is no field.
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

// WriteField writes a field on the grid of the image.
func (iw *ImageWriter) WriteField(f Field) error {
	_, units, ok := FieldTitle(f.Name)
	if !ok {
		panic("h5: no field is called " + f.Name)
	}
	attrs := gridAttrs(iw.grid)
	if units != "" {
		attrs = append(attrs, Attr{"units", units})
	}
	_, err := over(iw.Writer, "/"+f.Name, gridAxes(iw.grid), f.Data, attrs...)
	return err
}

// WriteSolutions writes several right sides, [len(names), (nx, (ny,) nz)] on the grid of the
// image, and the images that solve them. names say where each right side is from.
func (iw *ImageWriter) WriteSolutions(names []string, right, solved []float32) error {
	axes := append([]axis{{name: "/from", size: len(names), texts: names}}, gridAxes(iw.grid)...)
	if _, err := over(iw.Writer, "/right_sides", axes, right, gridAttrs(iw.grid)...); err != nil {
		return err
	}
	_, err := over(iw.Writer, "/solutions", axes, solved, gridAttrs(iw.grid)...)
	return err
}

// Hessian starts the dataset /hessian, [n, n] with n the number of points of a box in so many
// images, image after image in C order. Every row must then be written once by [WriteAt].
func (iw *ImageWriter) Hessian(box grid.Grid, images int) (*Section, error) {
	n := images * box.Len()
	var shape []int64
	for _, points := range box.Shape {
		shape = append(shape, int64(points))
	}
	attrs := append(gridAttrs(box), Attr{"shape", shape})
	return NewSection[float64](iw.Writer, "/hessian", []int{n, n}, attrs...)
}

// HessianReader reads the Hessian of a file of lsm target, which need not fit into memory.
type HessianReader struct {
	*File
	data        *Dataset
	box, window grid.Grid
}

// OpenHessian opens the dataset /hessian of a file of lsm target.
func OpenHessian(path string) (*HessianReader, error) {
	return opening(path, func(f *File) (*HessianReader, error) {
		r := &HessianReader{File: f}
		return r, r.open()
	})
}

func (r *HessianReader) open() (err error) {
	if _, r.window, err = r.image(); err != nil {
		return err
	}
	if r.data, err = r.Dataset("/hessian"); err != nil {
		return err
	}
	a, dim := r.data.Attrs(), r.window.Dim()
	var shape []float64
	for _, p := range []struct {
		name string
		to   *[]float64
	}{{"origin", &r.box.Origin}, {"spacing", &r.box.Spacing}, {"shape", &shape}} {
		if *p.to, err = a.Floats(p.name, dim); err != nil {
			return err
		}
	}
	for _, n := range shape {
		if n != math.Trunc(n) || n < 1 || n > math.MaxInt32 {
			return a.fault("shape", "is %v, want numbers of points", shape)
		}
		r.box.Shape = append(r.box.Shape, int(n))
	}
	if r.box.Domain, err = r.domain(r.data); err == nil {
		err = r.box.Validate()
	}
	if err != nil {
		return inputError(r.path, r.data.name, "%w", err)
	}
	n := r.box.Len()
	return r.data.Want("[points, points]", n, n)
}

// Box is the grid of the points that the Hessian is between.
func (r *HessianReader) Box() grid.Grid { return r.box }

// Window is the grid of the image, a part of the box.
func (r *HessianReader) Window() grid.Grid { return r.window }

// Row fills dst with a row, of a point of the box in C order. All elements must be finite.
func (r *HessianReader) Row(dst []float64, row int) error {
	if err := ReadAt(r.data, dst, row*len(dst)); err != nil {
		return err
	}
	if i := notFinite(dst); i >= 0 {
		return inputError(r.path, r.data.name, "is %g in row %d, column %d, must be finite", dst[i], row, i)
	}
	return nil
}

// ReadFields reads the fields of an image file, in the order of their names' table; none for
// a file without any. Every value must be finite.
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
