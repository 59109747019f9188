package h5

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// TestModelInParts: a model that is read part by part is that which is read whole, in
// every type, and its range is found over all parts. A number that changed since it was
// written is noticed, and so is one that is no velocity.
func TestModelInParts(t *testing.T) {
	const nx, nz = 3001, 1000 // several parts in either type
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{nx, nz}}
	v := make([]float64, g.Len())
	for i := range v {
		v[i] = 2 + float64(i%997)/1000
	}
	const low, high, marked = 5, nx*nz - 7, 3.234567 // in the first part and in the last
	v[low], v[high], v[nx*nz/2] = 1.5, 4.5, marked
	single := narrow[float32](v)
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "single.h5"), filepath.Join(dir, "double.h5")}
	in := func(i int, v []float64) string {
		opt := WriteOptions{Force: true}
		err := WriteModel(paths[i], g, v, opt)
		if i == 0 {
			err = WriteModel(paths[i], g, narrow[float32](v), opt)
		}
		if err != nil {
			t.Fatal(err)
		}
		return paths[i]
	}
	for i, mark := range [][]byte{bytesOf(le, single[nx*nz/2:nx*nz/2+1]), bytesOf(le, marked)} {
		path := in(i, v)
		_, want, err := ReadModel(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := OpenModel(path, "")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		least, greatest, err := r.Range()
		if err != nil || least != want[low] || greatest != want[high] || !r.Grid().Equal(g) {
			t.Errorf("%s: range %g to %g m/s on %v, %v", path, least, greatest, r.Grid(), err)
		}
		part, err := r.Read(1234*nz, 7*nz)
		if err != nil || !slices.Equal(part, want[1234*nz:1241*nz]) {
			t.Errorf("%s: a part differs from the whole, %v", path, err)
		}
		r.Close()

		changed := slices.Clone(mark)
		changed[1] ^= 1
		damage(t, path, mark, changed)
		rangeError := func() error {
			r, err := OpenModel(path, "")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			_, _, err = r.Range()
			return err
		}
		if err := rangeError(); err == nil || !strings.Contains(err.Error(), "differs from its sha256 attribute") {
			t.Errorf("%s: after damage: %v", path, err)
		}
		v[high] = math.NaN()
		in(i, v)
		if err := rangeError(); err == nil || !strings.Contains(err.Error(), "is NaN m/s at point [3000, 993]") {
			t.Errorf("%s: with NaN: %v", path, err)
		}
		v[high] = 4.5
	}
}
