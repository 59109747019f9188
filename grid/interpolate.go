package grid

// Interpolate samples the field v, given on g, at the points of the grid at,
// linearly along each axis, and writes the result to dst. Points outside g take
// the nearest value on its edge.
func (g Grid) Interpolate(dst, v []float64, at Grid) {
	dim := g.Dim()
	// Along each axis: the lower neighbour of each target point and its distance.
	low := make([][]int, dim)
	frac := make([][]float64, dim)
	for a := range dim {
		low[a] = make([]int, at.Shape[a])
		frac[a] = make([]float64, at.Shape[a])
		for i := range low[a] {
			x := (at.Coord(a, i) - g.Origin[a]) / g.Spacing[a]
			k := min(max(int(x), 0), max(g.Shape[a]-2, 0))
			low[a][i] = k
			if g.Shape[a] > 1 {
				frac[a][i] = min(max(x-float64(k), 0), 1)
			}
		}
	}
	st := g.Strides()
	idx := make([]int, dim)
	for n := range dst {
		sum := 0.0
		for corner := range 1 << dim {
			w, at := 1.0, 0
			for a := range dim {
				k := low[a][idx[a]]
				f := frac[a][idx[a]]
				if corner>>a&1 == 1 {
					w *= f
					k = min(k+1, g.Shape[a]-1)
				} else {
					w *= 1 - f
				}
				at += k * st[a]
			}
			if w != 0 {
				sum += w * v[at]
			}
		}
		dst[n] = sum
		for a := dim - 1; a >= 0; a-- {
			if idx[a]++; idx[a] < at.Shape[a] {
				break
			}
			idx[a] = 0
		}
	}
}
