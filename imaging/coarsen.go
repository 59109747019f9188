package imaging

import (
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Coarsened connects a grid with a coarse one, which has every factor-th of its points
// along each axis, beginning with the first.
type Coarsened struct {
	Shape  []int // of the coarse grid
	Factor []int
	fine   []int
	expand []weights // by axis, fine points of coarse ones
	shrink []weights // their transposes
}

// weights give each point of an axis as a weighted sum of points of another axis.
type weights [][]weight

type weight struct {
	at int
	w  float64
}

// Coarsen makes the coarse grid of one of the given shape.
func Coarsen(shape, factor []int) *Coarsened {
	c := &Coarsened{Factor: factor, fine: shape}
	for a, n := range shape {
		f := factor[a]
		coarse := (n-1)/f + 1
		expand, shrink := make(weights, n), make(weights, coarse)
		for i := range n {
			k := i / f
			w := float64(i%f) / float64(f)
			if k+1 == coarse {
				w = 0 // beyond the last one
			}
			expand[i] = append(expand[i], weight{k, 1 - w})
			shrink[k] = append(shrink[k], weight{i, 1 - w})
			if w > 0 {
				expand[i] = append(expand[i], weight{k + 1, w})
				shrink[k+1] = append(shrink[k+1], weight{i, w})
			}
		}
		c.Shape = append(c.Shape, coarse)
		c.expand, c.shrink = append(c.expand, expand), append(c.shrink, shrink)
	}
	return c
}

// Volume is the number of points of the grid for one of the coarse grid.
func (c *Coarsened) Volume() float64 { return float64(product(c.Factor)) }

// Expand makes rows lo to hi of the fine grid along axis 0 from all of an image on the
// coarse one: linear between its points, constant beyond the last.
func (c *Coarsened) Expand(lo, hi int) device.Kernel {
	return c.kernel(c.fine, lo, hi, 0, func(dst, x []float32) { separable(dst, x, c.Shape, c.expand, lo, hi) })
}

// Shrink is the transpose: it makes rows lo to hi of the coarse grid from all of an image on
// the fine one.
func (c *Coarsened) Shrink(lo, hi int) device.Kernel {
	return c.kernel(c.Shape, lo, hi, 1, func(dst, x []float32) { separable(dst, x, c.fine, c.shrink, lo, hi) })
}

// kernel makes rows of an image of a shape, with one thread a point.
func (c *Coarsened) kernel(shape []int, lo, hi int, shrink int32, host func(dst, x []float32)) device.Kernel {
	const threads = 256
	fine, coarse, factor := three(c.fine, 1), three(c.Shape, 1), three(c.Factor, 1)
	k := device.Kernel{
		Host: host, Program: Program(), Name: "between",
		Blocks: ((hi-lo)*product(shape[1:]) + threads - 1) / threads, Threads: threads, Rounds: 1,
	}
	for a := range fine {
		k.Args = append(k.Args, struct{ fine, coarse, factor int32 }{int32(fine[a]), int32(coarse[a]), int32(factor[a])})
	}
	k.Args = append(k.Args, int32(lo), int32(hi), shrink)
	return k
}

// separable applies one matrix along each axis of x, rows lo to hi of the first.
func separable(dst, x []float32, shape []int, by []weights, lo, hi int) {
	shape = slices.Clone(shape)
	from := x
	for a := range shape {
		m := by[a]
		if a == 0 {
			m = m[lo:hi]
		}
		outer, inner := product(shape[:a]), product(shape[a+1:])
		to := make([]float32, outer*len(m)*inner)
		for o := range outer {
			for i, sum := range m {
				row := to[(o*len(m)+i)*inner:][:inner]
				for _, p := range sum {
					w := float32(p.w)
					for k, v := range from[(o*shape[a]+p.at)*inner:][:inner] {
						row[k] += w * v
					}
				}
			}
		}
		shape[a], from = len(m), to
	}
	copy(dst, from)
}
