package device

import "fmt"

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

// Stencil sets dst from src and the rows beside it, nil for none.
func (h *Host) Stencil(s Stencil, dst, src, before, after Buf) error {
	if dst.Type() == I64 {
		return fmt.Errorf("device: stencil of %v", dst.Type())
	}
	to, _, err := h.pair("stencil", dst, src)
	if err == nil {
		to.stencil(s, src, before, after)
	}
	return err
}

func (y *hostBuf[T]) stencil(s Stencil, src, before, after Buf) {
	x := Slice[T](src)
	var ends [2][]T
	for k, b := range []Buf{before, after} {
		if b != nil {
			ends[k] = Slice[T](b)
		}
	}
	n := s.N * s.Inner
	for o := range s.Outer {
		lines(s, y.data[o*n:(o+1)*n], x[o*n:(o+1)*n], ends[0], ends[1])
	}
}

// lines computes one N × Inner part. Rows in the middle, which have the same
// weights and their neighbours in x, are one loop: it reads x once from memory and
// writes y once.
func lines[T Number](s Stencil, y, x, before, after []T) {
	in := s.Inner
	rows := func(i, j int) []T { return x[i*in : j*in] }
	for i, j := 0, 0; i < s.N; i = j {
		j = i + 1
		a, b, c := before, rows(i, j), after
		if g := s.First + i; i > 0 && g >= 2 {
			j = max(j, min(s.N-1, s.Of-2-s.First))
			b = rows(i, j)
		}
		if i > 0 {
			a = rows(i-1, j-1)
		}
		if j < s.N {
			c = rows(i+1, j+1)
		}
		var w [3]T
		for k, v := range s.Weights(s.First + i) {
			w[k] = T(v)
		}
		three(y[i*in:j*in], w, a, b, c)
	}
}

// three is the one expression for all rows, so that they do not depend on where
// the array is cut. A neighbour that does not exist has no weight.
func three[T Number](y []T, w [3]T, a, b, c []T) {
	if a == nil {
		a = b
	}
	if c == nil {
		c = b
	}
	for k := range y {
		y[k] = w[0]*a[k] + w[1]*b[k] + w[2]*c[k]
	}
}
