package h5

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// chunkedSurvey writes a survey of ns × nr traces in gzip chunks and returns its samples.
func chunkedSurvey(t *testing.T, path string, three bool, ns, nr, nt int, chunk []int) []float32 {
	t.Helper()
	data := make([]float32, ns*nr*nt)
	for i := range data {
		data[i] = float32(i)
	}
	n, shape := ns*nr, []int{ns * nr, nt}
	if three {
		shape = []int{ns, nr, nt}
	}
	var f rawFile
	f.Datasets = append(f.Datasets, f8("sources", []int{ns, 2}, make([]float64, 2*ns)...), f8("receivers", []int{nr, 2}, make([]float64, 2*nr)...))
	if !three {
		f.Datasets = append(f.Datasets, f8("source_index", []int{n}, make([]float64, n)...), f8("receiver_index", []int{n}, make([]float64, n)...))
	}
	var filters []string
	if chunk != nil {
		filters = []string{"deflate"}
	}
	f.Datasets = append(f.Datasets, with(rawDataset{Name: "data", Type: "<f4", Shape: shape, Data: slices.Clone(rawBytes(data)), Chunk: chunk, Filters: filters}, num("dt", 0.002)),
		with(f8("wavelet", []int{1}, 1), num("dt", 0.002), num("zero", 0)))
	writeRaw(t, path, f)
	return data
}

// Traces in any order are read rightly from any chunks, also by way of a copy, and each chunk is read once.
func TestReadTracesInAnyOrder(t *testing.T) {
	t.Parallel()
	const ns, nr, nt = 12, 10, 7
	for _, c := range []struct {
		three bool
		chunk []int
	}{
		{false, nil}, {false, []int{1, nt}}, {false, []int{7, nt}}, {false, []int{50, 3}}, {false, []int{120, 1}},
		{true, nil}, {true, []int{1, 1, nt}}, {true, []int{5, nr, 4}}, {true, []int{4, 3, nt}}, {true, []int{12, 1, 2}},
	} {
		t.Run(fmt.Sprint(c.three, c.chunk), func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "s.h5")
			data := chunkedSurvey(t, path, c.three, ns, nr, nt, c.chunk)
			r, err := OpenSurvey(path)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			random := rand.New(rand.NewPCG(3, 4))
			list := make([]int32, 0, 90)
			for _, n := range random.Perm(ns * nr)[:cap(list)] {
				list = append(list, int32(n))
			}
			check := func(list []int32) {
				t.Helper()
				got := make([]float32, len(list)*nt)
				if err := r.ReadTraceList(got, list); err != nil {
					t.Fatal(err)
				}
				for i, n := range list {
					if !slices.Equal(got[i*nt:(i+1)*nt], data[int(n)*nt:int(n+1)*nt]) {
						t.Fatalf("place %d, trace %d: %v", i, n, got[i*nt:(i+1)*nt])
					}
				}
			}
			check(list)
			check(append(slices.Clone(list), list[:5]...))
			once(t, r.Chunks(), list)
			cuts := []int{0, 20, 21, 60, len(list)}
			size, err := r.Arrange(list, cuts, folder)
			if err != nil || size > 0 && size != int64(4*nt*len(list)) {
				t.Fatalf("arranged: %d bytes, %v", size, err)
			}
			if c.chunk != nil && c.chunk[0] > 5 && c.chunk[0] < ns*nr && size == 0 {
				t.Error("groups that share all chunks are not copied")
			}
			for i := range len(cuts) - 1 {
				check(list[cuts[i]:cuts[i+1]])
			}
			if left, _ := os.ReadDir(folder); len(left) != 1 {
				t.Errorf("%d files beside the survey", len(left)-1)
			}
		})
	}
}

// once makes sure that no chunk belongs to two of the parts that are read.
func once(t *testing.T, c Chunks, list []int32) {
	t.Helper()
	if c.traces == nil {
		return
	}
	traces := slices.Clone(list)
	slices.SortFunc(traces, func(a, b int32) int {
		if by := c.of(a) - c.of(b); by != 0 {
			return by
		}
		return int(a - b)
	})
	order := make([]int32, len(traces))
	for i := range order {
		order[i] = int32(i)
	}
	seen := map[int]int{}
	for part := 1; len(order) > 0; part++ {
		n := c.together(traces, order)
		for _, i := range order[:n] {
			cell := c.of(traces[i])
			if before := seen[cell]; before != 0 && before != part {
				t.Fatalf("chunk %d is read in parts %d and %d", cell, before, part)
			}
			seen[cell] = part
		}
		order = order[n:]
	}
}

// Shots that lie one behind the other are not copied, whatever the chunks.
func TestOrderedTracesAreNotCopied(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "s.h5")
	chunkedSurvey(t, path, false, 12, 10, 7, []int{7, 7})
	r, err := OpenSurvey(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	list := make([]int32, 120)
	for i := range list {
		list[i] = int32(i)
	}
	if size, err := r.Arrange(list, []int{0, 10, 20, 50, 90, 120}, folder); size != 0 || err != nil {
		t.Errorf("%d bytes, %v", size, err)
	}
}

// A trace that is not finite is named by its number in the file in any order.
func TestUnorderedTracesRefuseNaN(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.h5")
	f := rawSurvey()
	f.Datasets[2] = with(f8("data", []int{3, 2}, 1, 2, 3, 4, 5, math.NaN()), num("dt", 0.002))
	writeRaw(t, path, f)
	r, err := OpenSurvey(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.ReadTraceList(make([]float32, 4), []int32{2, 0}); err == nil || !strings.Contains(err.Error(), "/data: trace 2 has NaN at sample 1") {
		t.Errorf("error %v, want trace 2, sample 1", err)
	}
}
