package traveltime

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// startHalf is the half width, in cells, of the box round a source whose points
// are given by startBox instead of the sweeps: five points along each axis.
const startHalf = 2.5

// bendLimit bounds the correction for ray bending in startBox.
const bendLimit = 0.05

// Gauss-Legendre nodes and weights on [0, 1], five points (Abramowitz and
// Stegun, table 25.4).
var (
	gaussNode   = [5]float64{0.046910077030668, 0.230765344947158, 0.5, 0.769234655052842, 0.953089922969332}
	gaussWeight = [5]float64{0.118463442528095, 0.239314335249683, 0.284444444444444, 0.239314335249683, 0.118463442528095}
)

// startRange is the first and last point of the start box on one axis.
func startRange(g grid.Grid, axis int, at float64) (first, last int) {
	u := (at - g.Origin[axis]) / g.Spacing[axis]
	return max(0, int(math.Ceil(u-startHalf))), min(g.Shape[axis]-1, int(math.Floor(u+startHalf)))
}

// startBox calls set with τ = T/R, in s/m, for each grid point of the box round
// the source. Along the straight ray the slowness of the multilinear velocity is
// integrated; a velocity gradient g across the ray bends the true one, which is
// faster by the factor 1 - (g R / v)²/24. Together the two are exact to third
// order in R where the velocity is linear (expand arccosh in the formula for a
// constant gradient). No time is made shorter than the fastest point of the box
// allows. velocity gives the value at a C-order point number.
func startBox(g grid.Grid, at []float64, velocity func(n int) float64, set func(index [3]int, tau float64)) {
	dim := g.Dim()
	each := func(f func(k [3]int)) { eachStart(g, at, f) }
	slope := velocitySlope(g, at, velocity)
	fastest, stride := 0.0, g.Strides()
	each(func(k [3]int) {
		n := 0
		for a, s := range stride {
			n += k[a] * s
		}
		fastest = math.Max(fastest, velocity(n))
	})
	var x, y [3]float64
	each(func(k [3]int) {
		r2, along, steep := 0.0, 0.0, 0.0
		for a := range dim {
			x[a] = g.Coord(a, k[a]) - at[a]
			r2 += x[a] * x[a]
			along += slope[a] * x[a]
			steep += slope[a] * slope[a]
		}
		tau := 0.0
		const panels = 4
		for q := range panels {
			for j, node := range gaussNode {
				f := (float64(q) + node) / panels
				for a := range dim {
					y[a] = at[a] + f*x[a]
				}
				tau += gaussWeight[j] / panels / g.At(y[:dim], velocity)
			}
		}
		if r2 > 0 {
			across := math.Max(0, steep*r2-along*along) // (g R)² across the ray
			tau = math.Max(tau*(1-math.Min(across*tau*tau/24, bendLimit)), 1/fastest)
		}
		set(k, tau)
	})
}

// eachStart calls f with the index of each point of the start box.
func eachStart(g grid.Grid, at []float64, f func(k [3]int)) {
	var lo, hi [3]int
	for a, x := range at {
		lo[a], hi[a] = startRange(g, a, x)
	}
	for x := lo[0]; x <= hi[0]; x++ {
		for y := lo[1]; y <= hi[1]; y++ {
			for z := lo[2]; z <= hi[2]; z++ {
				f([3]int{x, y, z})
			}
		}
	}
}

// velocitySlope is the velocity's gradient over the cells next to a position.
func velocitySlope(g grid.Grid, at []float64, velocity func(n int) float64) (slope [3]float64) {
	var x [3]float64
	dim := g.Dim()
	copy(x[:], at)
	for a := range dim {
		lo, hi := math.Max(g.Origin[a], at[a]-g.Spacing[a]), math.Min(g.End(a), at[a]+g.Spacing[a])
		if hi > lo {
			x[a] = hi
			v := g.At(x[:dim], velocity)
			x[a] = lo
			slope[a] = (v - g.At(x[:dim], velocity)) / (hi - lo)
			x[a] = at[a]
		}
	}
	return slope
}
