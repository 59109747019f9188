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

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// beyond is v at index i of n values, which go on past their ends as their mirror image turned round, so that
// slopes stay, but within a factor of 2 of the value at the end.
func beyond(i, n int, v func(i int) float64) float64 {
	end := max(0, min(n-1, i))
	if i == end {
		return v(i)
	}
	edge := v(end)
	return max(edge/2, min(2*edge-v(max(0, min(n-1, 2*end-i))), 2*edge))
}

// smooth2 smooths v [nx][nz] by a Gaussian of so many points along each axis, which ends after cut points.
func smooth2(v []float64, nx, nz int, sx, sz float64, cut [2]int) {
	line := func(n, stride int, sigma float64, reach int) {
		if reach == 0 {
			return
		}
		weights, sum := make([]float64, 2*reach+1), 0.0
		for k := range weights {
			d := float64(k - reach)
			weights[k] = math.Exp(-0.5 * d * d / (sigma * sigma))
			sum += weights[k]
		}
		in := make([]float64, n)
		for first := range len(v) / n {
			at := first * n // lines along z follow each other
			if stride > 1 {
				at = first
			}
			for i := range in {
				in[i] = v[at+i*stride]
			}
			for i := range n {
				total := 0.0
				for k, w := range weights {
					total += w * beyond(i+k-reach, n, func(i int) float64 { return in[i] })
				}
				v[at+i*stride] = total / sum
			}
		}
	}
	line(nx, nz, sx, cut[0])
	line(nz, 1, sz, cut[1])
}

// splines2 sets u to coefficients of cubic B-splines of s² on [nx+2 rayPad][nz+2 rayPad] nodes, for which s goes
// on as at its edges. They are those of the quasi-interpolant (−1, 8, −1)/6, of fourth order, which depends
// on neighbours alone (de Boor 1978, A practical guide to splines).
func splines2(u, s []float64, nx, nz int) {
	mx, mz := nx+2*rayPad, nz+2*rayPad
	line := make([]float64, max(mx, mz))
	for i := range mx {
		for j := range mz {
			u[i*mz+j] = beyond(j-rayPad, nz, func(j int) float64 {
				return beyond(i-rayPad, nx, func(i int) float64 { return s[i*nz+j] * s[i*nz+j] })
			})
		}
	}
	along := func(n, stride, at int) {
		for i := range n {
			line[i] = u[at+i*stride]
		}
		for i := range n {
			a, b, c := line[max(0, i-1)], line[i], line[min(n-1, i+1)]
			u[at+i*stride] = max((8*b-a-c)/6, 0.25*min(a, b, c)) // positive across jumps
		}
	}
	for i := range mx {
		along(mz, 1, i*mz)
	}
	for j := range mz {
		along(mx, mz, j)
	}
}

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

// Name implements Method.
func (r *RayTracer) Name() string { return "rays" }

// Grid implements Method.
func (r *RayTracer) Grid() grid.Grid { return r.g }

// Domain implements Method: the model's grid.
func (r *RayTracer) Domain() *grid.Grid { return &r.model }

// Turned is for Turned.
func (r *RayTracer) Turned() []bool { return r.opt.Kept.turned() }

// Traced is for Traced.
func (r *RayTracer) Traced() bool { return true }

// within is the part of the model, in nodes along x, in which rays from the position at run.
func (r *RayTracer) within(at []float64, w Window, opt Options) (lo, hi int) {
	lo, hi = 0, r.model.Shape[0]
	if w == Whole(r.g) {
		return lo, hi
	}
	h, o := r.model.Spacing[0], r.model.Origin[0]
	margin := min(opt.Margin, r.model.End(0)-o)
	first, last := min(at[0], r.g.Coord(0, w.Lo[0])-margin), max(at[0], r.g.Coord(0, w.Hi[0]-1)+margin)
	return max(lo, int(math.Floor((first-o)/h))), min(hi, int(math.Ceil((last-o)/h))+1)
}

// Region implements Solver.
func (r *RayTracer) Region(p *survey.Positions, place int, opt Options) Window {
	w := Whole(r.model)
	lo, hi := r.within(p.At(place), opt.Window(r.g, place), opt)
	w.Lo[0], w.Hi[0] = max(0, lo-r.halo), min(w.Hi[0], hi+r.halo)
	if r.fill != nil {
		w = w.union(r.fill.Region(p, place, opt))
	}
	return w
}

// check returns an error if a place lies outside the model.
func (r *RayTracer) check(p *survey.Positions, places []int, _ Options) error {
	for _, i := range places {
		if at := p.At(i); !r.model.Contains(at) {
			return outside(p, i, r.model)
		}
	}
	return nil
}

// Solve implements Method. A field has the same bits whatever the other places and the number of threads.
func (r *RayTracer) Solve(ctx context.Context, p *survey.Positions, places []int, opt Options, sink func(place int, f Field) error) error {
	if err := Check(r, p, places, opt); err != nil {
		return err
	}
	var jobs []job
	if r.fill != nil {
		jobs = r.fill.groupPlaces(p, places, opt)
	} else {
		for i := range places {
			jobs = append(jobs, job{places: places[i : i+1]})
		}
	}
	return distributeJobs(ctx, jobs, opt, func() worker { return r.tracer(p, places, opt) }, sink)
}

// ScratchBytes implements Method.
func (r *RayTracer) ScratchBytes(p *survey.Positions, places []int, opt Options) int64 {
	t := r.tracer(p, places, opt)
	t.counting = true
	t.allocate()
	bytes := t.bytes
	if r.fill != nil {
		bytes += r.fill.ScratchBytes(p, places, opt)
	}
	return bytes
}

// tracer is a worker of RayTracer.
type tracer struct {
	scratch
	r      *RayTracer
	p      *survey.Positions
	opt    Options
	points int // of the largest window

	t, b, px, pz, takeoff []float64 // [arrival][points of the window], strongest first
	turns                 []int8
	room                  []float64 // for rays
	stop                  []int32
	out                   []Branch
	first                 worker // of the eikonal equation; nil: none
	ctx                   context.Context
}

func (r *RayTracer) tracer(p *survey.Positions, places []int, opt Options) *tracer {
	t := &tracer{r: r, p: p, opt: opt, points: opt.mostColumns(r.g, places) * r.g.Shape[1]}
	if r.fill != nil {
		t.first = r.fill.worker(p, places, opt)
	}
	return t
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
func (t *tracer) place(at []float64, w Window) C.rays2_place {
	p, m, u := t.outline(at, w), t.r.splines(), [6]C.double{}
	C.rays2_sloth(&m, C.double(at[0]), C.double(at[1]), &u[0])
	p.x, p.z, p.s0 = C.double(at[0]), C.double(at[1]), C.double(math.Sqrt(float64(u[0])))
	return p
}

// outline says how rays are traced from the position at for a window, without what the velocity says.
func (t *tracer) outline(at []float64, w Window) C.rays2_place {
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

func (t *tracer) allocate() {
	s, n := &t.scratch, max(1, t.r.opt.Kept.Count)
	t.t, t.b, t.takeoff = take[float64](s, n*t.points), take[float64](s, n*t.points), take[float64](s, n*t.points)
	t.px, t.pz, t.turns = take[float64](s, n*t.points), take[float64](s, n*t.points), take[int8](s, n*t.points)
	whole := t.outline(t.r.model.Origin, Whole(t.r.g))
	t.room, t.stop = take[float64](s, int(C.rays2_room(&whole))), take[int32](s, 1)
	for range t.r.Turned() {
		t.out = append(t.out, takeBranch(s, t.points, 2, t.opt))
	}
}

func (t *tracer) solve(ctx context.Context, j job) error {
	if t.t == nil {
		t.allocate()
	}
	t.ctx = ctx
	if t.err != nil || t.first == nil {
		return t.err
	}
	return t.first.solve(ctx, j)
}

func (t *tracer) free() {
	if t.first != nil {
		t.first.free()
	}
	t.scratch.free()
}

func (t *tracer) field(lane, place int) (Field, error) {
	w, at := t.opt.Window(t.r.g, place), t.p.At(place)
	n := w.count() * t.r.g.Shape[1]
	t.trace(at, w)
	if err := t.ctx.Err(); err != nil {
		return Field{}, err
	}
	f := Field{Window: w}
	for _, b := range t.out {
		f.Branches = append(f.Branches, b.on(n))
	}
	t.part(f.Branches, n)
	if t.first != nil {
		first, err := t.first.field(lane, place)
		if err != nil {
			return f, err
		}
		t.fill(f.Branches, first.Branches[0], n)
	}
	return f, nil
}

// trace finds the arrivals on a window.
func (t *tracer) trace(at []float64, w Window) {
	r := t.r
	m, p := r.splines(), t.place(at, w)
	nz := r.g.Shape[1]
	count, earliest := r.opt.Kept.Count, 0
	if count == 0 {
		count, earliest = 1, 1
	}
	doubles := func(v []float64) *C.double { return (*C.double)(unsafe.SliceData(v)) }
	g := C.rays2_grid{
		nx: C.int(w.count()), nz: C.int(nz), ox: C.double(r.g.Coord(0, w.Lo[0])), oz: C.double(r.g.Origin[1]),
		hx: C.double(r.g.Spacing[0]), hz: C.double(r.g.Spacing[1]), slowness: doubles(r.slowness[w.Lo[0]*nz:]), branches: C.int(count), earliest: C.int(earliest),
		t: doubles(t.t), b: doubles(t.b), px: doubles(t.px), pz: doubles(t.pz), takeoff: doubles(t.takeoff), turns: (*C.int8_t)(unsafe.SliceData(t.turns)),
	}
	stop := context.AfterFunc(t.ctx, func() { C.rays2_stop((*C.int32_t)(&t.stop[0])) })
	defer stop()
	C.rays2_arrivals(&m, &p, &g, doubles(t.room), (*C.int32_t)(&t.stop[0]))
}

// part distributes the arrivals at n points to branches.
func (t *tracer) part(out []Branch, n int) {
	for k := range out {
		for i := range n {
			out[k].set(i, math.Inf(1), 0, 0, 0, 0)
		}
	}
	count := max(1, t.r.opt.Kept.Count)
	for i := range n {
		used := [2]int{0, count}
		for k := range count {
			from := k*n + i
			if t.b[from] == 0 {
				break
			}
			turns := t.turns[from]
			b := t.b[from]
			if turns&2 != 0 {
				b = -b
			}
			to := &used[turns&1]
			out[*to].set(i, t.t[from], b, t.px[from], t.pz[from], t.takeoff[from])
			*to++
		}
	}
}

// set sets what a branch has of a point.
func (b *Branch) set(i int, t, spreading, px, pz, takeoff float64) {
	b.Time[i] = t
	if b.Spreading != nil {
		b.Spreading[i] = spreading
	}
	if b.Gradient != nil {
		b.Gradient[0][i], b.Gradient[1][i] = px, pz
	}
	if b.Takeoff != nil {
		b.Takeoff[i] = takeoff
	}
}

// fill sets the first of out to the first arrival at points that no ray reaches.
func (t *tracer) fill(out []Branch, first Branch, n int) {
	for i := range n {
		if t.b[i] == 0 {
			var px, pz, spreading, takeoff float64
			if first.Spreading != nil {
				spreading = first.Spreading[i]
			}
			if first.Gradient != nil {
				px, pz = first.Gradient[0][i], first.Gradient[1][i]
			}
			if first.Takeoff != nil {
				takeoff = first.Takeoff[i]
			}
			out[0].set(i, first.Time[i], spreading, px, pz, takeoff)
		}
	}
}
