package traveltime

/*
#include "output.h"
*/
import "C"

import (
	"runtime"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// apply interpolates t, given on from, to the points of to: dst[0] is the value
// and, where there are more parts, dst[1+a] the derivative along axis a, per
// metre. Line is scratch of from's points along z; all but t lie outside Go's heap.
func (r *resample) apply(dst [][]float32, line, t []float32, from, to grid.Grid) {
	dim := from.Dim()
	var pin runtime.Pinner
	defer pin.Unpin()
	c := C.eik_resample{dim: C.int(dim)}
	for a := range 3 {
		c.n[a], c.m[a] = 1, 1
		if axis := a * (dim - 1) / 2; dim == 3 || a != 1 {
			c.n[a], c.m[a] = C.int(from.Shape[axis]), C.int(to.Shape[axis])
		}
		c.width[a] = C.int(r.width[a])
		pin.Pin(&r.first[a][0])
		pin.Pin(&r.value[a][0])
		pin.Pin(&r.slope[a][0])
		c.first[a] = (*C.int)(unsafe.Pointer(&r.first[a][0]))
		c.value[a], c.slope[a] = cfloats(r.value[a]), cfloats(r.slope[a])
	}
	var to4 [4]*C.float
	for k := range dst {
		to4[k] = cfloats(dst[k])
	}
	gradient := C.int(0)
	if len(dst) > 1 {
		gradient = 1
	}
	C.eik_interpolate(&to4[0], cfloats(line), cfloats(t), &c, gradient)
}

// finish sets f to T = R τ·scale and, where f has gradients, to ∇T with the
// derivatives of τ in part[1:], on the grid g for the position at. Both lie outside Go's
// heap.
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
