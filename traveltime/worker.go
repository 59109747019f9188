package traveltime

/*
#include <stdlib.h>
#include "output.h"
#include "sweep.h"
*/
import "C"

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/internal/pages"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// worker owns the scratch of one thread. Everything is made at first use and
// kept for all batches, outside Go's heap, which would let that of one Solve stand
// beside that of the next.
type worker struct {
	e        *Eikonal
	gradient bool
	memory   pages.Arena
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
	w.memory.Free()
}

// solve computes τ for the places of one job.
func (w *worker) solve(ctx context.Context, p *survey.Positions, j job) error {
	e, lanes, points := w.e, j.engine.lanes, w.e.model.Len()
	if err := w.allocate(lanes); err != nil {
		return err
	}
	b := w.batch[lanes]
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
	model, image := e.model, e.image
	tau := w.split[lane*model.Len() : (lane+1)*model.Len()]
	if e.resample != nil {
		w.interpolate(tau)
		tau = w.part[0]
	} else if w.gradient {
		for a, stride := range model.Strides() {
			C.eik_slope(cfloats(w.part[1+a]), cfloats(tau), C.long(len(tau)),
				C.int(model.Shape[a]), C.long(stride), C.double(model.Spacing[a]))
		}
	}
	finish(w.out, w.part[:1+len(w.out.Gradient)], tau, image, at, e.scale)
	return w.out
}

// interpolate brings τ, and with gradients its derivatives, to the image grid.
func (w *worker) interpolate(tau []float32) {
	e := w.e
	parts := 1
	if w.gradient {
		parts = 1 + e.image.Dim()
	}
	e.resample.apply(w.part[:parts], w.line, tau, e.model, e.image)
}

// allocate makes what a batch of so many lanes needs.
func (w *worker) allocate(lanes int) (err error) {
	e := w.e
	if w.batch[lanes] != nil {
		return nil
	}
	b, err := newBatch(e, lanes)
	if err != nil {
		return err
	}
	first := w.batch == nil
	if first {
		w.batch = map[int]*batch{}
	}
	w.batch[lanes] = b
	if n := lanes * e.model.Len(); len(w.split) < n {
		if w.split, err = pages.Make[float32](&w.memory, n); err != nil {
			return err
		}
	}
	if !first {
		return nil
	}
	if w.out, err = fieldIn(&w.memory, e.image, w.gradient); err != nil {
		return err
	}
	if e.resample != nil {
		if w.line, err = pages.Make[float32](&w.memory, e.model.Shape[e.model.Dim()-1]); err != nil {
			return err
		}
		if w.part[0], err = pages.Make[float32](&w.memory, e.image.Len()); err != nil {
			return err
		}
	}
	for a := range e.image.Dim() {
		if !w.gradient {
			break
		}
		if w.part[1+a], err = pages.Make[float32](&w.memory, e.image.Len()); err != nil {
			return err
		}
	}
	return nil
}
