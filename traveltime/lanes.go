package traveltime

/*
#include "output.h"
*/
import "C"

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// lanes is the worker of Eikonal: it solves a batch of places, one in each lane.
type lanes struct {
	scratch
	e        *Eikonal
	p        *survey.Positions
	gradient bool
	batch    map[int]*batch // by number of lanes
	split    []float32      // [lanes][model points], the batch's results
	part     [4][]float32   // τ on the image, its derivatives
	line     []float32
	out      Field
}

// allocate makes what a batch of n lanes needs.
func (w *lanes) allocate(n int) error {
	e, s := w.e, &w.scratch
	if w.batch == nil {
		w.batch = map[int]*batch{}
		w.out = takeField(s, e.g, w.gradient)
		if e.resample != nil {
			w.line = take[float32](s, e.model.Shape[e.model.Dim()-1])
			w.part[0] = take[float32](s, e.g.Len())
		}
		for a := range e.g.Dim() {
			if w.gradient {
				w.part[1+a] = take[float32](s, e.g.Len())
			}
		}
	}
	if w.batch[n] == nil {
		w.batch[n] = newBatch(e.model, n, s)
		if points := n * e.model.Len(); len(w.split) < points {
			w.split = take[float32](s, points)
		}
	}
	return w.err
}

// ScratchBytes implements Method: the memory besides the model.
func (e *Eikonal) ScratchBytes(gradient bool) int64 {
	w := &lanes{e: e, gradient: gradient, scratch: scratch{counting: true}}
	_ = w.allocate(e.widths[0])
	return w.bytes
}

// solve computes τ for the places of one job.
func (w *lanes) solve(ctx context.Context, j job) error {
	if err := w.allocate(j.lanes); err != nil {
		return err
	}
	b := w.batch[j.lanes]
	b.start(w.e, w.p, j.places)
	if err := b.settle(ctx, w.e); err != nil {
		return err
	}
	return b.split(w.split[:len(j.places)*w.e.model.Len()], len(j.places))
}

// field is that of one lane of the batch.
func (w *lanes) field(lane, place int) (Field, error) {
	e := w.e
	points := e.model.Len()
	tau, parts := w.split[lane*points:(lane+1)*points], w.part[:1+len(w.out.Gradient)]
	if e.resample != nil {
		e.resample.apply(parts, w.line, tau)
		tau = parts[0]
	} else {
		for a := range w.out.Gradient {
			C.eik_slope(cfloats(parts[1+a]), cfloats(tau), C.long(points),
				C.int(e.model.Shape[a]), C.long(e.model.Strides()[a]), C.double(e.model.Spacing[a]))
		}
	}
	finish(w.out, parts, tau, e.g, w.p.At(place), e.scale)
	return w.out, nil
}
