package h5

import (
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// A part read at once is what its elements are one by one, for any shape and steps.
func TestReadPart(t *testing.T) {
	folder := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		shape := shapes(t)
		total, _ := product(shape)
		data := make([]float32, total)
		for i := range data {
			data[i] = float32(i)
		}
		path := filepath.Join(folder, "a.h5")
		w, err := Create(path, "", WriteOptions{Force: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := Write(w, "/v", shape, data); err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		var p Part
		want := []float64{0}
		for a, n := range shape {
			first := rapid.IntRange(0, n-1).Draw(t, "first")
			step := rapid.IntRange(1, n).Draw(t, "step")
			count := rapid.IntRange(1, 1+(n-1-first)/step).Draw(t, "count")
			p.First, p.Step, p.Count = append(p.First, first), append(p.Step, step), append(p.Count, count)
			var next []float64
			for _, w := range want {
				for i := range count {
					next = append(next, w*float64(shape[a])+float64(first+i*step))
				}
			}
			want = next
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		d, err := f.Dataset("/v")
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float64, p.Len())
		if err := ReadPart(d, got, p); err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%v of %v: number %d is %g, want %g", p, shape, i, got[i], want[i])
			}
		}
	})
}
