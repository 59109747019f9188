package h5

import (
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// Image is a migrated image or a reflectivity with what is known of its making.
type Image struct {
	Grid grid.Grid
	Data []float32 // [Grid.Len()], C order; nil for a file whose image is written in pieces

	// ResidualNorm and GradientNorm hold one value per iteration and one for
	// the start; nil where no solver ran.
	ResidualNorm, GradientNorm []float64
	// Agreement holds how well the images of both halves of the survey agreed, one value per
	// iteration; nil without such images.
	Agreement []float64

	// Gathers describes images by class for a file to be written; see [CreateImage].
	// ReadImage leaves it nil, see [OpenGathers].
	Gathers *Gathers

	// Solved says that a file to be written also has the reflectivity that the operator maps to the
	// traces. The image is the part of it in the wavelet's band.
	Solved bool
	// Agreed is how well the images of both halves of the survey agree; nil without such images. A file to
	// be written then also has a map of it, see [CreateImage].
	Agreed *float64

	Config string // the resolved configuration (TOML); "" for none
	Attrs  []Attr // of the root, without format and format_version
}

// Iterations is how many iterations the solver took, 0 where none ran.
func (im *Image) Iterations() int {
	return max(0, len(im.ResidualNorm)-1)
}

// Root attributes of an image that say what its amplitudes mean: the values of output.scale and
// of kirchhoff.wavelet_filter.
const (
	ScaleAttr  = "scale"
	FilterAttr = "wavelet_filter"
)

// inImageName and agreementHistoryName are the datasets of InImageNorm and of Agreement.
const (
	inImageName          = "/history/image_residual_norm"
	agreementHistoryName = "/history/agreement"
)

// history yields the datasets of the norms.
func (im *Image) history(yield func(name string, norms *[]float64) bool) {
	_ = yield("/history/residual_norm", &im.ResidualNorm) && yield("/history/gradient_norm", &im.GradientNorm)
}

// ReadImage reads the image /image, or /reflectivity if a file has no /image, [nx, (ny,) nz], with
// its grid from the attributes origin and spacing. Every value must be finite.
func ReadImage(path string) (*Image, error) {
	return reading(path, func(f *File) (*Image, error) {
		d, g, err := f.image()
		if err != nil {
			return nil, err
		}
		im := &Image{Grid: g, Data: make([]float32, g.Len())}
		if err := (&ImageReader{File: f, data: d, grid: g}).Read(im.Data, 0); err != nil {
			return nil, err
		}
		return im, f.readHistory(im)
	})
}

func (f *File) image() (*Dataset, grid.Grid, error) {
	if err := f.checkFormat(FormatImage); err != nil {
		return nil, grid.Grid{}, err
	}
	if !f.Has("/image") && f.Has("/reflectivity") {
		return f.field("/reflectivity")
	}
	return f.field("/image")
}

// ReadAttrs reads the root's attributes of any file that are of a number or string type,
// ordered by name, without format and format_version.
func ReadAttrs(path string) ([]Attr, error) { return reading(path, (*File).rootAttrs) }

func (f *File) rootAttrs() (out []Attr, err error) {
	all, err := on(f.path, f.Attrs().list)
	for _, a := range all {
		if _, other := a.Value.(otherType); !other && !slices.Contains([]string{"format", "format_version", sealAttr}, a.Name) {
			out = append(out, a)
		}
	}
	return out, err
}

func (f *File) readHistory(im *Image) (err error) {
	for name, norms := range im.history {
		if !f.Has(name) {
			continue
		}
		if *norms, err = load[float64](f, name, "[iterations + 1]", -1); err != nil {
			return err
		}
	}
	if f.Has(agreementHistoryName) {
		if im.Agreement, err = load[float64](f, agreementHistoryName, "[iterations]", -1); err != nil {
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

// ImageWriter writes an image file whose image and gathers arrive in pieces.
type ImageWriter struct {
	*Writer
	grid              grid.Grid
	image, gathers    *Section
	light             *Section
	solved, agreement *Section
}

// CreateImage starts an image file with all of im. Every value of an image without Data,
// of Gathers if there are any, of their illumination with Light, with Solved of the reflectivity, and with Agreed of the map
// of agreement, must then be written once.
func CreateImage(path string, im *Image, opt WriteOptions) (*ImageWriter, error) {
	opt.Attrs = slices.Concat(im.Attrs, opt.Attrs)
	w, err := Create(path, FormatImage, opt)
	if err != nil {
		return nil, err
	}
	iw := &ImageWriter{Writer: w, grid: im.Grid}
	// The first error sticks.
	iw.image, _ = over(w, "/image", gridAxes(im.Grid), im.Data, gridAttrs(im.Grid)...)
	if im.Solved {
		iw.solved, _ = over[float32](w, solvedName, gridAxes(im.Grid), nil, gridAttrs(im.Grid)...)
	}
	if im.Agreed != nil {
		iw.agreement, _ = over[float32](w, agreementName, gridAxes(im.Grid), nil, append(gridAttrs(im.Grid), Attr{"whole", *im.Agreed})...)
	}
	w.history(im)
	if im.Config != "" {
		w.Text("/config", im.Config)
	}
	if g := im.Gathers; g != nil {
		attrs := append(gridAttrs(im.Grid), Attr{"kind", g.Kind}, Attr{"centers", g.Centers})
		if g.Limits != nil {
			attrs = append(attrs, Attr{"limits", g.Limits})
		}
		if g.Angle != "" {
			attrs = append(attrs, Attr{"angle", g.Angle})
		}
		classes := axis{name: "/" + g.Kind, size: len(g.Centers), values: g.Centers, units: GatherUnits(g.Kind)}
		if g.Azimuths != nil { // offsets repeat
			attrs = append(attrs, Attr{"azimuths", g.Azimuths})
			classes = axis{name: "/class", size: len(g.Centers)}
		}
		axes := append([]axis{classes}, gridAxes(im.Grid)...)
		iw.gathers, _ = over[float32](w, "/gathers", axes, nil, attrs...)
		if g.Light {
			iw.light, _ = over[float32](w, lightName, axes, nil, gridAttrs(im.Grid)...)
		}
	}
	if err := w.failed(); err != nil {
		w.Abort()
		return nil, err
	}
	return iw, nil
}

func (w *Writer) history(im *Image) {
	n := len(im.ResidualNorm)
	if len(im.GradientNorm) != n || len(im.Agreement) != 0 && len(im.Agreement) != n-1 {
		panic("h5: an image's histories differ in length")
	}
	if n == 0 {
		return
	}
	w.Group("/history")
	for name, norms := range im.history {
		over(w, name, []axis{{name: "/history/iteration", size: n}}, *norms)
	}
	if im.Agreement != nil {
		over(w, agreementHistoryName, []axis{regular("/history/step", n-1, 1, 1, "1")}, im.Agreement)
	}
}

// WriteImage writes values of an image without Data from number first on, in C order over
// [nx, (ny,) nz].
func (iw *ImageWriter) WriteImage(src []float32, first int) error {
	return WriteAt(iw.image, src, first)
}

// WriteSolved writes values of the reflectivity that the operator maps to the traces, in the order of
// WriteImage. The image is the part of it in the wavelet's band.
func (iw *ImageWriter) WriteSolved(src []float32, first int) error {
	return WriteAt(iw.solved, src, first)
}

// WriteAgreement writes values of the agreement around each point, from -1 to 1, in the order of WriteImage.
func (iw *ImageWriter) WriteAgreement(src []float32, first int) error {
	return WriteAt(iw.agreement, src, first)
}

// WriteGathers writes values of the gathers from number first on, in C order over
// [classes, nx, (ny,) nz].
func (iw *ImageWriter) WriteGathers(src []float32, first int) error {
	return WriteAt(iw.gathers, src, first)
}

// WriteLight writes values of the illumination of the gathers from number first on, in the order
// of WriteGathers.
func (iw *ImageWriter) WriteLight(src []float32, first int) error {
	return WriteAt(iw.light, src, first)
}

// ImageReader reads an image, which need not fit into memory.
type ImageReader struct {
	*File
	data   *Dataset
	solved *Dataset // nil: none besides
	grid   grid.Grid
}

// OpenImage opens the image /image of a file, or /reflectivity if it has no /image, as ReadImage
// reads it.
func OpenImage(path string) (*ImageReader, error) {
	return opening(path, func(f *File) (*ImageReader, error) {
		d, g, err := f.image()
		r := &ImageReader{File: f, data: d, grid: g}
		if err == nil && f.Has("/image") && f.Has(solvedName) {
			var on grid.Grid
			if r.solved, on, err = f.field(solvedName); err == nil && !on.Equal(g) {
				err = inputError(f.path, solvedName, "is not on the grid of /image")
			}
		}
		return r, err
	})
}

// Grid is the grid of the image.
func (r *ImageReader) Grid() grid.Grid { return r.grid }

// Read fills dst with values from number first on, in C order over [nx, (ny,) nz]. They must
// be finite.
func (r *ImageReader) Read(dst []float32, first int) error { return r.finite(r.data, dst, first) }

// HasReflectivity reports whether the file tells apart the image and what the operator maps to the traces.
func (r *ImageReader) HasReflectivity() bool { return r.solved != nil }

// ReadReflectivity is Read of the reflectivity that the operator maps to the traces. That is the image,
// unless the image is only the part of it in the wavelet's band.
func (r *ImageReader) ReadReflectivity(dst []float32, first int) error {
	if r.solved != nil {
		return r.finite(r.solved, dst, first)
	}
	return r.Read(dst, first)
}

func (r *ImageReader) finite(d *Dataset, dst []float32, first int) error {
	if err := ReadAt(d, dst, first); err != nil {
		return err
	}
	if i := notFinite(dst); i >= 0 {
		return inputError(r.path, d.name, "is %g at point %s, must be finite", dst[i], pointText(r.grid, first+i))
	}
	return nil
}

// Gathers describes the images by class of an image file.
type Gathers struct {
	Kind    string    // "offset", "angle", or "velocity" for semblances of trial velocities
	Angle   string    // "opening", between the rays of source and receiver, or "reflection", half of it; "" if not by angle
	Centers []float64 // one a class, ascending: m, degrees or m/s
	Limits  []float64 // where the classes begin and the last one ends, m or degrees; nil: not known

	// Azimuths are, by offset and azimuth, the centres of the classes' sectors, degrees from north towards east, modulo 180: the
	// same ascending ones for each interval of Limits; nil: one class for each interval.
	Azimuths []float64

	Light bool // the file says how strongly each class lights each point
}

// solvedName is the dataset of the reflectivity that the operator maps to the traces, in a file whose image
// is the part of it in the wavelet's band.
const solvedName = "/reflectivity"

// agreementName is the dataset of how well the images of both halves of a survey agree around each point.
const agreementName = "/agreement"

// lightName is the dataset of the illumination of gathers: of each class at each point, over the
// largest of all.
const lightName = "/gather_illumination"

// Sectors is the number of sectors of azimuth in each interval of Limits.
func (g *Gathers) Sectors() int {
	n := 1
	for n < len(g.Azimuths) && g.Azimuths[n] > g.Azimuths[n-1] {
		n++
	}
	return n
}

// Name names the quantity by which classes differ: offset, offset and azimuth, opening angle or
// reflection angle.
func (g *Gathers) Name() string {
	if g.Azimuths != nil {
		return "offset and azimuth"
	}
	if g.Kind == "angle" {
		return g.Angle + " angle"
	}
	return g.Kind
}

// GatherUnits is the unit of a kind of classes, "" for one that is not known.
func GatherUnits(kind string) string {
	return map[string]string{"offset": "m", "angle": "degrees", "velocity": "m/s"}[kind]
}

// GatherReader reads the images by class of an image file, which need not fit into
// memory.
type GatherReader struct {
	*File
	Gathers
	data  *Dataset
	light *Dataset // nil: not known
	grid  grid.Grid
}

// OpenGathers opens the gathers of an image file; it is nil if the file has none.
func OpenGathers(path string) (*GatherReader, error) {
	return opening(path, func(f *File) (*GatherReader, error) {
		if !f.Has("/gathers") {
			return nil, f.Close()
		}
		r := &GatherReader{File: f}
		return r, r.read()
	})
}

func (r *GatherReader) read() (err error) {
	if err := r.checkFormat(FormatImage); err != nil {
		return err
	}
	if r.data, r.grid, err = r.field("/gathers", "classes"); err != nil {
		return err
	}
	a := r.data.Attrs()
	if r.Kind, err = a.Text("kind"); err != nil {
		return err
	}
	if GatherUnits(r.Kind) == "" {
		return a.fault("kind", "is %q, want offset, angle or velocity", r.Kind)
	}
	if r.Kind == "angle" {
		if r.Angle = "opening"; a.Has("angle") { // a file of an earlier version says no more
			if r.Angle, err = a.Text("angle"); err != nil {
				return err
			}
		}
		if r.Angle != "opening" && r.Angle != "reflection" {
			return a.fault("angle", "is %q, want opening or reflection", r.Angle)
		}
	}
	n := r.data.shape[0]
	if r.Centers, err = a.Floats("centers", n); err != nil {
		return err
	}
	if !slices.IsSorted(r.Centers) {
		return a.fault("centers", "is %v, must ascend", r.Centers)
	}
	if a.Has("azimuths") {
		if err := r.readAzimuths(a, n); err != nil {
			return err
		}
	}
	if a.Has("limits") {
		if r.Limits, err = a.Floats("limits", n/r.Sectors()+1); err != nil {
			return err
		}
	}
	if r.Light = r.Has(lightName); !r.Light {
		return nil
	}
	var on grid.Grid
	if r.light, on, err = r.field(lightName, "classes"); err != nil {
		return err
	}
	if r.light.shape[0] != n || !on.Equal(r.grid) {
		return inputError(r.path, lightName, "is not of the classes and the grid of /gathers")
	}
	return nil
}

// readAzimuths reads the sectors of n classes.
func (r *GatherReader) readAzimuths(a Attrs, n int) (err error) {
	if r.Azimuths, err = a.Floats("azimuths", n); err != nil {
		return err
	}
	sectors := r.Sectors()
	for i, v := range r.Azimuths {
		if n%sectors != 0 || v != r.Azimuths[i%sectors] || r.Centers[i] != r.Centers[i-i%sectors] {
			return a.fault("azimuths", "is %v, must repeat the same ascending ones for each of centers", r.Azimuths)
		}
	}
	return nil
}

// Grid is the grid of each class's image.
func (r *GatherReader) Grid() grid.Grid { return r.grid }

// Read fills dst with values from number first on, in C order over [classes, nx, (ny,)
// nz]. They must be finite.
func (r *GatherReader) Read(dst []float32, first int) error { return r.values(r.data, dst, first) }

// ReadLight fills dst with the illumination of the classes in the order of Read: from 0 to 1, which
// is the largest of all classes and points. The file has Light.
func (r *GatherReader) ReadLight(dst []float32, first int) error {
	return r.values(r.light, dst, first)
}

func (r *GatherReader) values(of *Dataset, dst []float32, first int) error {
	if err := ReadAt(of, dst, first); err != nil {
		return err
	}
	if i := notFinite(dst); i >= 0 {
		at := first + i
		return inputError(r.path, of.name, "class %d is %g at point %s, must be finite", at/r.grid.Len(), dst[i], pointText(r.grid, at%r.grid.Len()))
	}
	return nil
}

// Panel reads the gather below one point of the surface, [classes, nz]: column counts
// the columns of the grid, (ix·ny + iy).
func (r *GatherReader) Panel(column int) ([]float32, error) { return r.column(r.Read, column) }

// LightPanel reads the illumination of a gather as Panel reads the gather.
func (r *GatherReader) LightPanel(column int) ([]float32, error) {
	return r.column(r.ReadLight, column)
}

func (r *GatherReader) column(read func(dst []float32, first int) error, column int) ([]float32, error) {
	nz := r.grid.Shape[r.grid.Dim()-1]
	if n := r.grid.Len() / nz; column < 0 || column >= n {
		panic(fmt.Sprintf("h5: %s: gather %d of %d", r.path, column, n))
	}
	out := make([]float32, len(r.Centers)*nz)
	for i := range r.Centers {
		if err := read(out[i*nz:(i+1)*nz], i*r.grid.Len()+column*nz); err != nil {
			return nil, err
		}
	}
	return out, nil
}
