package h5

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// A model in time comes back with its domain, its kind and η; so does an image with its domain.
func TestTimeModel(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{25, 0.004}, Shape: []int{2, 3}, Domain: grid.Time}
	v, eta := []float64{1500, 1600, 1700, 1500, 1650, 1750}, []float64{0, 0.1, 0.2, -0.1, 0, 0.05}
	path := filepath.Join(t.TempDir(), "model.h5")
	if err := WriteTimeModel(path, g, Interval, v, WriteOptions{}, Beside{Eta, eta}); err != nil {
		t.Fatal(err)
	}
	r, err := OpenModel(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.OpenAnisotropy(); err != nil {
		t.Fatal(err)
	}
	least, _, err := r.PropertyRange(Eta)
	got, fault := r.ReadProperty(Eta, 2, 3)
	if err != nil || fault != nil || least != -0.1 || !slices.Equal(got, eta[2:5]) || !r.Grid().Equal(g) || r.Kind() != Interval {
		t.Errorf("least η %g, η %v, %v, kind %s (%v, %v)", least, got, r.Grid(), r.Kind(), err, fault)
	}
	image := filepath.Join(t.TempDir(), "image.h5")
	if err := WriteImage(image, &Image{Grid: g, Data: make([]float32, 6)}, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	im, err := ReadImage(image)
	if err != nil || !im.Grid.Equal(g) {
		t.Errorf("the image is on %v (%v)", im.Grid, err)
	}
}

// What a model in time cannot be is refused, with the name of the dataset.
func TestBadTimeModel(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{25, 0.004}, Shape: []int{2, 3}, Domain: grid.Time}
	six := []float64{2000, 2000, 2000, 2000, 2000, 2000}
	for want, write := range map[string]func(path string) error{
		"/eta: is 7 at point [1, 0] at (25 m, 0 s), must be above -0.5 and at most 2": func(path string) error {
			return WriteTimeModel(path, g, RMS, six, WriteOptions{}, Beside{Eta, []float64{0, 0, 0, 7, 0, 0}})
		},
		"/velocity@kind: is \"fast\"": func(path string) error { return WriteTimeModel(path, g, "fast", six, WriteOptions{}) },
		"/velocity@domain: is \"z\"": func(path string) error {
			return write(path, func(w *Writer) error {
				return Write(w, "/velocity", g.Shape, six, Attr{"origin", g.Origin}, Attr{"spacing", g.Spacing}, Attr{"domain", "z"})
			})
		},
		"/eta: has shape [3, 2]": func(path string) error {
			return write(path, func(w *Writer) error {
				if err := Write(w, "/velocity", g.Shape, six, gridAttrs(g)...); err != nil {
					return err
				}
				return Write(w, "/eta", []int{3, 2}, make([]float64, 6))
			})
		},
		"/eta@spacing: is (50, 0.004), want (25, 0.004), that of /velocity": func(path string) error {
			return write(path, func(w *Writer) error {
				if err := Write(w, "/velocity", g.Shape, six, gridAttrs(g)...); err != nil {
					return err
				}
				return Write(w, "/eta", g.Shape, make([]float64, 6), Attr{"origin", g.Origin}, Attr{"spacing", []float64{50, 0.004}}, Attr{"domain", "time"})
			})
		},
	} {
		path := filepath.Join(t.TempDir(), "model.h5")
		if err := write(path); err != nil {
			t.Fatal(err)
		}
		r, err := OpenModel(path, "")
		if err == nil {
			if err = r.OpenAnisotropy(); err == nil {
				_, _, err = r.PropertyRange(Eta)
			}
			r.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
}

// write makes a model file of what fill writes.
func write(path string, fill func(w *Writer) error) error {
	w, err := Create(path, FormatModel, WriteOptions{})
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := fill(w); err != nil {
		return err
	}
	return w.Commit()
}
