package traveltime

/*
#include <stdlib.h>
#include "output.h"
#include "sweep.h"
*/
import "C"

import (
	"context"
	"runtime"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// worker owns the scratch of one thread. Everything is made at first use and
// kept for all batches.
type worker struct {
	e        *Eikonal
	gradient bool
	batch    map[int]*batch // by lanes
	split    []float32      // [lanes][model points], the batch's results
	part     [4][]float32   // τ on the image, its derivatives
	line     []float32
	out      Field
}

// job is one batch: places near each other and the engine that solves them.
type job struct {
	places []int
	engine engine
}

func (w *worker) free() {
	for _, b := range w.batch {
		b.free()
	}
}

// solve computes τ for the places of one job.
func (w *worker) solve(ctx context.Context, p *survey.Positions, j job) error {
	e, lanes, points := w.e, j.engine.lanes, w.e.model.Len()
	b := w.batch[lanes]
	if b == nil {
		var err error
		if b, err = newBatch(e, lanes); err != nil {
			return err
		}
		if w.batch == nil {
			w.batch = map[int]*batch{}
			w.out = newField(e.image, w.gradient)
		}
		w.batch[lanes] = b
		if len(w.split) < lanes*points {
			w.split = make([]float32, lanes*points)
		}
	}
	b.start(e, p, j.places)
	rounds, tolerance, err := b.settle(ctx, e, j.engine)
	if err != nil {
		return err
	}
	if err := b.split(w.split[:len(j.places)*points], len(j.places)); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report.Places += len(j.places)
	e.report.Rounds = max(e.report.Rounds, rounds)
	e.report.Tolerance = max(e.report.Tolerance, tolerance)
	return nil
}

// field is the field of one lane of the batch solved last, valid until the next
// call.
func (w *worker) field(lane int, at []float64) Field {
	e := w.e
	model, image, dim := e.model, e.image, e.model.Dim()
	tau := w.split[lane*model.Len() : (lane+1)*model.Len()]
	if e.resample != nil {
		w.interpolate(tau)
		tau = w.part[0]
	} else if w.gradient {
		for a, stride := range model.Strides() {
			w.allocate(1+a, model.Len())
			C.eik_slope(cfloats(w.part[1+a]), cfloats(tau), C.long(len(tau)),
				C.int(model.Shape[a]), C.long(stride), C.double(model.Spacing[a]))
		}
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	var n [3]C.int
	var origin, spacing, source [3]C.double
	var grad [3]*C.double
	var slope [3]*C.float
	for a := range dim {
		n[a], source[a] = C.int(image.Shape[a]), C.double(at[a])
		origin[a], spacing[a] = C.double(image.Origin[a]), C.double(image.Spacing[a])
		if w.gradient {
			pin.Pin(&w.out.Gradient[a][0])
			pin.Pin(&w.part[1+a][0])
			grad[a] = (*C.double)(unsafe.Pointer(&w.out.Gradient[a][0]))
			slope[a] = cfloats(w.part[1+a])
		}
	}
	C.eik_finish((*C.double)(unsafe.Pointer(&w.out.Time[0])), &grad[0], cfloats(tau), &slope[0], C.int(dim),
		&n[0], &origin[0], &spacing[0], &source[0], C.double(e.scale))
	return w.out
}

// interpolate brings τ, and with gradients its derivatives, to the image grid.
func (w *worker) interpolate(tau []float32) {
	e, r := w.e, w.e.resample
	model, image, dim := e.model, e.image, e.model.Dim()
	var pin runtime.Pinner
	defer pin.Unpin()
	c := C.eik_resample{dim: C.int(dim)}
	for a := range 3 {
		c.n[a], c.m[a] = 1, 1
		if axis := a * (dim - 1) / 2; dim == 3 || a != 1 {
			c.n[a], c.m[a] = C.int(model.Shape[axis]), C.int(image.Shape[axis])
		}
		c.width[a] = C.int(r.width[a])
		pin.Pin(&r.first[a][0])
		pin.Pin(&r.value[a][0])
		pin.Pin(&r.slope[a][0])
		c.first[a] = (*C.int)(unsafe.Pointer(&r.first[a][0]))
		c.value[a], c.slope[a] = cfloats(r.value[a]), cfloats(r.slope[a])
	}
	var dst [4]*C.float
	parts, gradient := 1, C.int(0)
	if w.gradient {
		parts, gradient = 1+dim, 1
	}
	for k := range parts {
		w.allocate(k, image.Len())
		pin.Pin(&w.part[k][0])
		dst[k] = cfloats(w.part[k])
	}
	if w.line == nil {
		w.line = make([]float32, model.Shape[dim-1])
	}
	C.eik_interpolate(&dst[0], cfloats(w.line), cfloats(tau), &c, gradient)
}

func (w *worker) allocate(part, n int) {
	if w.part[part] == nil {
		w.part[part] = make([]float32, n)
	}
}

func cfloats(v []float32) *C.float { return (*C.float)(unsafe.Pointer(&v[0])) }
