package h5

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// What lsm target writes beside an image is read again, by name and with its digests.
func TestFieldsBesideAnImage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "target.h5")
	g := grid.Grid{Origin: []float64{100, 0}, Spacing: []float64{10, 5}, Shape: []int{2, 3}}
	values := []float32{1, 2, 3, 4, 5, 6}
	w, err := CreateImage(path, &Image{Grid: g, Data: values}, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	want := []Field{{"resolution", values}, {"width_z", values}, {"standard_deviation", values}}
	for _, f := range []Field{want[2], want[0], want[1]} { // read in the order of the table
		if err := w.WriteField(f); err != nil {
			t.Fatal(err)
		}
	}
	h, err := w.Hessian(g)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []int{3, 0, 5, 1, 4, 2} {
		if err := WriteAt(h, []float64{float64(row), 1, 2, 3, 4, 5}, 6*row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	got, err := ReadFields(path)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("fields %v, want %v: %v", got, want, err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := f.Dataset("/hessian")
	if err != nil {
		t.Fatal(err)
	}
	row := make([]float64, 6)
	if err := ReadAt(data, row, 4*6); err != nil || !reflect.DeepEqual(row, []float64{4, 1, 2, 3, 4, 5}) {
		t.Errorf("row %v of the Hessian: %v", row, err)
	}
	shape, err := data.Attrs().Floats("shape", 2)
	if err != nil || !reflect.DeepEqual(shape, []float64{2, 3}) {
		t.Errorf("the Hessian is between %v points: %v", shape, err)
	}
	d, err := Describe(path, DescribeOptions{Digest: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range d.Objects {
		if o.Class == "dataset" && o.Digest != DigestMatches {
			t.Errorf("%s: digest %q", o.Name, o.Digest)
		}
	}
	if title, units, ok := FieldTitle("width_z"); title == "" || units != "m" || !ok {
		t.Errorf("width_z is %q in %q", title, units)
	}
}
