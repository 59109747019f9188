package view

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Window is a rectangle of a section through an array, in pixels.
type Window struct {
	Right, Down int        // the axes that run to the right and down
	At          []int      // index of the section along every axis; those of Right and Down do not matter
	From, To    [2]float64 // its edges along Right and Down, in the units of the axes
	Pixels      [2]int     // along Right and Down
}

// mostPixels is how many pixels a window has along an axis at most.
const mostPixels = 1024

// Validate returns an error that names what a has not.
func (w Window) Validate(a *Array) error {
	n := len(a.Axes)
	if w.Right < 0 || w.Right >= n || w.Down < 0 || w.Down >= n || w.Right == w.Down {
		return fmt.Errorf("axes %d and %d: want two of 0 to %d", w.Right, w.Down, n-1)
	}
	if err := a.has(w.At); err != nil {
		return err
	}
	for i, px := range w.Pixels {
		if px < 1 || px > mostPixels {
			return fmt.Errorf("%d pixels: want 1 to %d", px, mostPixels)
		}
		if !(w.To[i] > w.From[i]) || math.IsInf(w.To[i]-w.From[i], 0) {
			return fmt.Errorf("edges %g and %g: want them to ascend", w.From[i], w.To[i])
		}
	}
	return nil
}

// has returns an error if at is not a point of the array.
func (a *Array) has(at []int) error {
	if len(at) != len(a.Axes) {
		return fmt.Errorf("at has %d indices, want %d", len(at), len(a.Axes))
	}
	for i, index := range at {
		if index < 0 || index >= a.Axes[i].Size {
			return fmt.Errorf("index %d of axis %s: want 0 to %d", index, a.Axes[i].Name, a.Axes[i].Size-1)
		}
	}
	return nil
}

// taps are how the pixels of one axis are made from samples.
type taps struct {
	first, step, count int         // the samples
	from               []int       // of each pixel: its first sample, -1 outside the array
	weights            [][]float32 // of each pixel
}

// perPixel is how many samples a pixel is the mean of at most.
const perPixel = 4

// newTaps spreads an axis over px pixels between two edges. A pixel that is wider than a sample
// is the mean of samples in it. A narrower one lies on the line between two, or along an axis that
// counts takes the nearest. The samples are the same in windows beside each other.
func newTaps(axis Axis, from, to float64, px int) taps {
	width := (to - from) / axis.Spacing / float64(px) // of a pixel, samples
	begin := (from - axis.Origin) / axis.Spacing
	t := taps{step: max(1, int(width/perPixel)), from: make([]int, px), weights: make([][]float32, px)}
	lo, hi := math.MaxInt, -1
	last := (axis.Size - 1) / t.step // of the samples in steps
	for p := range px {
		at := begin + (float64(p)+0.5)*width
		t.from[p] = -1
		if !(at >= -0.5 && at < float64(axis.Size)-0.5) {
			continue
		}
		first, n := 0, 2
		if width <= 1 && axis.counts() {
			first, t.weights[p] = int(math.Floor(at+0.5)), []float32{1}
		} else if width <= 1 {
			at = math.Max(0, math.Min(at, float64(axis.Size-1)))
			first = min(int(at), max(0, axis.Size-2))
			share := float32(at - float64(first))
			t.weights[p] = []float32{1 - share, share}[:min(2, axis.Size)]
		} else {
			step := float64(t.step)
			first = min(max(0, int(math.Ceil((at-width/2)/step))), last)
			n = max(1, min(last, int(math.Ceil((at+width/2)/step))-1)-first+1)
			for range n {
				t.weights[p] = append(t.weights[p], 1/float32(n))
			}
		}
		t.from[p] = first
		lo, hi = min(lo, first), max(hi, first+len(t.weights[p])-1)
	}
	if hi < 0 {
		return t
	}
	t.first, t.count = lo*t.step, hi-lo+1
	for p := range t.from {
		if t.from[p] >= 0 {
			t.from[p] -= lo
		}
	}
	return t
}

// Read returns the window's values, [down, right] in C order, NaN outside the array.
func (a *Array) Read(w Window) ([]float32, error) {
	right := newTaps(a.Axes[w.Right], w.From[0], w.To[0], w.Pixels[0])
	down := newTaps(a.Axes[w.Down], w.From[1], w.To[1], w.Pixels[1])
	out := make([]float32, w.Pixels[0]*w.Pixels[1])
	if right.count == 0 || down.count == 0 {
		for i := range out {
			out[i] = float32(math.NaN())
		}
		return out, nil
	}
	var p h5.Part
	for i, at := range w.At {
		t := taps{first: at, step: 1, count: 1}
		switch i {
		case w.Right:
			t = right
		case w.Down:
			t = down
		}
		p.First, p.Step, p.Count = append(p.First, t.first), append(p.Step, t.step), append(p.Count, t.count)
	}
	v := make([]float32, p.Len())
	if err := h5.ReadPart(a.data, v, p); err != nil {
		return nil, err
	}
	rows, columns := down.count, 1 // strides of right and down in v
	if w.Right > w.Down {
		rows, columns = 1, right.count
	}
	for y, firstDown := range down.from {
		for x, firstRight := range right.from {
			sum := float32(0)
			if firstDown < 0 || firstRight < 0 {
				sum = float32(math.NaN())
			} else {
				for j, wd := range down.weights[y] {
					for i, wr := range right.weights[x] {
						sum += wd * wr * v[(firstRight+i)*rows+(firstDown+j)*columns]
					}
				}
			}
			out[y*w.Pixels[0]+x] = sum
		}
	}
	return out, nil
}
