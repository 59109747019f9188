package grid

// Interpolate samples the field v, given on g, at the points of the grid at,
// linearly along each axis, and writes the result to dst. Points outside g take
// the nearest value on its edge.
func (g Grid) Interpolate(dst, v []float64, at Grid) {
	var x [3]float64
	value := func(n int) float64 { return v[n] }
	for n := range dst {
		at.Point(x[:], n)
		dst[n] = g.At(x[:at.Dim()], value)
	}
}

// Cell is the point of g along an axis from which At interpolates to the coordinate x, in m,
// and the weight of the next point. The weight is 0 if At does not need the next point.
func (g Grid) Cell(axis int, x float64) (first int, next float64) {
	n := g.Shape[axis]
	if n == 1 {
		return 0, 0
	}
	u := (x - g.Origin[axis]) / g.Spacing[axis]
	first = min(max(int(u), 0), n-2)
	return first, min(max(u-float64(first), 0), 1)
}

// At is the value at the position x of a field that value gives by the C-order number of
// a point, interpolated like Interpolate.
func (g Grid) At(x []float64, value func(n int) float64) float64 {
	var frac [3]float64
	var step [3]int // to the upper neighbour
	base, stride := 0, 1
	for a := len(x) - 1; a >= 0; a-- {
		k, f := g.Cell(a, x[a])
		base += k * stride
		frac[a], step[a] = f, stride
		stride *= g.Shape[a]
	}
	sum := 0.0
	for corner := range 1 << len(x) {
		weight, n := 1.0, base
		for a := range x {
			if corner>>a&1 == 1 {
				weight *= frac[a]
				n += step[a]
			} else {
				weight *= 1 - frac[a]
			}
		}
		if weight != 0 {
			sum += weight * value(n)
		}
	}
	return sum
}
