package device

// Stencil is a three-point operator along one axis of this rank's part of an
// array, seen as Outer × N × Inner elements in C order with the axis in the
// middle. With g = First + i the number along the whole axis it is
//
//	y[g] = W[0]·x[g−1] + W[1]·x[g] + W[2]·x[g+1],  0 < g < Of−1,
//
// and zero at both ends of the axis; the adjoint is the transpose of that.
type Stencil struct {
	Outer, N, Inner int
	First, Of       int // where this part begins on the axis, and how long that is
	W               [3]float64
	Adjoint         bool
}

// Weights are the factors of the elements before, at and after g in what the
// stencil gives at g.
func (s Stencil) Weights(g int) (w [3]float64) {
	inside := func(g int) bool { return g > 0 && g < s.Of-1 }
	if !s.Adjoint {
		if inside(g) {
			return s.W
		}
		return w
	}
	for k := range w {
		// Element g is the (2−k)-th of the three that the row g+k−1 reads.
		if inside(g + k - 1) {
			w[k] = s.W[2-k]
		}
	}
	return w
}
