package h5

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// The columns of positions and of gradients are named, and the names have a digest.
func TestColumnsAreNamed(t *testing.T) {
	dir := t.TempDir()
	flat, solid := filepath.Join(dir, "2.h5"), filepath.Join(dir, "3.h5")
	if err := WriteSurvey(flat, testSurvey(), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	g := grid.Grid{Origin: []float64{0, 0, 0}, Spacing: []float64{1, 1, 1}, Shape: []int{2, 2, 2}}
	w, err := CreateTables(solid, TablesLayout{Grid: g, NumSources: 1, NumReceivers: 1, Gradient: true}, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []survey.Role{survey.AtSource, survey.AtReceiver} {
		for _, what := range []Quantity{Time, Gradient} {
			if err := w.WriteRow(role, what, 0, make([]float64, rowLen(g, what, 0))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{flat: {"x", "z"}, solid: {"x", "y", "z"}} {
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		got, err := f.texts("/coordinate", 3, "names")
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: columns %q, want %q: %v", path, got, want, err)
		}
		if sum, _, err := f.digests("/coordinate"); err != nil || sum != textSum("/coordinate", strings.Join(want, "\x00"), false) {
			t.Errorf("%s: digest %s: %v", path, sum, err)
		}
		if _, err := f.Text("/coordinate"); err == nil {
			t.Errorf("%s: several texts pass for one", path)
		}
	}
}
