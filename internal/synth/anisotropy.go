package synth

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// smoothTilted smooths the anisotropy of a model on g as Smooth does its velocity. ε and δ are
// averaged. Axes have no sign: the smooth one is that along which axes lie most on average,
// each counting by |ε| + |δ|.
func smoothTilted(g grid.Grid, a traveltime.Anisotropy, radius float64) traveltime.Anisotropy {
	if radius <= 0 {
		return a
	}
	out := traveltime.Anisotropy{Epsilon: slices.Clone(a.Epsilon), Delta: slices.Clone(a.Delta), Tilt: a.Tilt, Azimuth: a.Azimuth}
	Blur(g, out.Epsilon, radius)
	Blur(g, out.Delta, radius)
	if a.Tilt == nil {
		return out
	}
	var products [6][]float64 // of the axis with itself
	for k := range products {
		products[k] = make([]float64, g.Len())
	}
	for i, tilt := range a.Tilt {
		n := axisAt(tilt, at(a.Azimuth, i))
		w := math.Abs(at(a.Epsilon, i)) + math.Abs(at(a.Delta, i))
		for k, p := range pairs {
			products[k][i] = w * n[p[0]] * n[p[1]]
		}
	}
	for k := range products {
		Blur(g, products[k], radius)
	}
	out.Tilt = make([]float64, g.Len())
	if a.Azimuth != nil {
		out.Azimuth = make([]float64, g.Len())
	}
	for i := range out.Tilt {
		tilt, azimuth := principal(products, i)
		if out.Tilt[i] = tilt; a.Azimuth != nil {
			out.Azimuth[i] = azimuth
		} else if math.Abs(azimuth) > 90 { // it leans along -x
			out.Tilt[i] = -tilt
		}
	}
	return out
}

// pairs are the components of a symmetric tensor.
var pairs = [6][2]int{{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}}

// at is value i of a property, 0 where there is none.
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
