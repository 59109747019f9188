package modelfile

import (
	"context"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/fielddata"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// grids are those of the tests: no two axes are alike.
func grids() map[string]grid.Grid {
	return map[string]grid.Grid{
		"2-D":         {Origin: []float64{-250, 12.5}, Spacing: []float64{25, 12.5}, Shape: []int{7, 5}},
		"3-D":         {Origin: []float64{1000, -200, 0}, Spacing: []float64{20, 40, 10}, Shape: []int{4, 3, 6}},
		"2-D in time": {Origin: []float64{0, 0}, Spacing: []float64{25, 0.004}, Shape: []int{6, 9}, Domain: grid.Time},
	}
}

// someModel are velocities that differ everywhere; wide ones do not fit into float32.
func someModel(g grid.Grid, wide bool) *Array {
	r := rand.New(rand.NewPCG(7, uint64(g.Len())))
	a := &Array{Grid: g, Name: Velocity, Units: "m/s", Wide: wide, Kind: h5.Interval, Values: make([]float64, g.Len())}
	if g.Domain == grid.Time {
		a.Kind = h5.RMS
	}
	for i := range a.Values {
		if a.Values[i] = 1500 + 3000*r.Float64(); !wide {
			a.Values[i] = float64(float32(a.Values[i]))
		}
	}
	return a
}

// toTraces writes a model as SEG-Y or SU.
func toTraces(t *testing.T, path string, a *Array, kind segy.Kind) {
	t.Helper()
	report := progress.New(progress.Options{Out: io.Discard, Err: io.Discard})
	opt := fielddata.ExportOptions{Kind: kind, Line: fielddata.NoLine()}
	if _, err := fielddata.ExportGrid(context.Background(), path, a.Grid, single(a.Values), opt, report); err != nil {
		t.Fatal(err)
	}
}

// file writes a file of a folder of its own.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// equal wants a model to have the grid and the bits of an array.
func equal(t *testing.T, m *Model, a *Array) {
	t.Helper()
	if !m.Grid.Equal(a.Grid) {
		t.Fatalf("lies on %s, %s, want %s, %s", m.Grid, m.Grid.Extent(), a.Grid, a.Grid.Extent())
	}
	for i, v := range m.Values {
		if math.Float64bits(v) != math.Float64bits(a.Values[i]) {
			t.Fatalf("value %d is %v, want %v", i, v, a.Values[i])
		}
	}
}

// read reads a model that must be sound.
func read(t *testing.T, path string, opt Options) *Model {
	t.Helper()
	if err := opt.Validate(); err != nil {
		t.Fatal(err)
	}
	m, err := Read(t.Context(), path, opt)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// refused wants an error that says something.
func refused(t *testing.T, path string, opt Options, says string) {
	t.Helper()
	_, err := Read(t.Context(), path, opt)
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("error %v, want one that says %q", err, says)
	}
}

// hdf5File writes datasets and their attributes.
func hdf5File(t *testing.T, write func(w *h5.Writer) error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.h5")
	w, err := h5.Create(path, "", h5.WriteOptions{})
	if err == nil {
		if err = write(w); err == nil {
			err = w.Commit()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// says wants one of the lines to contain a text.
func says(t *testing.T, lines []string, text string) {
	t.Helper()
	if !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, text) }) {
		t.Errorf("%q do not say %q", lines, text)
	}
}
