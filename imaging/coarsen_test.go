package imaging

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var coarsened = []struct{ shape, factor []int }{
	{[]int{13, 21}, []int{4, 5}}, {[]int{12, 9}, []int{3, 4}}, {[]int{10, 7}, []int{1, 3}},
	{[]int{9, 7, 11}, []int{2, 3, 5}}, {[]int{5, 1, 6}, []int{7, 2, 5}},
}

// Between a grid and a coarser one linear functions stay what they are, Shrink is the
// transpose of Expand, and slabs are rows of the whole.
func TestCoarsen(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range coarsened {
		g := Coarsen(c.shape, c.factor)
		n, m := product(c.shape), product(g.Shape)
		if v := float64(product(c.factor)); g.Volume() != v {
			t.Errorf("%v by %v: volume %g, want %g", c.shape, c.factor, g.Volume(), v)
		}
		// Linear along each axis, up to the last coarse point.
		for axis, f := range c.factor {
			x := make([]float32, m)
			for i := range x {
				x[i] = float32(along(g.Shape, i, axis) * f)
			}
			y := made(t, host, g.Expand(0, c.shape[0]), x, n)
			for i := range y {
				want := float32(min(along(c.shape, i, axis), (g.Shape[axis]-1)*f))
				if math.Abs(float64(y[i]-want)) > 1e-5*float64(c.shape[axis]) {
					t.Fatalf("%v by %v, axis %d, point %d: %g, want %g", c.shape, c.factor, axis, i, y[i], want)
				}
			}
		}
		x, y := white(m, r), white(n, r)
		ex, sy := made(t, host, g.Expand(0, c.shape[0]), x, n), made(t, host, g.Shrink(0, g.Shape[0]), y, m)
		if a, b := sumOf(ex, y), sumOf(x, sy); math.Abs(a-b) > 1e-6*math.Sqrt(sumOf(ex, ex)*sumOf(y, y)) {
			t.Errorf("%v by %v: ⟨R x, y⟩ = %.9g, ⟨x, Rᵀ y⟩ = %.9g", c.shape, c.factor, a, b)
		}
		half := c.shape[0] / 2
		part := made(t, host, g.Expand(half, c.shape[0]), x, (c.shape[0]-half)*(n/c.shape[0]))
		if !slices.Equal(part, ex[len(ex)-len(part):]) {
			t.Errorf("%v by %v: rows from %d on differ from those of the whole", c.shape, c.factor, half)
		}
		part = made(t, host, g.Shrink(0, 1), y, m/g.Shape[0])
		if !slices.Equal(part, sy[:len(part)]) {
			t.Errorf("%v by %v: the first row differs from that of the whole", c.shape, c.factor)
		}
	}
}

// along is the index along an axis of point i in C order.
func along(shape []int, i, axis int) int {
	return i / product(shape[axis+1:]) % shape[axis]
}
