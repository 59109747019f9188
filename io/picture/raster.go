package picture

import (
	"image"
	"math"
)

// array is a two-dimensional array as the raster sees it: axis 0 to the right,
// axis 1 downward unless flip is set.
type array struct {
	v      []float32 // [n0, n1], C order
	n0, n1 int
	flip   bool // axis 1 upward
	smooth bool // interpolate between samples, else draw each as a block
}

// raster is an array with the way its values become colours.
type raster struct {
	array
	win    window
	colors *lut
}

// tap is the part that one pixel takes of the samples from first on.
type tap struct {
	first   int
	weights []float32
}

// taps maps n samples onto px pixels. Sample i covers [i, i+1) of the axis,
// pixel p covers [p, p+1)·n/px. The weights of a pixel sum to one.
func taps(n, px int, smooth bool) []tap {
	t := make([]tap, px)
	scale := float64(n) / float64(px)
	for p := range t {
		switch {
		case n > px:
			// Area average: each sample counts by its overlap with the pixel.
			lo, hi := float64(p)*scale, float64(p+1)*scale
			first, last := int(lo), min(int(math.Ceil(hi)), n)
			w := make([]float32, last-first)
			for i := range w {
				a, b := math.Max(lo, float64(first+i)), math.Min(hi, float64(first+i+1))
				w[i] = float32(math.Max(0, b-a) / (hi - lo))
			}
			t[p] = tap{first, w}
		case smooth && n > 1:
			at := math.Max(0, math.Min(float64(n-1), (float64(p)+0.5)*scale-0.5))
			first := min(int(at), n-2)
			w := float32(at - float64(first))
			t[p] = tap{first, []float32{1 - w, w}}
		default:
			t[p] = tap{min(int((float64(p)+0.5)*scale), n-1), []float32{1}}
		}
	}
	return t
}

// resample brings the array to w×h pixels, [w, h] in C order.
func (a array) resample(w, h int) []float32 {
	down := taps(a.n1, h, a.smooth)
	mid := make([]float32, a.n0*h)
	for i := range a.n0 {
		col := a.v[i*a.n1 : (i+1)*a.n1]
		for p, t := range down {
			s := float32(0)
			for k, wt := range t.weights {
				s += wt * col[t.first+k]
			}
			mid[i*h+p] = s
		}
	}
	out := make([]float32, w*h)
	for p, t := range taps(a.n0, w, a.smooth) {
		dst := out[p*h : (p+1)*h]
		for k, wt := range t.weights {
			for j, v := range mid[(t.first+k)*h : (t.first+k+1)*h] {
				dst[j] += wt * v
			}
		}
	}
	return out
}

// paint draws the array into the rectangle of img, one pixel a pixel.
func (r *raster) paint(img *image.RGBA, at image.Rectangle) {
	w, h := at.Dx(), at.Dy()
	v := r.resample(w, h)
	for x := range w {
		for y := range h {
			row := y
			if r.flip {
				row = h - 1 - y
			}
			img.SetRGBA(at.Min.X+x, at.Min.Y+y, r.colors.at(r.win.norm(float64(v[x*h+row]))))
		}
	}
}
