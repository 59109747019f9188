package traveltime

/*
#include "rays3.h"
*/
import "C"

import (
	"context"
	"math"
	"slices"
	"unsafe"
)

// Fronts and triangles of tracer3.
const (
	mostRays3  = 1 << 14 // of one front
	leastRays3 = 1 << 11 // that a front may have in the smallest window

	divisions3 = 8    // of an edge of the icosahedron, for the first front
	ball3      = 1.5  // radius of the first front, in cells of the image
	growth3    = 1.2  // of the time of a front over that of the one before, at most
	angle3     = 0.15 // between the slownesses of neighbours, rad, at most
	change3    = 0.3  // of the relative spreading between neighbours, at most
	cells3     = 12   // length of an edge, in cells of the image, at most
	least3     = 1.0 / 1024
)

// fringe3 is how far the velocity is read around that part of a model in which rays run, in lengths of an edge. Beyond
// it, it goes on linearly. Fronts end a quarter of such a length beyond that part.
const fringe3 = 1.25

// tracer3 traces rays in 3-D.
type tracer3 struct {
	r   *RayTracer
	opt Options

	m             C.ray3_medium
	from, to      []C.ray3_ray // at two fronts
	before, after []C.ray3_corner
	triangles     []C.ray3_triangle
	renumber      []int32
	arrivals      []C.ray3_arrival // [slot][points]
	count         []uint8          // [points], of arrivals
	n, cells      int              // rays and triangles now
	most          int              // rays
	cuttings      [][4]C.int32_t
	limits        C.ray3_limits
	source        [3]float64
	image         C.ray3_image
	lo, hi        [3]float64 // of the box in which fronts run, from the source, m
}

// frontRays is the number of rays that a front may have for a window of the given number
// of points.
func frontRays(points int) int { return min(max(leastRays3, points/16), mostRays3) }

// allocate implements placeRays.
func (t *tracer3) allocate(s *scratch, points int) {
	n := frontRays(points)
	t.from, t.to = take[C.ray3_ray](s, n), take[C.ray3_ray](s, n)
	t.before, t.after = take[C.ray3_corner](s, n), take[C.ray3_corner](s, n)
	t.triangles = take[C.ray3_triangle](s, 2*n)
	t.renumber = take[int32](s, 2*n)
	t.cuttings = take[[4]C.int32_t](s, 2*n)[:0]
	t.arrivals, t.count = take[C.ray3_arrival](s, points*t.r.opt.Kept.gathered()), take[uint8](s, points)
	clear(t.arrivals) // few points have the last ones; ScratchBytes counts the memory
}

// trace implements placeRays.
func (t *tracer3) trace(ctx context.Context, at []float64, w Window) error {
	t.aim([3]float64(at), w)
	return t.run(ctx)
}

// aim prepares a place and a window.
func (t *tracer3) aim(at [3]float64, w Window) {
	t.source = at
	r, g, slots := t.r, t.r.g, t.r.opt.Kept.gathered()
	t.image = C.ray3_image{slots: C.int(slots), latest: C.double(r.opt.Latest), cap: MostSpreading, near: C.double(slices.Min(g.Spacing) / 2), period: C.double(r.opt.Period)}
	if r.opt.Kept.Count == 0 {
		t.image.first = 1
	}
	if t.opt.Takeoff {
		t.image.takeoff = 1
	}
	points, reach := 1, r.reach3()
	t.m = C.ray3_medium{first: C.long(r.slab[0])}
	for a := range 3 {
		first, n := 0, g.Shape[a]
		if a < 2 {
			first, n = w.Lo[a], w.Hi[a]-w.Lo[a]
		}
		points *= n
		h := g.Spacing[a]
		t.image.n[a], t.image.spacing[a] = C.long(n), C.double(h)
		// points are moved a little, so that none lies on a face between cells
		t.image.shift[a] = C.double(at[a] - g.Coord(a, first) + 1e-7*h*[3]float64{0.37, 0.71, 0.53}[a])
		lo, hi := r.bounds(a, at[:], w, t.opt)
		t.lo[a], t.hi[a] = lo-reach/4-at[a], hi+reach/4-at[a]
		t.setMedium(a, lo-fringe3*reach, hi+fringe3*reach)
	}
	t.most = frontRays(points)
	t.image.all, t.image.count = C.long(points), (*C.uint8_t)(unsafe.SliceData(t.count))
	clear(t.count[:points])
	v := t.velocity([3]float64{})
	t.image.slowness = C.double(1 / v[0])
	t.limits = C.ray3_limits{angle: angle3, length: C.double(reach), change: change3, least: least3}
}

// setMedium sets what is known of the velocity along an axis, which goes on between two positions, in m.
func (t *tracer3) setMedium(axis int, from, to float64) {
	g, m := t.r.model, &t.m
	h, origin := g.Spacing[axis], g.Origin[axis]-rayPad*g.Spacing[axis]
	n := g.Shape[axis] + 2*rayPad
	m.n[axis], m.origin[axis], m.spacing[axis] = C.long(n), C.double(origin), C.double(h)
	m.lo[axis], m.hi[axis] = C.double(max(1, (from-origin)/h)), C.double(min(float64(n-3), (to-origin)/h))
}

// reach3 is the length of an edge at most, m.
func (r *RayTracer) reach3() float64 { return cells3 * slices.Max(r.g.Spacing) }

func (t *tracer3) velocity(x [3]float64) (v [10]float64) {
	C.ray3_velocity(&t.m, t.coefficients(), cdoubles(&t.source), cdoubles(&x), (*C.double)(unsafe.Pointer(&v)))
	return v
}

func (t *tracer3) coefficients() *C.float { return cfloats(t.r.speed) }

func cdoubles(v *[3]float64) *C.double { return (*C.double)(unsafe.Pointer(v)) }

// run traces fronts until the latest time, and fills the cells between them.
func (t *tracer3) run(ctx context.Context) error {
	t.sphere()
	v0, reach := 1/float64(t.image.slowness), t.r.reach3()
	now := ball3 * slices.Max(t.r.g.Spacing) / v0
	t.advance(t.from, t.to, 0, t.n, now)
	t.describe(t.to, t.after, 0, t.n, now)
	C.ray3_ball(&t.image, &t.arrivals[0], &t.triangles[0], C.long(t.cells), &t.after[0], &t.m, t.coefficients(), cdoubles(&t.source))
	times := []float64{0, now}
	for {
		t.from, t.to, t.before, t.after = t.to, t.from, t.after, t.before
		t.dropOutside()
		if t.cells == 0 || now > t.r.opt.Latest {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		next := now * growth3
		next = min(next, now+reach/t.r.greatest)
		times = append(times, next)
		t.advance(t.from, t.to, 0, t.n, next-now)
		t.describe(t.to, t.after, 0, t.n, next)
		if err := t.refine(ctx, times); err != nil {
			return err
		}
		if t.cells > 0 {
			C.ray3_check(&t.triangles[0], C.long(t.cells), &t.after[0])
			C.ray3_prisms(&t.image, &t.arrivals[0], &t.triangles[0], C.long(t.cells), &t.before[0], &t.after[0])
			if t.r.opt.Period > 0 && t.image.first == 0 {
				C.ray3_tails(&t.image, &t.arrivals[0], &t.triangles[0], C.long(t.cells), &t.before[0], &t.after[0])
			}
		}
		now = next
	}
}

func (t *tracer3) advance(from, to []C.ray3_ray, first, n int, dt float64) {
	if first == n {
		return
	}
	stride := max(3*slices.Min(t.r.model.Spacing), t.r.opt.Smoothing)
	steps := max(1, int(math.Ceil(dt*t.r.greatest/stride)))
	C.ray3_advance(&t.m, t.coefficients(), cdoubles(&t.source), &to[first], &from[first], C.long(n-first), C.double(dt), C.int(steps))
}

func (t *tracer3) describe(from []C.ray3_ray, to []C.ray3_corner, first, n int, time float64) {
	if first == n {
		return
	}
	C.ray3_describe(&t.m, t.coefficients(), cdoubles(&t.source), &to[first], &from[first], C.long(n-first), C.double(time))
}

// shoot starts a ray in the direction of u.
func (t *tracer3) shoot(to *C.ray3_ray, u [3]float64) {
	norm := math.Sqrt(u[0]*u[0] + u[1]*u[1] + u[2]*u[2])
	*to = C.ray3_ray{}
	axis := 0
	for a := range u {
		u[a] /= norm
		to.takeoff[a], to.v[C.RAY3_P+a] = C.double(u[a]), C.double(u[a])*t.image.slowness
		if math.Abs(u[a]) < math.Abs(u[axis]) {
			axis = a
		}
	}
	var e [3]float64
	e[axis] = 1
	along, squares := u[axis], 0.0
	for a := range e {
		e[a] -= along * u[a]
		squares += e[a] * e[a]
	}
	for a := range e {
		to.v[C.RAY3_E+a] = C.double(e[a] / math.Sqrt(squares))
	}
	to.v[C.RAY3_PQ], to.v[C.RAY3_PQ+3] = t.image.slowness, t.image.slowness
}

// sphere makes the rays and triangles of the first front: an icosahedron whose edges are cut into
// divisions3 parts, turned so that no edge lies along an axis.
func (t *tracer3) sphere() {
	t.n, t.cells = 0, 0
	corners, faces := icosahedron()
	numbers := map[[2]int64]int32{}
	vertex := func(f [3]int, i, j int) int32 {
		var u [3]float64
		for a := range u {
			u[a] = corners[f[0]][a]*float64(divisions3-i-j) + corners[f[1]][a]*float64(i) + corners[f[2]][a]*float64(j)
		}
		key := [2]int64{int64(math.Round(u[0] * 1e6)), int64(math.Round(u[1]*1e6))<<32 + int64(math.Round(u[2]*1e6))}
		k, ok := numbers[key]
		if !ok {
			k = int32(t.n)
			numbers[key] = k
			t.shoot(&t.from[k], u)
			t.n++
		}
		return k
	}
	for _, f := range faces {
		for i := range divisions3 {
			for j := range divisions3 - i {
				t.addTriangle(vertex(f, i, j), vertex(f, i+1, j), vertex(f, i, j+1))
				if i+j < divisions3-1 {
					t.addTriangle(vertex(f, i+1, j), vertex(f, i+1, j+1), vertex(f, i, j+1))
				}
			}
		}
	}
	t.join()
}

func (t *tracer3) addTriangle(a, b, c int32) {
	t.triangles[t.cells] = C.ray3_triangle{v: [3]C.int32_t{C.int32_t(a), C.int32_t(b), C.int32_t(c)}}
	t.cells++
}

// join finds the neighbours of all triangles.
func (t *tracer3) join() {
	type edge [2]C.int32_t
	across := map[edge]int{}
	for i := range t.cells {
		for e := range 3 {
			v := t.triangles[i].v
			across[edge{v[e], v[(e+1)%3]}] = i
		}
	}
	for i := range t.cells {
		d := &t.triangles[i]
		for e := range 3 {
			d.next[e] = -1
			if k, ok := across[edge{d.v[(e+1)%3], d.v[e]}]; ok {
				d.next[e] = C.int32_t(k)
			}
		}
	}
}

// icosahedron returns the corners of one and its faces, anticlockwise as seen from outside.
func icosahedron() (corners [][3]float64, faces [][3]int) {
	const golden = 1.618033988749895
	for _, s := range [][2]float64{{1, 1}, {1, -1}, {-1, 1}, {-1, -1}} {
		corners = append(corners, [3]float64{0, s[0], s[1] * golden}, [3]float64{s[0], s[1] * golden, 0}, [3]float64{s[1] * golden, 0, s[0]})
	}
	// turn by 0.3 about z and then by 0.2 about x
	for i, p := range corners {
		s, c := math.Sincos(0.3)
		p[0], p[1] = c*p[0]-s*p[1], s*p[0]+c*p[1]
		s, c = math.Sincos(0.2)
		p[1], p[2] = c*p[1]-s*p[2], s*p[1]+c*p[2]
		corners[i] = p
	}
	near := func(i, j int) bool {
		d := 0.0
		for a := range 3 {
			d += (corners[i][a] - corners[j][a]) * (corners[i][a] - corners[j][a])
		}
		return d < 5
	}
	for i := range corners {
		for j := range i {
			for k := range j {
				if !near(i, j) || !near(j, k) || !near(i, k) {
					continue
				}
				f := [3]int{i, j, k}
				p, q, r := corners[i], corners[j], corners[k]
				if p[0]*(q[1]*r[2]-q[2]*r[1])+p[1]*(q[2]*r[0]-q[0]*r[2])+p[2]*(q[0]*r[1]-q[1]*r[0]) < 0 {
					f[1], f[2] = k, j
				}
				faces = append(faces, f)
			}
		}
	}
	return corners, faces
}

// refine cuts edges that are too long at the later of two fronts. A new ray starts at the source, in the
// middle between two others. An edge is cut if it is the longest of both triangles that it belongs to: so
// triangles stay well shaped, and both are cut alike (Rivara 1984, Algorithms for refining triangular grids
// suitable for adaptive and multigrid techniques, Int. J. Numer. Meth. Eng. 20).
func (t *tracer3) refine(ctx context.Context, times []float64) error {
	t.measure(0)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if slices.ContainsFunc(t.triangles[:t.cells], func(d C.ray3_triangle) bool { return wide(&d) }) {
			t.keep(func(d *C.ray3_triangle) bool { return !wide(d) })
		}
		rays, cells, full := t.n, t.cells, false
		for i := 0; i < cells && !full; i++ {
			if t.cuts(i) {
				if full = t.n == t.most || t.cells+2 > 2*t.most; !full {
					t.split(i)
				}
			}
		}
		if t.n > rays {
			t.follow(rays, times)
			t.fillSlivers()
		}
		switch {
		case full: // coarser
			t.limits.angle *= 1.25
			t.limits.length *= 1.25
			t.limits.change *= 1.25
			t.measure(0)
		case t.n == rays:
			return nil
		default:
			t.measureChanged(cells)
		}
	}
}

func (t *tracer3) measure(first int) {
	if first < t.cells {
		C.ray3_measure(&t.triangles[first], C.long(t.cells-first), &t.after[0], &t.to[0], &t.limits)
	}
}

// measureChanged measures the triangles that a round of refine has changed.
func (t *tracer3) measureChanged(old int) {
	for i := range old {
		if t.triangles[i].size < 0 {
			C.ray3_measure(&t.triangles[i], 1, &t.after[0], &t.to[0], &t.limits)
		}
	}
	t.measure(old)
}

// wide says that a triangle is too wide to mean anything, and cannot be refined.
func wide(d *C.ray3_triangle) bool { return math.IsInf(float64(d.size), 1) }

// cuts reports whether a triangle's longest edge is too long and that of its neighbour too.
func (t *tracer3) cuts(i int) bool {
	d := &t.triangles[i]
	if !(d.size > 1) {
		return false
	}
	k := d.next[d.longest]
	if k < 0 {
		return true
	}
	u := &t.triangles[k]
	return u.size > 1 && int(u.next[u.longest]) == i
}

// split cuts the longest edge (a, b) of a triangle (a, b, c) at its middle m: into (a, m, c) and (m, b, c),
// and so it does with the triangle across that edge.
func (t *tracer3) split(i int) {
	d := t.triangles[i]
	a, b := d.v[d.longest], d.v[(d.longest+1)%3]
	m := C.int32_t(t.n)
	t.n++
	var u [3]float64
	for k := range u {
		u[k] = float64(t.to[a].takeoff[k] + t.to[b].takeoff[k])
	}
	t.shoot(&t.from[m], u)
	k := d.next[d.longest]
	left, right := t.halve(i, m)
	if k < 0 {
		return
	}
	other, rest := t.halve(int(k), m) // (b, m, d) and (m, a, d)
	t.triangles[left].next[0], t.triangles[rest].next[0] = C.int32_t(rest), C.int32_t(left)
	t.triangles[right].next[0], t.triangles[other].next[0] = C.int32_t(other), C.int32_t(right)
}

// halve makes (a, m, c) of a triangle (a, b, c) with the longest edge (a, b), and (m, b, c) as a new one.
// The neighbours across (a, m) and (m, b), which are the first edges of both, are set to none.
func (t *tracer3) halve(i int, m C.int32_t) (left, right int) {
	d, e := t.triangles[i], (t.triangles[i].longest+1)%3
	a, b, c := d.v[d.longest], d.v[e], d.v[(e+1)%3]
	across, back := d.next[e], d.next[(e+1)%3] // (b, c), (c, a)
	left, right = i, t.cells
	t.cells++
	t.cuttings = append(t.cuttings, [4]C.int32_t{a, b, c, m})
	t.triangles[left] = C.ray3_triangle{v: [3]C.int32_t{a, m, c}, next: [3]C.int32_t{-1, C.int32_t(right), back}, size: -1}
	t.triangles[right] = C.ray3_triangle{v: [3]C.int32_t{m, b, c}, next: [3]C.int32_t{-1, across, C.int32_t(left)}, size: -1}
	if across >= 0 {
		n := &t.triangles[across]
		for k := range n.next {
			if int(n.next[k]) == i && n.v[k] == c {
				n.next[k] = C.int32_t(right)
			}
		}
	}
	return left, right
}

// follow traces the rays from number first on, which are at the source, to the last two fronts.
func (t *tracer3) follow(first int, times []float64) {
	last := len(times) - 1
	for k := 1; k < last; k++ {
		t.advance(t.from, t.from, first, t.n, times[k]-times[k-1])
	}
	t.describe(t.from, t.before, first, t.n, times[last-1])
	t.advance(t.from, t.to, first, t.n, times[last]-times[last-1])
	t.describe(t.to, t.after, first, t.n, times[last])
}

// fillSlivers fills what lies between the cells before a front and the finer ones behind it.
func (t *tracer3) fillSlivers() {
	for i := range t.cuttings {
		C.ray3_sliver(&t.image, &t.arrivals[0], &t.before[0], &t.cuttings[i][0])
	}
	t.cuttings = t.cuttings[:0]
}

// dropOutside drops the triangles that lie outside the box of rays at the front from, and rays that have
// none any more.
func (t *tracer3) dropOutside() {
	t.keep(func(d *C.ray3_triangle) bool {
		for a := range 3 {
			p, q, r := float64(t.before[d.v[0]].x[a]), float64(t.before[d.v[1]].x[a]), float64(t.before[d.v[2]].x[a])
			if max(p, q, r) < t.lo[a] || min(p, q, r) > t.hi[a] {
				return false
			}
		}
		return true
	})
	used := t.renumber[:t.n]
	clear(used)
	for i := range t.cells {
		for _, v := range t.triangles[i].v {
			used[v] = 1
		}
	}
	n := 0
	for i := range t.n {
		if used[i] == 0 {
			continue
		}
		t.from[n], t.before[n] = t.from[i], t.before[i]
		used[i] = int32(n)
		n++
	}
	for i := range t.cells {
		for e, v := range t.triangles[i].v {
			t.triangles[i].v[e] = C.int32_t(used[v])
		}
	}
	t.n = n
}

// keep drops the triangles that do not pass.
func (t *tracer3) keep(pass func(d *C.ray3_triangle) bool) {
	n := 0
	for i := range t.cells {
		t.renumber[i] = -1
		if pass(&t.triangles[i]) {
			t.triangles[n] = t.triangles[i]
			t.renumber[i] = int32(n)
			n++
		}
	}
	t.cells = n
	for i := range n {
		for e, k := range t.triangles[i].next {
			if k >= 0 {
				t.triangles[i].next[e] = C.int32_t(t.renumber[k])
			}
		}
	}
}

// gather implements placeRays.
func (t *tracer3) gather(list []arrival, i, n int) []arrival {
	for k := range int(t.count[i]) {
		a := &t.arrivals[k*n+i]
		b := math.Sqrt(math.Sqrt(float64(a.strength)))
		p := [3]float64{float64(a.p[0]), float64(a.p[1]), float64(a.p[2])}
		unbound := b
		if a.unbound != 1 {
			unbound *= math.Sqrt(math.Sqrt(float64(a.unbound)))
		}
		list = append(list, arrival{float64(a.time), b, unbound, float64(a.takeoff), p, int(a.turns & 3)})
	}
	return list
}
