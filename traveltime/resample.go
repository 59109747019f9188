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
	scratch // of the arrays of c
	c       C.eik_resample
}

func newResample(model, image grid.Grid) (*resample, error) {
	r := &resample{}
	dim := model.Dim()
	r.c.dim = C.int(dim)
	for a := range 3 {
		axis, there := a*(dim-1)/2, dim == 3 || a != 1 // in 2-D y is one point
		n, m, h := 1, 1, 1.0
		if there {
			n, m, h = model.Shape[axis], image.Shape[axis], model.Spacing[axis]
		}
		w := min(n, 4)
		first, value, slope := take[int32](&r.scratch, m), take[float32](&r.scratch, 4*m), take[float32](&r.scratch, 4*m)
		if r.err != nil {
			r.free()
			return nil, r.err
		}
		for i := range m {
			u := 0.0
			if there {
				u = (image.Coord(axis, i) - model.Origin[axis]) / h
			}
			if near := math.Round(u); math.Abs(u-near) < 1e-6 {
				u = near
			}
			first[i] = int32(max(0, min(int(math.Floor(u))-(w-1)/2, n-w)))
			v, d := lagrange(w, u-float64(first[i]))
			for c := range w {
				value[4*i+c], slope[4*i+c] = float32(v[c]), float32(d[c]/h)
			}
		}
		r.c.n[a], r.c.m[a], r.c.width[a] = C.int(n), C.int(m), C.int(w)
		r.c.first[a] = (*C.int)(unsafe.Pointer(unsafe.SliceData(first)))
		r.c.value[a], r.c.slope[a] = cfloats(value), cfloats(slope)
	}
	runtime.SetFinalizer(r, func(r *resample) { r.free() })
	return r, nil
}

// apply interpolates t: dst[0] is the value and, where there are more parts, dst[1+a] the
// derivative along axis a, per metre. Line is scratch of the model's points along z. The
// parts lie outside Go's heap.
func (r *resample) apply(dst [][]float32, line, t []float32) {
	var to [4]*C.float
	for k := range dst {
		to[k] = cfloats(dst[k])
	}
	C.eik_interpolate(&to[0], cfloats(line), cfloats(t), &r.c, C.int(min(1, len(dst)-1)))
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

// finish sets f to T = R τ·scale and, where f has gradients, to ∇T with the derivatives
// of τ in part[1:], on the grid g for the position at. Both lie outside Go's heap.
func finish(f Field, part [][]float32, tau []float32, g grid.Grid, at []float64, scale float64) {
	var n [3]C.int
	var origin, spacing, source [3]C.double
	var grad [3]*C.double
	var slope [3]*C.float
	for a := range g.Dim() {
		n[a], source[a] = C.int(g.Shape[a]), C.double(at[a])
		origin[a], spacing[a] = C.double(g.Origin[a]), C.double(g.Spacing[a])
		if f.Gradient != nil {
			grad[a] = (*C.double)(unsafe.Pointer(&f.Gradient[a][0]))
			slope[a] = cfloats(part[1+a])
		}
	}
	C.eik_finish((*C.double)(unsafe.Pointer(&f.Time[0])), &grad[0], cfloats(tau), &slope[0], C.int(g.Dim()),
		&n[0], &origin[0], &spacing[0], &source[0], C.double(scale))
}
