package h5

import (
	"math"
	"path/filepath"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func shapes(t *rapid.T) []int {
	return rapid.SliceOfN(rapid.IntRange(1, 5), 1, 4).Draw(t, "shape")
}

// The boxes of a range visit exactly its elements, once each and in order.
func TestBoxesTileTheRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := shapes(t)
		total, _ := product(shape)
		first := rapid.IntRange(0, total).Draw(t, "first")
		n := rapid.IntRange(0, total-first).Draw(t, "n")
		next := first
		list := boxes(shape, first, n)
		for _, b := range list {
			visit(shape, b, 0, 0, func(flat int) {
				if flat != next {
					t.Fatalf("element %d came, want %d, in box %v", flat, next, b)
				}
				next++
			})
		}
		if next != first+n {
			t.Fatalf("ended at %d, want %d", next, first+n)
		}
		if most := 2*len(shape) - 1; len(list) > most {
			t.Fatalf("%d boxes, at most %d are needed", len(list), most)
		}
	})
}

func visit(shape []int, b box, axis, base int, f func(flat int)) {
	if axis == len(shape) {
		f(base)
		return
	}
	for i := range b.count[axis] {
		visit(shape, b, axis+1, base*shape[axis]+b.start[axis]+i, f)
	}
}

func TestProduct(t *testing.T) {
	for _, c := range []struct {
		shape []int
		n     int
		ok    bool
	}{
		{nil, 1, true}, {[]int{2, 3}, 6, true}, {[]int{math.MaxInt, 0}, 0, true}, {[]int{0, -1}, 0, true},
		{[]int{math.MaxInt, 1}, math.MaxInt, true}, {[]int{math.MaxInt, 2}, 0, false},
		{[]int{1 << 32, 1 << 31}, 0, false}, {[]int{-1}, 0, false}, {[]int{3, -4}, 0, false},
	} {
		if n, ok := product(c.shape); ok != c.ok || ok && n != c.n {
			t.Errorf("product of %v: %d %v, want %d %v", c.shape, n, ok, c.n, c.ok)
		}
	}
}

// Pieces written in any order and read in any range give back what was written.
func TestPiecesThroughFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	rapid.Check(t, func(t *rapid.T) {
		shape := shapes(t)
		total, _ := product(shape)
		data := make([]int32, total)
		for i := range data {
			data[i] = int32(i*i - 5)
		}
		cuts := append([]int{0, total}, rapid.SliceOfN(rapid.IntRange(0, total), 0, 4).Draw(t, "cuts")...)
		w, err := Create(path, "", WriteOptions{Force: true})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort()
		s, err := NewSection[int32](w, "/v", shape)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range rapid.Permutation(pairs(cuts)).Draw(t, "order") {
			if err := WriteAt(s, data[p[0]:p[1]], p[0]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
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
		first := rapid.IntRange(0, total).Draw(t, "first")
		n := rapid.IntRange(0, total-first).Draw(t, "n")
		got := make([]int32, n)
		if err := ReadAt(d, got, first); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, data[first:first+n]) {
			t.Fatalf("read %v, wrote %v", got, data[first:first+n])
		}
	})
}

// pairs turns cutting points into neighbouring ranges.
func pairs(cuts []int) [][2]int {
	at := map[int]bool{}
	last := 0
	for _, c := range cuts {
		at[c] = true
		last = max(last, c)
	}
	var out [][2]int
	from := 0
	for i := 1; i <= last; i++ {
		if at[i] {
			out = append(out, [2]int{from, i})
			from = i
		}
	}
	return out
}
