package picture

import (
	"image"
	"image/color"
	"math"
)

// raster is an array with the way its values become colours: axis 0 to the right, axis 1
// downward unless flip is set.
type raster struct {
	v      []float32 // [n0, n1], C order
	n0, n1 int
	flip   bool    // axis 1 upward
	smooth bool    // interpolate between samples, otherwise draw each as a block
	turn   float64 // values are angles that repeat after this many degrees; 0: they are not angles
	win    window
	colors Colors

	under *raster // colours the ground; of the same shape, nil for none
	grey  *raster // the share of grey; of the same shape, nil for none
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
func (r *raster) resample(w, h int) []float32 {
	mean := func(v []float32) []float32 {
		return resampled(resampled(v, r.n1, h, r.smooth), r.n0, w, r.smooth)
	}
	if r.turn == 0 {
		return mean(r.v)
	}
	// Angles are averaged as directions, of turned axes: 85 and -85 degrees of axes make 90.
	c, s := make([]float32, len(r.v)), make([]float32, len(r.v))
	for i, a := range r.v {
		sin, cos := math.Sincos(2 * math.Pi * float64(a) / r.turn)
		c[i], s[i] = float32(cos), float32(sin)
	}
	c, s = mean(c), mean(s)
	for i := range c {
		a := math.Atan2(float64(s[i]), float64(c[i])) * r.turn / (2 * math.Pi)
		c[i] = float32(a + r.turn*math.Round(((r.win.lo+r.win.hi)/2-a)/r.turn)) // the one nearest to the middle of the colours
	}
	return c
}

// resampled brings the last axis of v, [rows, n], to px pixels, and makes it the first
// one: [px, rows].
func resampled(v []float32, n, px int, smooth bool) []float32 {
	rows, pixels := len(v)/n, taps(n, px, smooth)
	out := make([]float32, px*rows)
	for i := range rows {
		for p, t := range pixels {
			for k, weight := range t.weights {
				out[p*rows+i] += weight * v[i*n+t.first+k]
			}
		}
	}
	return out
}

// paint draws the array into the rectangle of img, one pixel a pixel.
func (r *raster) paint(img *image.RGBA, at image.Rectangle) {
	w, h := at.Dx(), at.Dy()
	v := r.resample(w, h)
	var ground, hidden []float32
	if r.under != nil {
		ground = r.under.resample(w, h)
	}
	if r.grey != nil {
		hidden = r.grey.resample(w, h)
	}
	for x := range w {
		for y := range h {
			row := y
			if r.flip {
				row = h - 1 - y
			}
			share := r.win.norm(float64(v[x*h+row]))
			c := r.colors.at(share)
			if ground != nil {
				c = mix(r.under.colors.at(r.under.win.norm(float64(ground[x*h+row]))), c, min(1, math.Abs(2*share-1)))
			}
			if hidden != nil {
				c = mix(c, greyed, float64(hidden[x*h+row]))
			}
			img.SetRGBA(at.Min.X+x, at.Min.Y+y, c)
		}
	}
}

// greyed is the colour of points that are not shown.
var greyed = color.RGBA{R: 190, G: 190, B: 190, A: 255}

// mix is a share of the colour on a ground.
func mix(ground, c color.RGBA, share float64) color.RGBA {
	part := func(a, b uint8) uint8 { return uint8(float64(a) + share*(float64(b)-float64(a)) + 0.5) }
	return color.RGBA{R: part(ground.R, c.R), G: part(ground.G, c.G), B: part(ground.B, c.B), A: 255}
}
