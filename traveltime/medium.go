package traveltime

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// Medium is the speed of waves: a constant, or a model on a grid. For a model it holds
// the values of a slab, which may be empty or the whole.
type Medium struct {
	Constant float64   // m/s; of no meaning with a model
	Grid     grid.Grid // of the whole model; the zero Grid without one

	Least, Greatest float64 // m/s, over the whole model

	Slab   [2]int    // the range [lo, hi) of indices along Grid's first axis whose values are held
	Values []float64 // m/s, in C order, at the points of the slab; of P waves along the symmetry axis

	// Anisotropic says that the model is transversely isotropic. Anisotropy holds how, like Values.
	Anisotropic bool
	Anisotropy  Anisotropy
}

// IsConstant reports whether there is no model.
func (m Medium) IsConstant() bool { return m.Grid.Shape == nil }

// Range returns the least and the greatest velocity, in m/s.
func (m Medium) Range() (least, greatest float64) {
	if m.IsConstant() {
		return m.Constant, m.Constant
	}
	return m.Least, m.Greatest
}

// Plane is the number of points of the model with one index along the first axis.
func (m Medium) Plane() int { return m.Grid.Len() / m.Grid.Shape[0] }

// Holds reports whether a constant, or a model's values in a slab, are at hand.
func (m Medium) Holds(slab [2]int) bool {
	return m.IsConstant() || slab[0] >= slab[1] || slab[0] >= m.Slab[0] && slab[1] <= m.Slab[1]
}

// Below returns the least slab of the model from which On interpolates at the indices
// [slab[0], slab[1]) along the first axis of g.
func (m Medium) Below(g grid.Grid, slab [2]int) [2]int {
	switch {
	case m.IsConstant() || slab[0] >= slab[1]:
		return [2]int{}
	case g.Equal(m.Grid):
		return slab
	}
	first, _ := m.Grid.Cell(0, g.Coord(0, slab[0]))
	last, next := m.Grid.Cell(0, g.Coord(0, slab[1]-1))
	if next > 0 {
		last++
	}
	return [2]int{first, last + 1}
}

// On returns the velocity, in m/s, at the points of g whose index along the first axis lies
// in [slab[0], slab[1]), in C order, interpolated linearly. The result may share memory with
// m. It panics if a model does not hold the slab that Below says.
func (m Medium) On(g grid.Grid, slab [2]int) []float64 {
	n := (slab[1] - slab[0]) * (g.Len() / g.Shape[0])
	switch {
	case n == 0:
		return nil
	case m.IsConstant():
		return slices.Repeat([]float64{m.Constant}, n)
	}
	return m.on(m.Values, g, slab)
}

// on is On for any values like those of a model.
func (m Medium) on(from []float64, g grid.Grid, slab [2]int) []float64 {
	plane := g.Len() / g.Shape[0]
	first, n := slab[0]*plane, (slab[1]-slab[0])*plane
	if n == 0 {
		return nil
	}
	if need := m.Below(g, slab); !m.Holds(need) {
		panic(fmt.Sprintf("traveltime: velocities of slab %v are needed, those of %v are held", need, m.Slab))
	}
	if g.Equal(m.Grid) {
		first -= m.Slab[0] * plane
		return from[first : first+n]
	}
	values, x := make([]float64, n), make([]float64, g.Dim())
	skip := m.Slab[0] * m.Plane()
	for i := range values {
		g.Point(x, first+i)
		values[i] = m.Grid.At(x, func(n int) float64 { return from[n-skip] })
	}
	return values
}

// At returns the velocity, in m/s, at the position x, in m: interpolated linearly, and beyond
// the model that of its nearest point. It panics if m does not hold the points around x.
func (m Medium) At(x []float64) float64 {
	if m.IsConstant() {
		return m.Constant
	}
	skip := m.Slab[0] * m.Plane()
	return m.Grid.At(x, func(n int) float64 { return m.Values[n-skip] })
}

// Slowness returns ∇T, in s/m, at the position x for a straight ray from the position at,
// both in m, with the velocity of x. It is zero at the position at itself.
func (m Medium) Slowness(at, x []float64) (s [3]float64) {
	squares := 0.0
	for a := range at {
		s[a] = x[a] - at[a]
		squares += s[a] * s[a]
	}
	if squares == 0 {
		return s
	}
	v := m.At(x)
	for a := range at {
		s[a] /= v * math.Sqrt(squares)
	}
	return s
}
