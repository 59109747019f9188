package h5

import (
	"github.com/kirchhoff-lsm/lsm/grid"
)

// Image is a migrated image or a reflectivity with what is known of its making.
type Image struct {
	Grid grid.Grid
	Data []float32 // [Grid.Len()], C order

	// ResidualNorm and GradientNorm hold one value per iteration and one for
	// the start; nil where no solver ran.
	ResidualNorm, GradientNorm []float64

	// Gathers describes images by class for a file to be written; see [CreateImage].
	// ReadImage leaves it nil, see [OpenGathers].
	Gathers *Gathers

	Config string // the resolved configuration (TOML); "" for none
	Attrs  []Attr // of the root, without format and format_version
}

// ReadImage reads the image /image, or /reflectivity where that is missing,
// [nx, (ny,) nz], with its grid from the attributes origin and spacing. Every
// value must be finite.
func ReadImage(path string) (*Image, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	im := &Image{}
	var d *Dataset
	if im.Grid, d, err = f.imageGrid(); err != nil {
		return nil, err
	}
	if im.Data, err = Read[float32](d); err != nil {
		return nil, err
	}
	if i := notFinite(im.Data); i >= 0 {
		return nil, inputError(path, d.name, "is %g at point %s, must be finite", im.Data[i], pointText(im.Grid, i))
	}
	return im, f.readHistory(im)
}

// imageGrid opens the image's dataset and reads its grid.
func (f *File) imageGrid() (grid.Grid, *Dataset, error) {
	if err := f.checkFormat(FormatImage); err != nil {
		return grid.Grid{}, nil, err
	}
	name := "/image"
	if !f.Has(name) && f.Has("/reflectivity") {
		name = "/reflectivity"
	}
	d, err := f.Dataset(name)
	if err != nil {
		return grid.Grid{}, nil, err
	}
	if err := wantGridAxes(d, 0, "[nx, nz] or [nx, ny, nz]"); err != nil {
		return grid.Grid{}, nil, err
	}
	g, err := f.gridOf(d, 0)
	return g, d, err
}

// ReadAttrs reads the root's attributes of any file, without format and
// format_version.
func ReadAttrs(path string) ([]Attr, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.rootAttrs()
}

func (f *File) rootAttrs() (out []Attr, err error) {
	all, err := f.Attrs().All()
	for _, a := range all {
		switch a.Name {
		case "format", "format_version", sealAttr:
		default:
			out = append(out, a)
		}
	}
	return out, err
}

func (f *File) readHistory(im *Image) (err error) {
	for _, h := range []struct {
		name string
		to   *[]float64
	}{{"/history/residual_norm", &im.ResidualNorm}, {"/history/gradient_norm", &im.GradientNorm}} {
		if !f.Has(h.name) {
			continue
		}
		d, err := f.Dataset(h.name)
		if err != nil {
			return err
		}
		if err := d.Want("[iterations + 1]", -1); err != nil {
			return err
		}
		if *h.to, err = Read[float64](d); err != nil {
			return err
		}
	}
	if f.Has("/config") {
		if im.Config, err = f.Text("/config"); err != nil {
			return err
		}
	}
	im.Attrs, err = f.rootAttrs()
	return err
}

// WriteImage writes an image file. The root's attributes are those of the image
// followed by those of opt. The image has no Gathers.
func WriteImage(path string, im *Image, opt WriteOptions) error {
	w, err := CreateImage(path, im, opt)
	if err != nil {
		return err
	}
	defer w.Abort()
	return w.Commit()
}

func (w *Writer) history(im *Image) error {
	n := len(im.ResidualNorm)
	if n == 0 && len(im.GradientNorm) == 0 {
		return nil
	}
	if len(im.GradientNorm) != n {
		panic("h5: an image's histories differ in length")
	}
	if err := w.Group("/history"); err != nil {
		return err
	}
	if err := w.index("/history/iteration", n); err != nil {
		return err
	}
	for _, h := range []struct {
		name string
		v    []float64
	}{{"/history/residual_norm", im.ResidualNorm}, {"/history/gradient_norm", im.GradientNorm}} {
		if err := Write(w, h.name, []int{n}, h.v); err != nil {
			return err
		}
		if err := w.Attach(h.name, 0, "/history/iteration", "iteration"); err != nil {
			return err
		}
	}
	return nil
}
