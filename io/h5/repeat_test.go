package h5

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// A file of two surveys gives back both images beside the baseline's, and what is wrong with
// them is said.
func TestRepeat(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{5, 5}, Shape: []int{2, 3}}
	path := filepath.Join(t.TempDir(), "pair.h5")
	w, err := CreateImage(path, &Image{Grid: g, Data: []float32{1, 2, 3, 4, 5, 6}, Repeat: true}, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	monitor, difference := []float32{2, 2, 2, 5, 5, 5}, []float32{1, 0, -1, 1, 0, -1}
	for _, write := range []func() error{
		func() error { return w.WriteMonitor(monitor[:3], 0) },
		func() error { return w.WriteMonitor(monitor[3:], 3) },
		func() error { return w.WriteDifference(difference, 0) },
		w.Commit,
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	r, err := ReadRepeat(path)
	if err != nil || !slices.Equal(r.Monitor, monitor) || !slices.Equal(r.Difference, difference) || !r.Grid.Equal(g) {
		t.Errorf("read %v, %v", r, err)
	}
	alone := filepath.Join(t.TempDir(), "alone.h5")
	if err := WriteImage(alone, &Image{Grid: g, Data: monitor}, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if r, err := ReadRepeat(alone); r != nil || err != nil {
		t.Errorf("an image of one survey: %v, %v", r, err)
	}
	// A file that has the one image and not the other.
	half, err := Create(filepath.Join(t.TempDir(), "half.h5"), FormatImage, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer half.Abort()
	for _, name := range []string{"/image", monitorName} {
		if _, err := over(half, name, gridAxes(g), monitor, gridAttrs(g)...); err != nil {
			t.Fatal(err)
		}
	}
	if err := half.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadRepeat(half.path); err == nil || !strings.Contains(err.Error(), differenceName) {
		t.Errorf("a file without %s: %v", differenceName, err)
	}
}
