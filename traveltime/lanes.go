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
	e   *Eikonal
	p   *survey.Positions
	opt Options

	model extent // of the largest window that is solved
	image int    // points of the largest field

	batch *batch
	split []float32    // [lanes][points of the batch's window], its results
	part  [4][]float32 // τ on the image, its derivatives
	line  []float32
	out   Field
}

func (e *Eikonal) worker(p *survey.Positions, places []int, opt Options) *lanes {
	w := &lanes{e: e, p: p, opt: opt}
	w.image = opt.most(e.g, places) * e.g.Shape[e.g.Dim()-1]
	if opt.Windows == nil {
		w.model.grow(Whole(e.model))
		return w
	}
	for _, place := range places {
		w.model.grow(e.region(opt, place, p.At(place)))
	}
	return w
}

// allocate makes what batches of all widths need.
func (w *lanes) allocate() {
	e, s := w.e, &w.scratch
	dim, widest := e.g.Dim(), e.widths[0]
	nz := e.model.Shape[dim-1]
	w.out = takeField(s, w.image, dim, w.opt.Gradient)
	slopes := w.image
	if e.resample != nil {
		w.line = take[float32](s, nz)
		w.part[0] = take[float32](s, w.image)
	} else {
		slopes = w.model.columns * nz
	}
	for a := range w.out.Gradient {
		w.part[1+a] = take[float32](s, slopes)
	}
	w.batch = newBatch(e.model, widest, w.model, s)
	w.split = take[float32](s, widest*w.model.columns*nz)
}

// ScratchBytes implements Method: the memory besides the model.
func (e *Eikonal) ScratchBytes(p *survey.Positions, places []int, opt Options) int64 {
	w := e.worker(p, places, opt)
	w.counting = true
	w.allocate()
	return w.bytes
}

// points is the size of a field of τ on the batch's window.
func (w *lanes) points() int { return w.batch.window.count() * w.e.model.Shape[w.e.model.Dim()-1] }

// solve computes τ for the places of one job.
func (w *lanes) solve(ctx context.Context, j job) error {
	if w.batch == nil {
		w.allocate()
	}
	if w.err != nil {
		return w.err
	}
	b := w.batch
	b.shape(j.model, j.lanes)
	b.start(w.e, w.p, j.places)
	if err := b.settle(ctx, w.e); err != nil {
		return err
	}
	return b.split(w.split[:len(j.places)*w.points()], len(j.places))
}

// field is that of one lane of the batch.
func (w *lanes) field(lane, place int) (Field, error) {
	e, points, model := w.e, w.points(), w.batch.window
	to := w.opt.window(e.g, place)
	f := w.out.on(to, to.count()*e.g.Shape[e.g.Dim()-1])
	tau, parts := w.split[lane*points:(lane+1)*points], w.part[:1+len(f.Gradient)]
	given := model
	if e.resample != nil {
		e.resample.apply(parts, w.line, tau, model, to)
		tau, given = parts[0], to
	} else if len(f.Gradient) > 0 {
		part := model.Grid(e.model)
		for a, stride := range part.Strides() {
			C.eik_slope(cfloats(parts[1+a]), cfloats(tau), C.long(points), C.int(part.Shape[a]), C.long(stride), C.double(part.Spacing[a]))
		}
	}
	finish(f, parts, tau, given, e.g, w.p.At(place), e.scale)
	return f, nil
}
