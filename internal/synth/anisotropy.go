package synth

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// smoothTilted smooths the anisotropy of a model on g as Smooth does its velocity.
func smoothTilted(g grid.Grid, a traveltime.Anisotropy, radius float64) traveltime.Anisotropy {
	if radius <= 0 {
		return a
	}
	return mapTilted(a, func(v []float64) []float64 {
		v = slices.Clone(v)
		Blur(g, v, radius)
		return v
	})
}

// ResampleTilted interpolates the anisotropy of a model on g at the points of another grid.
func ResampleTilted(g grid.Grid, a traveltime.Anisotropy, to grid.Grid) traveltime.Anisotropy {
	return mapTilted(a, func(v []float64) []float64 {
		out := make([]float64, to.Len())
		g.Interpolate(out, v, to)
		return out
	})
}

// mapTilted applies a mean, which takes values at points to means of them at perhaps other points, to an
// anisotropy. ε, δ and η are averaged, axes as in [MeanAxes], each counting by |ε| + |δ|. An azimuth without a
// tilt says nothing and is left out.
func mapTilted(a traveltime.Anisotropy, mean func(v []float64) []float64) (out traveltime.Anisotropy) {
	for k, to := range out.All() {
		if v := *a.All()[k]; v != nil && to != &out.Tilt && to != &out.Azimuth {
			*to = mean(v)
		}
	}
	if a.Tilt != nil {
		out.Tilt, out.Azimuth = MeanAxes(a.Tilt, a.Azimuth, func(i int) float64 {
			return math.Abs(at(a.Epsilon, i)) + math.Abs(at(a.Delta, i))
		}, mean)
	}
	return out
}

// MeanAxes averages axes, given by tilt from the vertical and azimuth (nil: along x), in degrees. Axes have no
// sign: those at 85 and -85 degrees lie 10 degrees apart, and their mean at 90. The mean is the axis
// along which the axes lie most, the first principal axis of the mean of the products n n' of their
// directions n. weight says how much axis i counts, nil for all alike. The tilts lie within 90 degrees of the
// vertical, from 0 on where there are azimuths. Memory: 12 arrays of the axes and the means together.
func MeanAxes(tilt, azimuth []float64, weight func(i int) float64, mean func(v []float64) []float64) (tilts, azimuths []float64) {
	var products [6][]float64 // of the axis with itself
	for k, p := range pairs {
		if azimuth == nil && (p[0] == 1 || p[1] == 1) {
			continue // nothing leans along y
		}
		v := make([]float64, len(tilt))
		for i := range v {
			n := axisAt(tilt[i], at(azimuth, i))
			v[i] = n[p[0]] * n[p[1]]
			if weight != nil {
				v[i] *= weight(i)
			}
		}
		products[k] = mean(v)
	}
	tilts = make([]float64, len(products[0]))
	if azimuth != nil {
		azimuths = make([]float64, len(tilts))
	}
	for i := range tilts {
		if azimuth != nil {
			tilts[i], azimuths[i] = principal(products, i)
		} else { // the larger eigenvalue of a matrix of 2 rows
			tilts[i] = math.Atan2(2*products[2][i], products[5][i]-products[0][i]) * 90 / math.Pi
		}
	}
	return tilts, azimuths
}

// MeanDirections averages azimuths, in degrees, of axes whose tilts are not known: 350 and 10 make 0.
// Opposite ones belong to one axis that leans either way, and make the azimuth of the first quadrants.
func MeanDirections(azimuth []float64, mean func(v []float64) []float64) []float64 {
	turned := func(times float64) (c, s []float64) {
		c, s = make([]float64, len(azimuth)), make([]float64, len(azimuth))
		for i, a := range azimuth {
			s[i], c[i] = math.Sincos(times * a * math.Pi / 180)
		}
		return mean(c), mean(s)
	}
	c, s := turned(1)
	c2, s2 := turned(2)
	for i := range c {
		if math.Hypot(c[i], s[i]) > 1e-9 {
			c[i] = math.Atan2(s[i], c[i]) * 180 / math.Pi
		} else {
			c[i] = math.Atan2(s2[i], c2[i]) * 90 / math.Pi
		}
	}
	return c
}

// pairs are the components of a symmetric tensor.
var pairs = [6][2]int{{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}}

// at is value i of a property, 0 without it.
func at(values []float64, i int) float64 {
	if values == nil {
		return 0
	}
	return values[i]
}

// axisAt is the direction (x, y, z) of an axis from its angles in degrees.
func axisAt(tilt, azimuth float64) [3]float64 {
	s, c := math.Sincos(tilt * math.Pi / 180)
	sa, ca := math.Sincos(azimuth * math.Pi / 180)
	return [3]float64{s * ca, s * sa, c}
}

// principal returns the angles of the axis to the largest eigenvalue of tensor i, from a tilt
// of 0 to 90 degrees. Without a tensor the axis is vertical.
func principal(products [6][]float64, i int) (tilt, azimuth float64) {
	m := mat.NewSymDense(3, nil)
	size := 0.0
	for k, p := range pairs {
		m.SetSym(p[0], p[1], products[k][i])
		size += math.Abs(products[k][i])
	}
	var e mat.EigenSym
	if size == 0 || !e.Factorize(m, true) {
		return 0, 0
	}
	var v mat.Dense
	e.VectorsTo(&v)
	x, y, z := v.At(0, 2), v.At(1, 2), v.At(2, 2) // eigenvalues ascend
	if z < 0 {
		x, y, z = -x, -y, -z
	}
	const degree = 180 / math.Pi
	across := math.Hypot(x, y)
	if across < 1e-9 {
		return 0, 0
	}
	return math.Atan2(across, z) * degree, math.Atan2(y, x) * degree
}
