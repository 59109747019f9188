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

// At is the value at the position x of a field that value gives by the C-order number of
// a point, interpolated like Interpolate.
func (g Grid) At(x []float64, value func(n int) float64) float64 {
	var frac [3]float64
	var step [3]int // to the upper neighbour
	base, stride := 0, 1
	for a := len(x) - 1; a >= 0; a-- {
		if n := g.Shape[a]; n > 1 {
			u := (x[a] - g.Origin[a]) / g.Spacing[a]
			k := min(max(int(u), 0), n-2)
			frac[a], step[a] = min(max(u-float64(k), 0), 1), stride
			base += k * stride
		}
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
