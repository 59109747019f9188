package h5

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// Gathers written in pieces come back whole and panel by panel; a file of which a piece
// is missing is not published.
func TestGathers(t *testing.T) {
	g := grid.Grid{Origin: []float64{5, 0, -3}, Spacing: []float64{10, 20, 4}, Shape: []int{3, 2, 4}}
	im := &Image{Grid: g, Data: make([]float32, g.Len()),
		Gathers: &Gathers{Kind: "offset", Centers: []float64{50, 150}, Limits: []float64{0, 100, 200}}}
	values := make([]float32, 2*g.Len())
	for i := range values {
		values[i] = float32(i)
	}
	path := filepath.Join(t.TempDir(), "image.h5")
	for _, whole := range []bool{false, true} {
		w, err := CreateImage(path, im, WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort()
		err = w.WriteGathers(values[:7], 0)
		if whole && err == nil {
			err = w.WriteGathers(values[7:], 7)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(); (err == nil) != whole {
			t.Fatalf("whole %v: %v", whole, err)
		}
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) == whole {
			t.Fatalf("whole %v: %v", whole, err)
		}
	}
	r, err := OpenGathers(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Kind != "offset" || !slices.Equal(r.Centers, im.Gathers.Centers) || !slices.Equal(r.Limits, im.Gathers.Limits) || !r.Grid().Equal(g) {
		t.Errorf("%+v on %v", r.Gathers, r.Grid())
	}
	got, err := r.Panel(4)
	if want := []float32{16, 17, 18, 19, 40, 41, 42, 43}; err != nil || !slices.Equal(got, want) {
		t.Errorf("panel %v, %v, want %v", got, err, want)
	}
	back, err := ReadImage(path)
	if err != nil || !back.Grid.Equal(g) {
		t.Errorf("%v, %v", back, err)
	}
	if err := WriteImage(path, &Image{Grid: g, Data: im.Data}, WriteOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if r, err := OpenGathers(path); r != nil || err != nil {
		t.Errorf("gathers of a file without: %v, %v", r, err)
	}
}

// The kind of angle is kept; a file without it has opening angles, and another kind is
// refused.
func TestGatherAngles(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{1, 2}}
	for angle, want := range map[string]string{"reflection": "reflection angle", "opening": "opening angle", "": "opening angle", "azimuth": ""} {
		path := filepath.Join(t.TempDir(), "image.h5")
		w, err := CreateImage(path, &Image{Grid: g, Data: make([]float32, 2), Gathers: &Gathers{Kind: "angle", Angle: angle, Centers: []float64{5, 15}}}, WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort()
		if err := w.WriteGathers(make([]float32, 4), 0); err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		r, err := OpenGathers(path)
		if want == "" {
			if !errors.Is(err, ErrInput) {
				t.Errorf("%q: %v, want an error of the input", angle, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.Name() != want {
			t.Errorf("%q is read as %q", angle, r.Name())
		}
		r.Close()
	}
}

// Classes by offset and azimuth come back with both; sectors must be the same ones for each offset.
func TestGathersByAzimuth(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0, 0}, Spacing: []float64{1, 1, 1}, Shape: []int{1, 1, 2}}
	centers := []float64{50, 50, 150, 150}
	for _, c := range []struct {
		azimuths, centers, limits []float64
		good                      bool
	}{
		{[]float64{0, 90, 0, 90}, centers, []float64{0, 100, 200}, true},
		{[]float64{0, 90, 0, 60}, centers, []float64{0, 100, 200}, false},
		{[]float64{0, 60, 120, 0}, centers, []float64{0, 100, 200}, false},
		{[]float64{0, 90, 0, 90}, []float64{50, 60, 150, 150}, []float64{0, 100, 200}, false},
		{[]float64{0, 90, 0, 90}, centers, []float64{0, 50, 100, 150, 200}, false},
	} {
		path := filepath.Join(t.TempDir(), "image.h5")
		want := Gathers{Kind: "offset", Centers: c.centers, Limits: c.limits, Azimuths: c.azimuths}
		w, err := CreateImage(path, &Image{Grid: g, Data: make([]float32, 2), Gathers: &want}, WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort()
		if err := errors.Join(w.WriteGathers(make([]float32, 8), 0), w.Commit()); err != nil {
			t.Fatal(err)
		}
		r, err := OpenGathers(path)
		if !c.good {
			if !errors.Is(err, ErrInput) {
				t.Errorf("%+v: %v, want an error of the input", c, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(r.Gathers, want) || r.Sectors() != 2 || r.Name() != "offset and azimuth" {
			t.Errorf("%+v are read as %+v, %s in %d sectors", want, r.Gathers, r.Name(), r.Sectors())
		}
		r.Close()
	}
}
