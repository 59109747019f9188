package traveltime

/*
#include "rays2.h"
*/
import "C"

import (
	"context"
	"math"
	"slices"
	"unsafe"
)

// splines are the coefficients as C takes them.
func (r *RayTracer) splines() C.rays2_model {
	h := r.model.Spacing
	nz := r.model.Shape[1] + 2*rayPad
	return C.rays2_model{
		c: (*C.double)(unsafe.SliceData(r.sloth)), first: C.int(r.slab[0]), nx: C.int(r.model.Shape[0] + 2*rayPad), nz: C.int(nz),
		hx: C.double(h[0]), hz: C.double(h[1]), ox: C.double(r.model.Origin[0] - rayPad*h[0]), oz: C.double(r.model.Origin[1] - rayPad*h[1]),
	}
}

// findSlowness sets the slowness at the image points above and below which the slab lies.
func (r *RayTracer) findSlowness() {
	m, u, x := r.splines(), [6]C.double{}, [2]float64{}
	lo, hi := r.model.Coord(0, r.slab[0]), r.model.Coord(0, r.slab[1]-1)
	for i := range r.slowness {
		if r.g.Point(x[:], i); x[0] < lo || x[0] > hi {
			continue
		}
		C.rays2_sloth(&m, C.double(x[0]), C.double(x[1]), &u[0])
		r.slowness[i] = math.Sqrt(float64(u[0]))
	}
}

// tracer2 traces rays in 2-D.
type tracer2 struct {
	r   *RayTracer
	opt Options

	arrivals []C.rays2_arrival // [arrival][points of the window], strongest first
	count    []uint8           // [points], of arrivals
	room     []float64         // for rays
	stop     []int32
}

// Rays start at these angles, are halved so often between two that differ by more in direction or are
// farther apart, in cells of the model, than these, and their cells count up to that width.
const (
	rayFirst, rayHalvings = 128, 7
	rayApart, rayTurned   = 6, 0.06
	rayWidest             = 8
	rayStep               = 3 // cells between fronts
)

// place describes the rays of a place.
func (t *tracer2) place(at []float64, w Window) C.rays2_place {
	p, m, u := t.outline(at, w), t.r.splines(), [6]C.double{}
	C.rays2_sloth(&m, C.double(at[0]), C.double(at[1]), &u[0])
	p.x, p.z, p.s0 = C.double(at[0]), C.double(at[1]), C.double(math.Sqrt(float64(u[0])))
	return p
}

// outline says how rays are traced from the position at for a window, without what the velocity says.
func (t *tracer2) outline(at []float64, w Window) C.rays2_place {
	r := t.r
	h := slices.Min(r.model.Spacing)
	lo, hi := r.within(at, w, t.opt)
	edge := func(a, i int, beyond float64) C.double {
		return C.double(r.model.Coord(a, i) + beyond*r.model.Spacing[a])
	}
	point := 0
	if t.opt.Spreading == PointSpreading {
		point = 1
	}
	return C.rays2_place{
		step:  C.double(rayStep * h),
		apart: C.double(rayApart * h), turned: rayTurned, widest: C.double(rayWidest * h), first: rayFirst, halvings: rayHalvings,
		lo: [2]C.double{edge(0, lo, -rayBeyond), edge(1, 0, -rayBeyond)}, hi: [2]C.double{edge(0, hi-1, rayBeyond), edge(1, r.model.Shape[1]-1, rayBeyond)},
		latest: C.double(r.opt.Latest), period: C.double(r.opt.Period), most: MostSpreading, least: C.double(slices.Min(r.g.Spacing) / 2), point: C.int(point),
	}
}

// allocate implements placeRays.
func (t *tracer2) allocate(s *scratch, points int) {
	t.arrivals, t.count = take[C.rays2_arrival](s, t.r.opt.Kept.gathered()*points), take[uint8](s, points)
	clear(t.arrivals) // few points have the last arrivals; ScratchBytes counts the memory
	whole := t.outline(t.r.model.Origin, Whole(t.r.g))
	t.room, t.stop = take[float64](s, int(C.rays2_room(&whole))), take[int32](s, 1)
}

// trace implements placeRays.
func (t *tracer2) trace(ctx context.Context, at []float64, w Window) error {
	r := t.r
	m, p := r.splines(), t.place(at, w)
	nz := r.g.Shape[1]
	earliest := 0
	if r.opt.Kept.Count == 0 {
		earliest = 1
	}
	doubles := func(v []float64) *C.double { return (*C.double)(unsafe.SliceData(v)) }
	g := C.rays2_grid{
		nx: C.int(w.count()), nz: C.int(nz), ox: C.double(r.g.Coord(0, w.Lo[0])), oz: C.double(r.g.Origin[1]),
		hx: C.double(r.g.Spacing[0]), hz: C.double(r.g.Spacing[1]), slowness: doubles(r.slowness[w.Lo[0]*nz:]), branches: C.int(r.opt.Kept.gathered()), earliest: C.int(earliest),
		arrivals: unsafe.SliceData(t.arrivals), count: (*C.uint8_t)(unsafe.SliceData(t.count)),
	}
	stop := context.AfterFunc(ctx, func() { C.rays2_stop((*C.int32_t)(&t.stop[0])) })
	defer stop()
	C.rays2_arrivals(&m, &p, &g, doubles(t.room), (*C.int32_t)(&t.stop[0]))
	return ctx.Err()
}

// gather implements placeRays.
func (t *tracer2) gather(list []arrival, i, n int) []arrival {
	for k := range int(t.count[i]) {
		a := &t.arrivals[k*n+i]
		list = append(list, arrival{float64(a.t), float64(a.b), float64(a.unbound), float64(a.takeoff), [3]float64{float64(a.px), float64(a.pz)}, int(a.turns)})
	}
	return list
}
