package quality

import (
	"math"
	"slices"
)

// Histogram counts in bins: bin i holds [From + i Step, From + (i + 1) Step).
type Histogram struct {
	From, Step float64 // m
	Count      []int
}

// Map counts in two dimensions, [nx, ny] in C order.
type Map struct {
	From, Step [2]float64 // m
	Shape      [2]int
	Count      []int
}

// Greatest numbers of bins, of a histogram and along each axis of a map.
const (
	histogramBins = 10000
	mapBins       = 200
)

// NewHistogram counts numbers in bins of a step from the given one on. Where that makes
// more than the most bins, they are wider.
func NewHistogram(v []float64, from, step float64, most int) Histogram {
	to := slices.Max(v)
	for (to-from)/step > float64(most) {
		step *= 2
	}
	h := Histogram{From: from, Step: step, Count: make([]int, 1+int((to-from)/step))}
	for _, x := range v {
		h.Count[h.bin(x)]++
	}
	return h
}

func (h *Histogram) bin(v float64) int {
	return max(0, min(int((v-h.From)/h.Step), len(h.Count)-1))
}

// Most is the greatest count.
func (h *Histogram) Most() int { return slices.Max(h.Count) }

// Median is the median of the counts that are not zero.
func (h *Histogram) Median() int {
	return Median(slices.DeleteFunc(slices.Clone(h.Count), func(n int) bool { return n == 0 }))
}

// Offsets counts offsets, m, in at most 100 bins that are twice bin or wider.
func Offsets(offsets []float64, bin float64) Histogram {
	return NewHistogram(offsets, math.Floor(slices.Min(offsets)/(2*bin))*2*bin-bin, 2*bin, 100)
}

// FoldAlong counts midpoints along one axis, m, in bins of the given width or wider.
func FoldAlong(middle []float64, bin float64) Histogram {
	return foldAlong(middle, bin, histogramBins)
}

func foldAlong(middle []float64, bin float64, most int) Histogram {
	return NewHistogram(middle, slices.Min(middle)-bin/2, bin, most)
}

// FoldMap counts midpoints on a plane, m, in square bins of the given width or wider.
func FoldMap(x, y []float64, bin float64) Map {
	alongX, alongY := foldAlong(x, bin, mapBins), foldAlong(y, bin, mapBins)
	m := Map{From: [2]float64{alongX.From, alongY.From}, Step: [2]float64{alongX.Step, alongY.Step}, Shape: [2]int{len(alongX.Count), len(alongY.Count)}}
	m.Count = make([]int, m.Shape[0]*m.Shape[1])
	for i := range x {
		m.Count[alongX.bin(x[i])*m.Shape[1]+alongY.bin(y[i])]++
	}
	return m
}

// Median is the median of the numbers, which it sorts; 0 without any.
func Median[T int | float64](v []T) T {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[len(v)/2]
}
