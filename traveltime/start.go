package traveltime

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// startHalf is the half width, in cells, of the box round a source whose points
// are given by startBox instead of the sweeps: five points along each axis.
const startHalf = 2.5

// bendLimit bounds the correction for ray bending in startBox: that of a velocity that changes by
// a third on the way.
const bendLimit = 0.005

// startPanels is the number of parts of a straight ray in the box, each with five Gauss points.
const startPanels = 4

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

// The stretch between two points is a gradient if the mean of their slownesses exceeds the slowness
// at their mean velocity by less than gentle, as a share. It is an interface if the mean exceeds it
// by more than abrupt. The velocities then differ by less than 2 %, or by more than 6 %.
const (
	gentle = 1e-4
	abrupt = 1e-3
)

// betweenPoints is the slowness between points of the grid, from the velocity and the slowness
// interpolated linearly. In a gradient it is the slowness of the linear velocity, with which the
// start is exact to third order. Across an interface it is the interpolated slowness, whose mean
// between two points is that of theirs, so that the interface lies halfway, as it does for the
// sweeps. The two differ by the square of the step only, and the one passes into the other.
func betweenPoints(velocity, slowness float64) float64 {
	inside, excess := 1/velocity, slowness*velocity-(1+gentle)
	return inside + math.Max(0, math.Min(excess/(abrupt-gentle), 1))*(slowness-inside)
}

// startBox calls set with τ = T/R, in s/m, for each grid point of the box round
// the source. Along the straight ray the slowness of betweenPoints is integrated; a velocity gradient g across the ray bends the true one, which is
// faster by the factor 1 - (g R / v)²/24. Together the two are exact to third
// order in R where the velocity is linear (expand arccosh in the formula for a
// constant gradient). No time is made shorter than the fastest point of the box
// allows. velocity gives the value at a C-order point number.
func startBox(g grid.Grid, at []float64, velocity func(n int) float64, set func(index [3]int, tau float64)) {
	dim := g.Dim()
	each := func(f func(k [3]int)) { eachStart(g, at, f) }
	slowness := func(n int) float64 { return 1 / velocity(n) }
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
		for q := range startPanels {
			for j, node := range gaussNode {
				f := (float64(q) + node) / startPanels
				for a := range dim {
					y[a] = at[a] + f*x[a]
				}
				tau += gaussWeight[j] / startPanels * betweenPoints(g.At(y[:dim], velocity), g.At(y[:dim], slowness))
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

// velocitySlope is the velocity's gradient over the cells next to a position: along each axis at
// most twice the lesser one of those on both sides, so that an interface on one side bends no ray on
// the other (van Leer 1977, Towards the ultimate conservative difference scheme IV, J. Comput. Phys.
// 23).
func velocitySlope(g grid.Grid, at []float64, velocity func(n int) float64) (slope [3]float64) {
	var x [3]float64
	dim := g.Dim()
	copy(x[:], at)
	here := g.At(at, velocity)
	for a := range dim {
		lo, hi := math.Max(g.Origin[a], at[a]-g.Spacing[a]), math.Min(g.End(a), at[a]+g.Spacing[a])
		if !(hi > lo) {
			continue
		}
		x[a] = hi
		above := g.At(x[:dim], velocity)
		x[a] = lo
		below := g.At(x[:dim], velocity)
		x[a] = at[a]
		slope[a] = (above - below) / (hi - lo)
		if lo < at[a] && at[a] < hi {
			least := 0.0
			if (above-here)*(here-below) > 0 {
				least = 2 * math.Min(math.Abs(above-here)/(hi-at[a]), math.Abs(here-below)/(at[a]-lo))
			}
			slope[a] = math.Copysign(math.Min(math.Abs(slope[a]), least), slope[a])
		}
	}
	return slope
}
