package traveltime

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// resample holds, per axis and image point, the window of model points and
// their Lagrange weights for value and derivative: cubic, or of lower degree
// where the model has fewer than four points. τ is smooth, so the cubic error
// is far below that of the sweeps; where rays cross it is as good as linear.
type resample struct {
	width        [3]int
	first        [3][]int32   // [m], first model point of the window
	value, slope [3][]float32 // [m][4], slope per metre
}

func newResample(model, image grid.Grid) *resample {
	r := &resample{}
	for a := range 3 {
		axis := a
		if image.Dim() == 2 {
			if a == 1 { // no y: one point, weight one
				r.width[a], r.first[a] = 1, []int32{0}
				r.value[a], r.slope[a] = []float32{1, 0, 0, 0}, make([]float32, 4)
				continue
			}
			axis = a / 2
		}
		n, m, h := model.Shape[axis], image.Shape[axis], model.Spacing[axis]
		w := min(n, 4)
		r.width[a], r.first[a] = w, make([]int32, m)
		r.value[a], r.slope[a] = make([]float32, 4*m), make([]float32, 4*m)
		for i := range m {
			u := (image.Coord(axis, i) - model.Origin[axis]) / h
			if near := math.Round(u); math.Abs(u-near) < 1e-6 {
				u = near
			}
			first := max(0, min(int(math.Floor(u))-(w-1)/2, n-w))
			r.first[a][i] = int32(first)
			v, d := lagrange(w, u-float64(first))
			for c := range w {
				r.value[a][4*i+c] = float32(v[c])
				r.slope[a][4*i+c] = float32(d[c] / h)
			}
		}
	}
	return r
}

// lagrange gives the weights of w ≤ 4 points at 0, 1, … for the value and the
// derivative, at u, of the polynomial through them.
func lagrange(w int, u float64) (value, slope [4]float64) {
	for c := range w {
		value[c] = 1
		for o := range w {
			if o == c {
				continue
			}
			slope[c] = (slope[c]*(u-float64(o)) + value[c]) / float64(c-o)
			value[c] *= (u - float64(o)) / float64(c-o)
		}
	}
	return value, slope
}
