package h5

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// tilted writes a model with properties and opens it with them.
func tilted(t *testing.T, g grid.Grid, beside ...Beside) (*ModelReader, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.h5")
	if err := WriteModel(path, g, slices.Repeat([]float64{2000}, g.Len()), WriteOptions{}, beside...); err != nil {
		t.Fatal(err)
	}
	r, err := OpenModel(path, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, r.OpenAnisotropy()
}

// Properties come back as they were written, in parts too, and what is missing is nil.
func TestAnisotropyInParts(t *testing.T) {
	g := grid.Grid{Origin: []float64{-50, 0, 0}, Spacing: []float64{10, 10, 5}, Shape: []int{30, 4, 20}}
	epsilon, azimuth := make([]float64, g.Len()), make([]float64, g.Len())
	for i := range epsilon {
		epsilon[i], azimuth[i] = float64(i%7)/20-0.1, float64(i%300)-100
	}
	r, err := tilted(t, g, Beside{Epsilon, epsilon}, Beside{Azimuth, azimuth})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Properties() {
		want, ok := map[Property][]float64{Epsilon: epsilon, Azimuth: azimuth}[p]
		part, err := r.ReadProperty(p, 160, 400)
		if err != nil || r.Holds(p) != ok || ok && !slices.Equal(part, want[160:560]) || !ok && part != nil {
			t.Errorf("%v: held %v, %d values, %v", p, r.Holds(p), len(part), err)
		}
		least, greatest, err := r.PropertyRange(p)
		if err != nil || ok && (least != slices.Min(want) || greatest != slices.Max(want)) || !ok && (least != 0 || greatest != 0) {
			t.Errorf("%v: from %g to %g, %v", p, least, greatest, err)
		}
	}
}

// What no medium has, and what lies on another grid than the velocity, is refused by name.
func TestBadAnisotropy(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 5}, Shape: []int{30, 20}}
	with := func(x float64) []float64 {
		v := make([]float64, g.Len())
		v[45] = x
		return v
	}
	for _, c := range []struct {
		of   Property
		x    float64
		want string
	}{
		{Epsilon, -0.5, "/epsilon: is -0.5 at point [2, 5] at (20, 25) m, must be above -0.5 and at most 5, a fraction"},
		{Delta, math.NaN(), "/delta: is NaN at point"},
		{Delta, 12, "/delta: is 12 at point"},
		{Tilt, math.Inf(1), "/tilt: is +Inf degrees at point"},
		{Tilt, -181, "must be from -180 to 180 degrees"},
		{Azimuth, 30, "/azimuth: is 30 degrees at point [2, 5] at (20, 25) m, must be 0 in a 2-D model"},
	} {
		r, err := tilted(t, g, Beside{c.of, with(c.x)})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.PropertyRange(c.of); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v of %g: %v, want %q", c.of, c.x, err, c.want)
		}
		if _, err := r.ReadProperty(c.of, 40, 10); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v of %g, a part: %v, want %q", c.of, c.x, err, c.want)
		}
	}
	for want, attrs := range map[string][]Attr{
		"/delta@origin: is (5, 0), want (0, 0), that of /velocity":     {{"origin", []float64{5, 0}}, {"spacing", g.Spacing}},
		"/delta@spacing: is (10, 10), want (10, 5), that of /velocity": {{"spacing", []float64{10, 10}}},
		"": nil,
	} {
		if err := beside(t, g, g.Shape, attrs...); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	const want = "/delta: has shape [30, 21], want [30, 20], that of /velocity"
	if err := beside(t, g, []int{30, 21}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// beside opens a model on g with a dataset /delta of another shape or with other attributes.
func beside(t *testing.T, g grid.Grid, shape []int, attrs ...Attr) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.h5")
	w, err := Create(path, FormatModel, WriteOptions{})
	if err == nil {
		err = Write(w, "/velocity", g.Shape, slices.Repeat([]float64{2000}, g.Len()), gridAttrs(g)...)
	}
	if err == nil {
		err = Write(w, "/delta", shape, make([]float64, shape[0]*shape[1]), attrs...)
	}
	if err == nil {
		err = w.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := OpenModel(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return r.OpenAnisotropy()
}
