package bench

import (
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// What is timed is right, and the pairs are those of the definition.
func TestHessianIsCorrect(t *testing.T) {
	for _, c := range []struct {
		engine        string
		shape, window []int
		dynamic       bool
	}{
		{"cpu", []int{33, 21}, []int{9, 8}, false},
		{"cpu", []int{33, 21}, []int{33, 21}, true},
		{"cpu", []int{9, 8, 7}, []int{4, 3, 5}, true},
		{"reference", []int{33, 21}, []int{9, 8}, true},
	} {
		size := HessianSize{KernelSize{Shape: c.shape, Sources: 3, Receivers: 5, Samples: 150, Wavelet: 7, Engine: c.engine, Dynamic: c.dynamic, Threads: 1, Runs: 1}, c.window}
		r, err := Hessian(t.Context(), size)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		n := 1
		for _, w := range c.window {
			n *= w
		}
		if r.Verdict != "OK" || r.Points != n || r.Pairs != float64(15*n*(n+1)/2) || !(r.Met > 0 && r.Met <= 1) || !(r.PerPair > 0 && r.PerTriple > 0) {
			t.Errorf("%+v: %+v", c, r)
		}
	}
}

// Pairs that meet are counted as they are defined, one by one.
func TestMeeting(t *testing.T) {
	p, err := KernelSize{Shape: []int{33, 41}, Sources: 3, Receivers: 5, Samples: 60, Wavelet: 5}.problem()
	if err != nil {
		t.Fatal(err)
	}
	points := []int32{3, 20, 40, 200, 201, 700, 900, 1352}
	want := 0.0
	for trace := range p.NumTraces() {
		ks := make([]int, len(points))
		for x, i := range points {
			at := make([]float64, 2)
			p.Grid.Point(at, int(i))
			for _, place := range []int32{p.Positions.Source[trace], p.Positions.Receiver[trace]} {
				ks[x] += int(1e9 * length(at, p.Positions.At(int(place))) / 2000) // ns
			}
			ks[x] /= 4e6
		}
		for x, k := range ks {
			for _, l := range ks[:x+1] {
				if k < 59 && l < 59 && max(k-l, l-k) <= 5 {
					want++
				}
			}
		}
	}
	if got := meeting(p, points); got != want || want == 0 {
		t.Errorf("%g pairs meet, want %g", got, want)
	}
}

// A matrix that is not that of the operator, or not symmetric, is found out.
func TestWrongHessian(t *testing.T) {
	p, err := KernelSize{Shape: []int{20, 15}, Sources: 2, Receivers: 3, Samples: 150, Wavelet: 7, Threads: 1}.problem()
	if err != nil {
		t.Fatal(err)
	}
	h, err := kirchhoff.NewHessian(t.Context(), "cpu", p, kirchhoff.Target{Lo: []int{5, 5}, Hi: []int{9, 9}})
	if err != nil {
		t.Fatal(err)
	}
	n := h.Len()
	for name, spoil := range map[string]func(m []float64){
		"":          func([]float64) {},
		"wrong":     func(m []float64) { m[0] *= 1.001 },
		"symmetric": func(m []float64) { m[1] *= 1 + 1e-15 },
	} {
		m := make([]float64, n*n)
		if err := h.Add(t.Context(), m, [2]int{0, n}, [2]int{0, n}, nil); err != nil {
			t.Fatal(err)
		}
		spoil(m)
		r := &HessianResult{Verdict: "OK"}
		if err := r.compare(t.Context(), p, h.Points(), m); err != nil || (r.Verdict == "OK") != (name == "") {
			t.Errorf("%q: %+v, %v", name, r, err)
		}
	}
}

// Windows that the image or memory has not are refused.
func TestWindowOfHessian(t *testing.T) {
	for want, window := range map[string][]int{"1 axes": {3}, "301 points along axis 1": {3, 301}, "0 points along axis 0": {0, 3}, "16384 at most": {200, 100}} {
		if err := (HessianSize{KernelSize{Shape: []int{400, 300}}, window}).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("window %v: %v, want %q", window, err, want)
		}
	}
}
