package tomography

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
)

// Knots are cubic B-splines on a regular lattice over a grid.
type Knots struct {
	origin, spacing []float64
	shape           []int
}

// leastKnots is the number of intervals between knots along an axis, at least.
const leastKnots = 1

// NewKnots lays knots over g, about spacing apart along each axis, in its units.
func NewKnots(g grid.Grid, spacing []float64) (*Knots, error) {
	if len(spacing) != g.Dim() {
		return nil, fmt.Errorf("tomography: %d distances of knots for %d axes", len(spacing), g.Dim())
	}
	k := &Knots{}
	for a, want := range spacing {
		if !(want >= g.Spacing[a]) || math.IsInf(want, 0) {
			return nil, fmt.Errorf("tomography: knots %g %s apart along %s, must be at least the model's spacing of %g %[2]s", want, g.Unit(a), g.AxisName(a), g.Spacing[a])
		}
		length := g.End(a) - g.Origin[a]
		n := counts.Near(length/want, leastKnots, counts.Most)
		step := length / float64(n)
		if length == 0 {
			step = want
		}
		k.origin, k.spacing, k.shape = append(k.origin, g.Origin[a]-step), append(k.spacing, step), append(k.shape, n+3)
	}
	return k, nil
}

// Len is the number of knots.
func (k *Knots) Len() int {
	n := 1
	for _, s := range k.shape {
		n *= s
	}
	return n
}

// Shape is the number of knots along each axis.
func (k *Knots) Shape() []int { return k.shape }

// Each calls f with the number of each knot whose spline reaches the position x, and the value of
// the spline there. Positions beyond the grid count as its nearest point.
func (k *Knots) Each(x []float64, f func(knot int, value float64)) {
	var first [3]int
	var weight [3][4]float64
	for a := range x {
		at := (x[a]-k.origin[a])/k.spacing[a] - 1
		at = max(0, min(at, float64(k.shape[a]-3)))
		first[a] = min(int(at), k.shape[a]-4)
		weight[a] = cubic(at - float64(first[a]))
	}
	if len(x) == 2 {
		for i, wx := range weight[0] {
			for j, wz := range weight[1] {
				f((first[0]+i)*k.shape[1]+first[1]+j, wx*wz)
			}
		}
		return
	}
	for i, wx := range weight[0] {
		for j, wy := range weight[1] {
			for l, wz := range weight[2] {
				f(((first[0]+i)*k.shape[1]+first[1]+j)*k.shape[2]+first[2]+l, wx*wy*wz)
			}
		}
	}
}

// cubic are the four B-splines that are not zero at the fraction t of an interval.
func cubic(t float64) [4]float64 {
	u := 1 - t
	return [4]float64{u * u * u / 6, (3*t*t*t - 6*t*t + 4) / 6, (3*u*u*u - 6*u*u + 4) / 6, t * t * t / 6}
}

// On is the field of coefficients c at the points of g, in C order.
func (k *Knots) On(g grid.Grid, c []float64) []float64 {
	out, x := make([]float64, g.Len()), make([]float64, g.Dim())
	for i := range out {
		g.Point(x, i)
		k.Each(x, func(knot int, value float64) { out[i] += value * c[knot] })
	}
	return out
}
