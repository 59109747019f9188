package h5

import "github.com/kirchhoff-lsm/lsm/grid"

// The images of an image file beside that of the baseline, where two surveys were inverted.
const (
	monitorName    = "/monitor"
	differenceName = "/difference" // /monitor less /image
)

// Repeat is what an image file holds of a repeat survey beside the image of the baseline, on
// its grid, in C order.
type Repeat struct {
	Grid                grid.Grid
	Monitor, Difference []float32
}

// WriteMonitor writes values of the image of a repeat survey, as WriteImage.
func (iw *ImageWriter) WriteMonitor(src []float32, first int) error {
	return WriteAt(iw.monitor, src, first)
}

// WriteDifference writes values of the difference of monitor and baseline, as WriteImage.
func (iw *ImageWriter) WriteDifference(src []float32, first int) error {
	return WriteAt(iw.difference, src, first)
}

// ReadRepeat reads the images of a repeat survey from an image file; it is nil where there
// are none. Every value must be finite.
func ReadRepeat(path string) (*Repeat, error) {
	return reading(path, func(f *File) (*Repeat, error) {
		if !f.Has(monitorName) {
			return nil, nil
		}
		images, err := f.repeat()
		if err != nil {
			return nil, err
		}
		r := &Repeat{Grid: images[0].grid}
		for i, to := range []*[]float32{&r.Monitor, &r.Difference} {
			*to = make([]float32, r.Grid.Len())
			if err := images[i].Read(*to, 0); err != nil {
				return nil, err
			}
		}
		return r, nil
	})
}

// repeat opens the image of a repeat survey and the difference, which lie on the grid of the
// baseline's image.
func (f *File) repeat() (images [2]*ImageReader, err error) {
	_, want, err := f.image()
	for i, name := range []string{monitorName, differenceName} {
		if err != nil {
			break
		}
		images[i] = &ImageReader{File: f}
		if images[i].data, images[i].grid, err = f.field(name); err == nil && !images[i].grid.Equal(want) {
			err = inputError(f.path, name, "lies on %v, /image on %v", images[i].grid, want)
		}
	}
	return images, err
}
