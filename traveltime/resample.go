package traveltime

/*
#include "output.h"
*/
import "C"

import (
	"math"
	"runtime"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// resample brings fields from one grid to another. It holds, per axis and image point,
// the window of model points and their Lagrange weights for value and derivative: cubic,
// or of lower degree where the model has fewer than four points. τ is smooth, so the
// cubic error is far below that of the sweeps; where rays cross it is as good as linear.
type resample struct {
	scratch // of first, value and slope
	dim     int
	n       [3]int // points along each axis that one is interpolated from, at most 4
	first   [3][]int32
	value   [3][]float32 // [image points][4]
	slope   [3][]float32 // the same, of 1/m
	deep    [2]int       // points along z, of the model and of the image
}

func newResample(model, image grid.Grid) (*resample, error) {
	dim := model.Dim()
	r := &resample{dim: dim, deep: [2]int{model.Shape[dim-1], image.Shape[dim-1]}}
	for a := range 3 {
		axis, there := a*(dim-1)/2, dim == 3 || a != 1 // in 2-D y is one point
		m := 1
		if there {
			m = image.Shape[axis]
		}
		first, value, slope := take[int32](&r.scratch, m), take[float32](&r.scratch, 4*m), take[float32](&r.scratch, 4*m)
		if r.err != nil {
			r.free()
			return nil, r.err
		}
		r.n[a], r.first[a], r.value[a], r.slope[a] = 1, first, value, slope
		if !there {
			value[0] = 1
			continue
		}
		h := model.Spacing[axis]
		for i := range m {
			at, w := support(model, image, axis, i)
			v, d := lagrange(w, modelPoint(model, image, axis, i)-float64(at))
			for c := range w {
				value[4*i+c], slope[4*i+c] = float32(v[c]), float32(d[c]/h)
			}
			r.n[a], first[i] = w, int32(at)
		}
	}
	runtime.SetFinalizer(r, func(r *resample) { r.free() })
	return r, nil
}

// modelPoint is where a point of the image lies along an axis, in points of the model.
func modelPoint(model, image grid.Grid, axis, i int) float64 {
	u := (image.Coord(axis, i) - model.Origin[axis]) / model.Spacing[axis]
	if near := math.Round(u); math.Abs(u-near) < 1e-6 {
		u = near
	}
	return u
}

// support is the first of the model's points along an axis that a point of the image is
// interpolated from, and their number. Both rise or stay along the axis.
func support(model, image grid.Grid, axis, i int) (first, width int) {
	n := model.Shape[axis]
	width = min(n, 4)
	u := int(math.Floor(modelPoint(model, image, axis, i)))
	return max(0, min(u-(width-1)/2, n-width)), width
}

// apply interpolates t, which covers the window from of the model, on the window to of the
// image: dst[0] is the value and, where there are more parts, dst[1+a] the derivative along
// axis a, per metre. Line is scratch of the model's points along z. The parts lie outside
// Go's heap.
func (r *resample) apply(dst [][]float32, line, t []float32, from, to Window) {
	c := C.eik_resample{dim: C.int(r.dim)}
	for a := range 3 {
		lo := 0
		if a < 2 {
			c.n[a], c.m[a], c.lo[a] = C.int(from.Hi[a]-from.Lo[a]), C.int(to.Hi[a]-to.Lo[a]), C.int(from.Lo[a])
			lo = to.Lo[a]
		} else {
			c.n[a], c.m[a] = C.int(r.deep[0]), C.int(r.deep[1])
		}
		c.width[a] = C.int(r.n[a])
		c.first[a] = (*C.int)(unsafe.Pointer(&r.first[a][lo]))
		c.value[a], c.slope[a] = cfloats(r.value[a][4*lo:]), cfloats(r.slope[a][4*lo:])
	}
	var parts [4]*C.float
	for k := range dst {
		parts[k] = cfloats(dst[k])
	}
	C.eik_interpolate(&parts[0], cfloats(line), cfloats(t), &c, C.int(min(1, len(dst)-1)))
	runtime.KeepAlive(r)
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

// finish sets b to T = R τ·scale, or R g τ·scale with b's home, and, where b has gradients, to
// ∇T with the derivatives of τ in part[1:], on a window of the grid g for the position at. τ and its derivatives
// cover the window given of the same grid, which w lies in, and are outside Go's heap.
func finish(b Branch, w Window, part [][]float32, tau []float32, given Window, g grid.Grid, at []float64, scale float64) {
	z := g.Dim() - 1
	first := given.columnsBefore(w.Lo[0], w.Lo[1]) * g.Shape[z]
	var lo, n [3]C.int
	var origin, spacing, source [3]C.double
	var grad [3]*C.double
	var slope [3]*C.float
	for a := range g.Dim() {
		n[a], source[a] = C.int(g.Shape[a]), C.double(at[a])
		if a < z {
			lo[a], n[a] = C.int(w.Lo[a]), C.int(w.Hi[a]-w.Lo[a])
		}
		origin[a], spacing[a] = C.double(g.Origin[a]), C.double(g.Spacing[a])
		if b.Gradient != nil {
			grad[a] = (*C.double)(unsafe.Pointer(&b.Gradient[a][0]))
			slope[a] = cfloats(part[1+a][first:])
		}
	}
	var cone *C.double
	if b.home != nil {
		c := make([]float64, coneTerms+3)
		copy(c, b.home.terms[:])
		copy(c[coneTerms:], b.home.axis)
		if z == 1 {
			c[coneTerms+1], c[coneTerms+2] = 0, c[coneTerms+1]
		}
		cone = (*C.double)(unsafe.Pointer(&c[0]))
	}
	C.eik_finish((*C.double)(unsafe.Pointer(&b.Time[0])), &grad[0], cfloats(tau[first:]), &slope[0], C.int(g.Dim()),
		&lo[0], &n[0], C.int(given.columnsAlongY()), &origin[0], &spacing[0], &source[0], cone, C.double(scale))
}
