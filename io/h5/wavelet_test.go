package h5

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// A wavelet comes back from its file, and from an image that holds it.
func TestWavelet(t *testing.T) {
	want := survey.Wavelet{Samples: []float64{-0.5, 1, 0.25}, DT: 0.004, Zero: 1}
	same := func(w survey.Wavelet) bool {
		return slices.Equal(w.Samples, want.Samples) && w.DT == want.DT && w.Zero == want.Zero
	}
	path := filepath.Join(t.TempDir(), "wavelet.h5")
	if err := WriteWavelet(path, want, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if w, err := ReadWavelet(path); err != nil || !same(w) {
		t.Errorf("%+v (%v), want %+v", w, err, want)
	}
	if kind, err := Kind(path); err != nil || kind != "wavelet" {
		t.Errorf("it is a %s (%v)", kind, err)
	}
	// An image of an earlier version.
	image := filepath.Join(t.TempDir(), "image.h5")
	f, err := Create(image, FormatImage, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(f, "/wavelet", []int{3}, want.Samples, Attr{"dt", 0.004}, Attr{"zero", 1}); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if w, err := ReadWavelet(image); err != nil || !same(w) {
		t.Errorf("of an image: %+v (%v)", w, err)
	}
}

// What is no wavelet is refused, with the fault.
func TestBadWavelet(t *testing.T) {
	dt, zero := Attr{"dt", 0.004}, Attr{"zero", 0}
	for want, fill := range map[string]func(w *Writer) error{
		"/wavelet":                   func(w *Writer) error { return Write(w, "/other", []int{1}, []float64{1}) },
		"/wavelet: has shape [1, 2]": func(w *Writer) error { return Write(w, "/wavelet", []int{1, 2}, []float64{1, 2}, dt, zero) },
		"dt":                         func(w *Writer) error { return Write(w, "/wavelet", []int{2}, []float64{1, 2}, zero) },
		"zero is sample 7":           func(w *Writer) error { return Write(w, "/wavelet", []int{2}, []float64{1, 2}, dt, Attr{"zero", 7}) },
		"sample 1 is NaN":            func(w *Writer) error { return Write(w, "/wavelet", []int{2}, []float64{1, math.NaN()}, dt, zero) },
		"all 2 samples are zero":     func(w *Writer) error { return Write(w, "/wavelet", []int{2}, []float64{0, 0}, dt, zero) },
	} {
		path := filepath.Join(t.TempDir(), "wavelet.h5")
		w, err := Create(path, FormatWavelet, WriteOptions{})
		if err == nil {
			err = fill(w)
		}
		if err == nil {
			err = w.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadWavelet(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "model.h5")
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{1, 1}, Shape: []int{2, 2}}
	if err := WriteModel(path, g, []float64{1, 1, 1, 1}, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadWavelet(path); err == nil || !strings.Contains(err.Error(), `is "lsm-model", want "lsm-wavelet"`) {
		t.Errorf("of a model: %v", err)
	}
	if err := WriteWavelet(path, survey.Wavelet{DT: 0.004}, WriteOptions{Force: true}); err == nil {
		t.Error("a wavelet without samples is written")
	}
}
