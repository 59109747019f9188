package bench

import (
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// The medium of the benchmarks has a velocity of topVelocity + gradient z m/s and an exact solution.
const (
	topVelocity = 1500 // m/s
	gradient    = 0.6  // 1/s
)

func velocityAt(z float64) float64 { return topVelocity + gradient*z }

// eikonal is the eikonal method in the medium, on the grid g.
func eikonal(g grid.Grid) (traveltime.Method, error) {
	v := make([]float64, g.Len())
	depth, nz := g.Dim()-1, g.Shape[g.Dim()-1]
	for i := range v {
		v[i] = velocityAt(g.Coord(depth, i%nz))
	}
	medium := traveltime.Medium{Grid: g, Least: slices.Min(v), Greatest: slices.Max(v), Slab: [2]int{0, g.Shape[0]}, Values: v}
	return traveltime.New("eikonal", traveltime.Spec{Image: g, Medium: medium})
}

// exact is the exact time, in s, between two positions in m:
// T = arcosh(1 + g²|x - x_s|²/(2 v(x) v(x_s)))/g (Červený, 2001, eq. 3.7.6).
func exact(at, x []float64) float64 {
	r2, depth := 0.0, len(x)-1
	for a := range x {
		r2 += (x[a] - at[a]) * (x[a] - at[a])
	}
	// arcosh(1+u) = log1p(u + √(u(2+u))), which keeps its figures near 0.
	u := gradient * gradient * r2 / (2 * velocityAt(x[depth]) * velocityAt(at[depth]))
	return math.Log1p(u+math.Sqrt(u*(2+u))) / gradient
}
