package inspect

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// A profile has the numbers of the file through the nearest points, and its deviations.
func TestProfileOfFile(t *testing.T) {
	g := grid.Grid{Origin: []float64{100, 0, 50}, Spacing: []float64{10, 20, 5}, Shape: []int{4, 3, 5}}
	path := filepath.Join(t.TempDir(), "target.h5")
	var image, deviation []float32
	for i := range g.Len() {
		image, deviation = append(image, float32(i)), append(deviation, float32(i)/8)
	}
	w, err := h5.CreateImage(path, &h5.Image{Grid: g}, h5.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{w.WriteImage(image, 0), w.WriteField(h5.Field{Name: "standard_deviation", Data: deviation}), w.Commit()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		profile, axis, place string
		x, y                 []float64
	}{
		{"x=119,y=20", "z (m)", "x = 120 m, y = 20 m", []float64{50, 55, 60, 65, 70}, []float64{35, 36, 37, 38, 39}},
		{"z=60,y=0", "x (m)", "y = 0 m, z = 60 m", []float64{100, 110, 120, 130}, []float64{2, 17, 32, 47}},
	} {
		line, axis, place, err := (&drawing{profile: c.profile}).lineOf(path)
		if err != nil || axis != c.axis || place != c.place || !slices.Equal(line.X, c.x) || !slices.Equal(line.Y, c.y) || line.Name != "target.h5 ± one standard deviation" {
			t.Errorf("%s: %+v along %s at %s (%v), want %v at %v", c.profile, line, axis, place, err, c.y, c.x)
		}
		for k, d := range line.Deviation {
			if d != line.Y[k]/8 {
				t.Errorf("%s: deviation %d is %g, want %g", c.profile, k, d, line.Y[k]/8)
			}
		}
		if len(line.Deviation) != len(line.Y) {
			t.Errorf("%s: %d deviations of %d values", c.profile, len(line.Deviation), len(line.Y))
		}
	}
	for profile, want := range map[string]string{
		"": "is not an axis", "x": "is not an axis", "x=1,x=2": "is not an axis", "x=inf": "is not an axis", "x=100": "neither y nor z", "time=3": `no axis "time"`,
		"x=94,y=0": "x is 94, want 100 to 130 m", "x=100,y=0,z=50": "all axes have values",
	} {
		if _, _, err := partOf(g, profile); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", profile, err, want)
		}
	}
}
