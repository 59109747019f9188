package traveltime

import (
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// Medium is the speed of waves: a constant, or a model on a grid.
type Medium struct {
	Constant float64   // m/s; of no meaning with a model
	Grid     grid.Grid // of the model; the zero Grid without one
	Values   []float64 // m/s, in C order on Grid; nil without a model
}

// IsConstant reports whether there is no model.
func (m Medium) IsConstant() bool { return m.Values == nil }

// Range returns the least and the greatest velocity, in m/s.
func (m Medium) Range() (least, greatest float64) {
	if m.IsConstant() {
		return m.Constant, m.Constant
	}
	return slices.Min(m.Values), slices.Max(m.Values)
}

// On returns the medium as a model on another grid, interpolated linearly. It may share
// its values with m.
func (m Medium) On(g grid.Grid) Medium {
	switch {
	case m.IsConstant():
		m.Values = slices.Repeat([]float64{m.Constant}, g.Len())
	case !g.Equal(m.Grid):
		values := make([]float64, g.Len())
		m.Grid.Interpolate(values, m.Values, g)
		m.Values = values
	}
	m.Grid = g
	return m
}

// At returns the velocity, in m/s, at a position x, in m: interpolated linearly, and beyond the
// model that of its nearest point.
func (m Medium) At(x []float64) float64 {
	if m.IsConstant() {
		return m.Constant
	}
	return m.Grid.At(x, func(n int) float64 { return m.Values[n] })
}

// Slowness returns ∇T, in s/m, at a point of the model for a straight ray from the
// position at, in m, with the velocity of that point. It is zero at the position itself.
func (m Medium) Slowness(at []float64, point int) (s [3]float64) {
	var x [3]float64
	m.Grid.Point(x[:len(at)], point)
	squares := 0.0
	for a := range at {
		s[a] = x[a] - at[a]
		squares += s[a] * s[a]
	}
	if squares == 0 {
		return s
	}
	for a := range at {
		s[a] /= m.Values[point] * math.Sqrt(squares)
	}
	return s
}
