package h5

import (
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// Gathers describes the images by class of an image file.
type Gathers struct {
	Kind    string    // "offset" or "angle"
	Centers []float64 // one a class, ascending: m, or degrees
	Limits  []float64 // where the classes begin and the last one ends, m or degrees; nil: not known
}

// GatherUnits is the unit of a kind of classes, "" for one that is not known.
func GatherUnits(kind string) string {
	return map[string]string{"offset": "m", "angle": "degrees"}[kind]
}

// ImageWriter writes an image file whose gathers arrive in pieces.
type ImageWriter struct {
	w    *Writer
	data *Section
}

// CreateImage starts an image file with all of im. Where it has Gathers, every value
// of these must then be written once.
func CreateImage(path string, im *Image, opt WriteOptions) (*ImageWriter, error) {
	opt.Attrs = append(append([]Attr{}, im.Attrs...), opt.Attrs...)
	w, err := Create(path, FormatImage, opt)
	if err != nil {
		return nil, err
	}
	iw := &ImageWriter{w: w}
	if err := iw.write(im); err != nil {
		w.Abort()
		return nil, err
	}
	return iw, nil
}

func (iw *ImageWriter) write(im *Image) error {
	if err := writeField(iw.w, "/image", im.Grid, im.Data, ""); err != nil {
		return err
	}
	if err := iw.w.history(im); err != nil {
		return err
	}
	if im.Config != "" {
		if err := iw.w.Text("/config", im.Config); err != nil {
			return err
		}
	}
	if im.Gathers == nil {
		return nil
	}
	return iw.startGathers(im.Gathers, im.Grid)
}

func (iw *ImageWriter) startGathers(g *Gathers, at grid.Grid) (err error) {
	scale, n := "/"+g.Kind, len(g.Centers)
	if err := Write(iw.w, scale, []int{n}, g.Centers, Attr{"units", GatherUnits(g.Kind)}); err != nil {
		return err
	}
	attrs := []Attr{{"origin", at.Origin}, {"spacing", at.Spacing}, {"kind", g.Kind}, {"centers", g.Centers}}
	if g.Limits != nil {
		attrs = append(attrs, Attr{"limits", g.Limits})
	}
	if iw.data, err = NewSection[float32](iw.w, "/gathers", append([]int{n}, at.Shape...), attrs...); err != nil {
		return err
	}
	if err := iw.w.Attach("/gathers", 0, scale, g.Kind); err != nil {
		return err
	}
	return iw.w.attachGrid("/gathers", 1, at)
}

// WriteGathers writes values of the gathers from number first on, in C order over
// [classes, nx, (ny,) nz].
func (iw *ImageWriter) WriteGathers(src []float32, first int) error {
	return WriteAt(iw.data, src, first)
}

// Commit completes, verifies and publishes the file.
func (iw *ImageWriter) Commit() error { return iw.w.Commit() }

// Abort drops the file; after Commit it does nothing.
func (iw *ImageWriter) Abort() { iw.w.Abort() }

// GatherReader reads the images by class of an image file, which need not fit into
// memory.
type GatherReader struct {
	Gathers
	f    *File
	data *Dataset
	grid grid.Grid
}

// OpenGathers opens the gathers of an image file; it is nil where there are none.
func OpenGathers(path string) (*GatherReader, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	r := &GatherReader{f: f}
	if !f.Has("/gathers") {
		return nil, f.Close()
	}
	if err := r.read(); err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

func (r *GatherReader) read() (err error) {
	if err := r.f.checkFormat(FormatImage); err != nil {
		return err
	}
	if r.data, err = r.f.Dataset("/gathers"); err != nil {
		return err
	}
	if err := wantGridAxes(r.data, 1, "[classes, nx, nz] or [classes, nx, ny, nz]"); err != nil {
		return err
	}
	if r.grid, err = r.f.gridOf(r.data, 1); err != nil {
		return err
	}
	a := r.data.Attrs()
	if r.Kind, err = a.Text("kind"); err != nil {
		return err
	}
	if GatherUnits(r.Kind) == "" {
		return inputError(r.f.path, "/gathers@kind", "is %q, want offset or angle", r.Kind)
	}
	n := r.data.shape[0]
	if r.Centers, err = a.Floats("centers", n); err != nil {
		return err
	}
	if !slices.IsSorted(r.Centers) {
		return inputError(r.f.path, "/gathers@centers", "is %v, must ascend", r.Centers)
	}
	if a.Has("limits") {
		r.Limits, err = a.Floats("limits", n+1)
	}
	return err
}

// Grid is the grid of each class's image.
func (r *GatherReader) Grid() grid.Grid { return r.grid }

// Close closes the file.
func (r *GatherReader) Close() error { return r.f.Close() }

// Read fills dst with values from number first on, in C order over [classes, nx, (ny,)
// nz]. They must be finite.
func (r *GatherReader) Read(dst []float32, first int) error {
	if err := ReadAt(r.data, dst, first); err != nil {
		return err
	}
	if i := notFinite(dst); i >= 0 {
		at := first + i
		return inputError(r.f.path, "/gathers", "class %d is %g at point %s, must be finite", at/r.grid.Len(), dst[i], pointText(r.grid, at%r.grid.Len()))
	}
	return nil
}

// Panel reads the gather below one point of the surface, [classes, nz]: column counts
// the columns of the grid, (ix·ny + iy).
func (r *GatherReader) Panel(column int) ([]float32, error) {
	nz := r.grid.Shape[r.grid.Dim()-1]
	if n := r.grid.Len() / nz; column < 0 || column >= n {
		panic(fmt.Sprintf("h5: %s: gather %d of %d", r.f.path, column, n))
	}
	out := make([]float32, len(r.Centers)*nz)
	for i := range r.Centers {
		if err := r.Read(out[i*nz:(i+1)*nz], i*r.grid.Len()+column*nz); err != nil {
			return nil, err
		}
	}
	return out, nil
}
