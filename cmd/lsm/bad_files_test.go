package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// hdf is an HDF5 file to be, small and open to every kind of damage.
type hdf struct {
	attrs map[string]any
	sets  map[string]dataset
}

// dataset holds []float32, []float64 or []int32, or a string; nil makes a group.
type dataset struct {
	shape []int
	data  any
	attrs map[string]any
}

// The sound problem: a survey of 2 sources, 3 receivers and 6 traces over a
// model and image of 6 × 5 points.
const (
	nx, nz = 6, 5
	ns, nr = 2, 3
	nt     = 24
)

func ramp(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(1 + i%7)
	}
	return v
}

func filled(n int, value float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = value
	}
	return v
}

func fixedSurvey() hdf {
	return hdf{
		attrs: map[string]any{"format": "lsm-survey", "format_version": 1},
		sets: map[string]dataset{
			"/sources":   {[]int{ns, 2}, []float64{5, 0, 45, 0}, nil},
			"/receivers": {[]int{nr, 2}, []float64{10, 0, 25, 5, 40, 0}, nil},
			"/data":      {[]int{ns, nr, nt}, ramp(ns * nr * nt), map[string]any{"dt": 0.004, "t0": 0.0}},
			"/wavelet":   {[]int{3}, []float64{-0.5, 1, -0.5}, map[string]any{"dt": 0.004, "zero": 1}},
		},
	}
}

// listSurvey has 4 traces in no order.
func listSurvey() hdf {
	h := fixedSurvey()
	h.sets["/data"] = dataset{[]int{4, nt}, ramp(4 * nt), map[string]any{"dt": 0.004}}
	h.sets["/source_index"] = dataset{[]int{4}, []int32{1, 0, 0, 1}, nil}
	h.sets["/receiver_index"] = dataset{[]int{4}, []int32{2, 0, 1, 2}, nil}
	return h
}

// geometryOnly describes traces yet to be modelled.
func geometryOnly() hdf {
	h := fixedSurvey()
	delete(h.sets, "/data")
	h.attrs["nt"], h.attrs["dt"], h.attrs["t0"] = nt, 0.004, 0.0
	return h
}

func onGrid() map[string]any {
	return map[string]any{"origin": []float64{0, 0}, "spacing": []float64{10, 10}}
}

func soundModel() hdf {
	return hdf{
		attrs: map[string]any{"format": "lsm-model", "format_version": 1},
		sets:  map[string]dataset{"/velocity": {[]int{nx, nz}, filled(nx*nz, 2000), onGrid()}},
	}
}

func soundImage() hdf {
	return hdf{
		attrs: map[string]any{"format": "lsm-image", "format_version": 1},
		sets:  map[string]dataset{"/image": {[]int{nx, nz}, ramp(nx * nz), onGrid()}},
	}
}

func soundTables() hdf {
	return hdf{
		attrs: map[string]any{"format": "lsm-tables", "format_version": 1},
		sets: map[string]dataset{
			"/source_time":   {[]int{ns, nx, nz}, filled(ns*nx*nz, 0.02), onGrid()},
			"/receiver_time": {[]int{nr, nx, nz}, filled(nr*nx*nz, 0.03), onGrid()},
		},
	}
}

const soundConfig = `[survey]
file = "survey.h5"

[velocity]
file = "model.h5"

[kirchhoff]
engine = "reference"

[solver]
iterations = 2

[output]
file = "out.h5"
`

// write makes the file; what was at path is replaced.
func (h hdf) write(t *testing.T, path string) {
	t.Helper()
	w, err := h5.Create(path, "", h5.WriteOptions{Force: true, Attrs: list(h.attrs)})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, name := range slices.Sorted(maps.Keys(h.sets)) {
		if err := h.sets[name].write(w, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
}

func (d dataset) write(w *h5.Writer, name string) error {
	switch v := d.data.(type) {
	case nil:
		return w.Group(name)
	case string:
		return w.Text(name, v)
	case []float32:
		return h5.Write(w, name, d.shape, v, list(d.attrs)...)
	case []float64:
		return h5.Write(w, name, d.shape, v, list(d.attrs)...)
	case []int32:
		return h5.Write(w, name, d.shape, v, list(d.attrs)...)
	}
	panic(fmt.Sprintf("%s: data of type %T", name, d.data))
}

func list(attrs map[string]any) (all []h5.Attr) {
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		all = append(all, h5.Attr{Name: name, Value: attrs[name]})
	}
	return all
}

// files are the bytes of a folder's files, by name.
type files map[string][]byte

func soundFiles(t *testing.T) files {
	t.Helper()
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	fixedSurvey().write(t, in("survey.h5"))
	soundModel().write(t, in("model.h5"))
	soundImage().write(t, in("reflectivity.h5"))
	soundTables().write(t, in("times.h5"))
	all := files{"config.toml": []byte(soundConfig)}
	for _, name := range []string{"survey.h5", "model.h5", "reflectivity.h5", "times.h5"} {
		content, err := os.ReadFile(in(name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = content
	}
	return all
}

// copy makes a folder of the files.
func (f files) copy(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range f {
		put(t, filepath.Join(folder, name), string(content))
	}
	return folder
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
