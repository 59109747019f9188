package traveltime

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Kept says which arrivals of a point a method that knows several gives.
type Kept struct {
	// Count is how many at most, the strongest ones: those of the largest spreading b. 0 stands
	// for the first arrival alone.
	Count int
}

// turned lists the branches of fields with Count arrivals. The first arrival, which passes no
// caustic, has one. Otherwise each arrival has one of waves that have not turned, and then the
// same number of those that have. A point has at most Count arrivals in all of them.
func (k Kept) turned() []bool {
	if k.Count == 0 {
		return []bool{false}
	}
	list := make([]bool, 2*k.Count)
	for i := range k.Count {
		list[k.Count+i] = true
	}
	return list
}

// gathered is how many arrivals of a point are looked for: two more than counted, since three may be one (cusps.go).
func (k Kept) gathered() int {
	if k.Count == 0 {
		return 1
	}
	return k.Count + 2
}

// RayOptions say how rays are traced.
type RayOptions struct {
	Kept Kept
	// Fill gives the first arrival of the eikonal equation to points that no ray reaches.
	Fill bool
	// Smoothing is the standard deviation, in m, of the Gaussian with which the slowness is
	// smoothed for rays.
	Smoothing float64
	// Period is that, in s, of the waves whose amplitude at caustics bounds that of rays; 0: MostSpreading alone does.
	Period float64
	// Latest is when rays end, in s. Points that they reach later have no arrival.
	Latest float64
}

// RayTracer is the method of rays in a smooth velocity model, isotropic. Unlike the eikonal equation they also find
// arrivals that come later than the first, see doc.go.
type RayTracer struct {
	scratch  // of splines and slowness
	g, model grid.Grid
	opt      RayOptions
	slab     [2]int    // the range [lo, hi) of indices along model's first axis that is held
	halo     int       // nodes beyond those that rays see on which their velocity depends
	greatest float64   // m/s, in the whole model
	sloth    []float64 // in 2-D: coefficients of cubic B-splines of the squared slowness on the slab and rayPad nodes around it
	slowness []float64 // in 2-D: s/m, [points of the image], where the slab lies
	speed    []float32 // in 3-D: coefficients of the velocity, in the same way
	fill     *Eikonal  // where no ray arrives; nil: nothing
}

// rayPad is the number of nodes by which coefficients go on beyond a model, with the values of its edge.
// In 2-D rays run up to rayBeyond nodes beyond, so that cells reach the edge.
const rayPad, rayBeyond = 8, 9

// newRaysIn returns the method for the slab of a model that m holds. It has the same bits as for the whole
// model.
func newRaysIn(m Medium, image grid.Grid, opt RayOptions) (Method, error) {
	if m.Anisotropic {
		return nil, status.Hint(status.Usage(errors.New("traveltime: rays are traced in isotropic models, this one is anisotropic")),
			`velocity.anisotropy = "none" ignores what is anisotropic, traveltime.method = "eikonal" takes it`)
	}
	e, err := newEikonalIn(m, image)
	if err != nil {
		return nil, err
	}
	r := &RayTracer{g: image, model: m.Grid, opt: opt, slab: m.Slab, greatest: m.Greatest}
	if opt.Fill {
		r.fill = e
	}
	cut := make([]int, m.Grid.Dim())
	for a, h := range m.Grid.Spacing {
		cut[a] = int(math.Ceil(gaussianEnd * opt.Smoothing / h))
	}
	if r.halo = cut[0] + 4; m.Grid.Dim() == 2 { // what splines are made of, and in 2-D the last step
		r.halo += rayBeyond + int(math.Ceil(rayStep))
	}
	if len(m.Values) == 0 {
		return r, nil
	}
	s, shape := make([]float64, len(m.Values)), slices.Clone(m.Grid.Shape)
	for i, v := range m.Values {
		s[i] = 1 / v
	}
	shape[0] = m.Slab[1] - m.Slab[0]
	for a, h := range m.Grid.Spacing {
		smoothAlong(s, shape, a, opt.Smoothing/h, cut[a])
	}
	points := 1
	for _, n := range shape {
		points *= n + 2*rayPad
	}
	if len(shape) == 2 {
		r.sloth, r.slowness = take[float64](&r.scratch, points), take[float64](&r.scratch, image.Len())
	} else {
		r.speed = take[float32](&r.scratch, points)
	}
	if r.err != nil {
		r.free()
		return nil, r.err
	}
	runtime.SetFinalizer(r, func(r *RayTracer) { r.free() })
	if len(shape) == 2 {
		setSplines(r.sloth, s, shape, func(s float64) float64 { return s * s })
		r.findSlowness()
	} else {
		setSplines(r.speed, s, shape, func(s float64) float64 { return 1 / s })
	}
	return r, nil
}

// gaussianEnd is where the Gaussian is cut off, in standard deviations.
const gaussianEnd = 3.5

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

// eachLine calls do for each line of points along an axis: with its first point's index and the distance between
// two of them.
func eachLine(shape []int, axis int, do func(first, stride int)) {
	stride, outer := 1, 1
	for a, n := range shape {
		if a > axis {
			stride *= n
		} else if a < axis {
			outer *= n
		}
	}
	for o := range outer {
		for i := range stride {
			do(o*shape[axis]*stride+i, stride)
		}
	}
}

// smoothAlong smooths v along an axis by a Gaussian with the given standard deviation in points, which
// ends after cut points.
func smoothAlong(v []float64, shape []int, axis int, sigma float64, cut int) {
	if cut == 0 {
		return
	}
	weights, sum := make([]float64, 2*cut+1), 0.0
	for k := range weights {
		d := float64(k - cut)
		weights[k] = math.Exp(-0.5 * d * d / (sigma * sigma))
		sum += weights[k]
	}
	n := shape[axis]
	in := make([]float64, n+2*cut)
	eachLine(shape, axis, func(first, stride int) {
		for i := range in {
			in[i] = beyond(i-cut, n, func(i int) float64 { return v[first+i*stride] })
		}
		for i := range n {
			total := 0.0
			for k, w := range weights {
				total += w * in[i+k]
			}
			v[first+i*stride] = total / sum
		}
	})
}

// setSplines sets u to coefficients of cubic B-splines of a function of s, on rayPad nodes more at each end of each
// axis, for which s goes on as at its edges. They belong to the quasi-interpolant (−1, 8, −1)/6, of
// fourth order, which depends only on neighbours (de Boor 1978, A practical guide to splines).
func setSplines[F float32 | float64](u []F, s []float64, shape []int, of func(s float64) float64) {
	padded, longest := slices.Clone(shape), 0
	for a := range padded {
		padded[a] += 2 * rayPad
		longest = max(longest, padded[a])
	}
	at := make([]int, len(shape))
	for i := range u {
		for a, rest := len(shape)-1, i; a >= 0; a-- {
			at[a], rest = rest%padded[a]-rayPad, rest/padded[a]
		}
		u[i] = F(extended(s, shape, at, 0, of))
	}
	line := make([]float64, longest)
	for a, n := range padded {
		eachLine(padded, a, func(first, stride int) {
			for i := range n {
				line[i] = float64(u[first+i*stride])
			}
			for i := 1; i < n-1; i++ {
				a, b, c := line[i-1], line[i], line[i+1]
				u[first+i*stride] = F(max((8*b-a-c)/6, 0.25*min(a, b, c))) // positive across jumps
			}
		})
	}
}

// extended is a function of s at a node, which goes on past the edges along each axis. s follows lines
// lines of the first axis.
func extended(s []float64, shape, at []int, lines int, of func(s float64) float64) float64 {
	if len(shape) == 0 {
		return of(s[lines])
	}
	return beyond(at[0], shape[0], func(i int) float64 {
		return extended(s, shape[1:], at[1:], lines*shape[0]+i, of)
	})
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

// bounds are the ends along an axis, in m, of that part of the model in which rays from the position at to a window
// run: it and the window with the margin on each side, or the whole model.
func (r *RayTracer) bounds(axis int, at []float64, w Window, opt Options) (lo, hi float64) {
	lo, hi = r.model.Origin[axis], r.model.End(axis)
	if axis == r.g.Dim()-1 || w == Whole(r.g) {
		return lo, hi
	}
	first, last := r.g.Coord(axis, w.Lo[axis])-opt.Margin, r.g.Coord(axis, w.Hi[axis]-1)+opt.Margin
	return max(lo, min(at[axis], first)), min(hi, max(at[axis], last))
}

// within is the part of the model, in nodes along x, that rays see from the position at.
func (r *RayTracer) within(at []float64, w Window, opt Options) (lo, hi int) {
	h, o := r.model.Spacing[0], r.model.Origin[0]
	first, last := r.bounds(0, at, w, opt)
	if r.g.Dim() == 3 {
		first, last = first-fringe3*r.reach3(), last+fringe3*r.reach3()
	}
	return max(0, int(math.Floor((first-o)/h))), min(r.model.Shape[0], int(math.Ceil((last-o)/h))+1)
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
	return distributeJobs(ctx, jobs, opt, func() worker { return r.worker(p, places, opt) }, sink)
}

// ScratchBytes implements Method.
func (r *RayTracer) ScratchBytes(p *survey.Positions, places []int, opt Options) int64 {
	w := r.worker(p, places, opt)
	w.counting = true
	w.allocate()
	bytes := w.bytes
	if r.fill != nil {
		bytes += r.fill.ScratchBytes(p, places, opt)
	}
	return bytes
}

// rayWorker is a worker of RayTracer.
type rayWorker struct {
	scratch
	r      *RayTracer
	p      *survey.Positions
	opt    Options
	points int // of the largest window
	rays   placeRays
	out    []Branch
	first  worker // of the eikonal equation; nil: none
	ctx    context.Context
}

// placeRays traces the rays of one place at a time.
type placeRays interface {
	// allocate takes the memory for windows of the given size.
	allocate(s *scratch, points int)
	// trace finds the arrivals at the points of a window.
	trace(ctx context.Context, at []float64, w Window) error
	// gather appends the arrivals at point i of n, strongest first.
	gather(list []arrival, i, n int) []arrival
}

func (r *RayTracer) worker(p *survey.Positions, places []int, opt Options) *rayWorker {
	w := &rayWorker{r: r, p: p, opt: opt, points: opt.mostColumns(r.g, places) * r.g.Shape[r.g.Dim()-1]}
	if r.g.Dim() == 2 {
		w.rays = &tracer2{r: r, opt: opt}
	} else {
		w.rays = &tracer3{r: r, opt: opt}
	}
	if r.fill != nil {
		w.first = r.fill.worker(p, places, opt)
	}
	return w
}

func (w *rayWorker) allocate() {
	w.rays.allocate(&w.scratch, w.points)
	for range w.r.Turned() {
		w.out = append(w.out, takeBranch(&w.scratch, w.points, w.r.g.Dim(), w.opt))
	}
}

func (w *rayWorker) solve(ctx context.Context, j job) error {
	if w.out == nil {
		w.allocate()
	}
	w.ctx = ctx
	if w.err != nil || w.first == nil {
		return w.err
	}
	return w.first.solve(ctx, j)
}

func (w *rayWorker) free() {
	if w.first != nil {
		w.first.free()
	}
	w.scratch.free()
}

func (w *rayWorker) field(lane, place int) (Field, error) {
	f := Field{Window: w.opt.Window(w.r.g, place)}
	n := f.Window.count() * w.r.g.Shape[w.r.g.Dim()-1]
	if err := w.rays.trace(w.ctx, w.p.At(place), f.Window); err != nil {
		return Field{}, err
	}
	for _, b := range w.out {
		b = b.on(n)
		b.clear()
		f.Branches = append(f.Branches, b)
	}
	w.deliver(f.Branches, n)
	if w.first != nil {
		first, err := w.first.field(lane, place)
		if err != nil {
			return f, err
		}
		fillShadows(f.Branches, first.Branches[0])
	}
	return f, nil
}

// deliver sets the branches that have arrivals at n points.
func (w *rayWorker) deliver(out []Branch, n int) {
	list := make([]arrival, 0, w.r.opt.Kept.gathered())
	for i := range n {
		if list = w.rays.gather(list[:0], i, n); len(list) >= 3 {
			list = joinCusps(list, w.r.opt.Period)
		}
		setArrivals(out, i, max(1, w.r.opt.Kept.Count), list)
	}
}

// setArrivals sets the branches of a point to the first of its arrivals, count at most, those of even turns apart from
// those of odd ones.
func setArrivals(out []Branch, i, count int, list []arrival) {
	used := [2]int{0, count}
	for _, a := range list[:min(count, len(list))] {
		if a.turns&2 != 0 {
			a.b = -a.b
		}
		to := &used[a.turns&1]
		out[*to].set(i, a)
		*to++
	}
}

// set sets what a branch has of a point.
func (b *Branch) set(i int, a arrival) {
	b.Time[i] = a.t
	if b.Spreading != nil {
		b.Spreading[i] = a.b
	}
	for k := range b.Gradient {
		b.Gradient[k][i] = a.p[k]
	}
	if b.Takeoff != nil {
		b.Takeoff[i] = a.takeoff
	}
}

// clear takes all arrivals away.
func (b Branch) clear() {
	b.each(func(v []float64) []float64 { clear(v); return v })
	for i := range b.Time {
		b.Time[i] = math.Inf(1)
	}
}

// fillShadows sets the first of out to the first arrival at points that have none in any.
func fillShadows(out []Branch, first Branch) {
	for i := range first.Time {
		if !slices.ContainsFunc(out, func(b Branch) bool { return !math.IsInf(b.Time[i], 1) }) {
			out[0].take(i, first)
		}
	}
}

// take takes the arrival of another branch at a point.
func (b Branch) take(i int, from Branch) {
	b.Time[i] = from.Time[i]
	if b.Spreading != nil {
		b.Spreading[i] = from.Spreading[i]
	}
	if b.Takeoff != nil {
		b.Takeoff[i] = from.Takeoff[i]
	}
	for a := range b.Gradient {
		b.Gradient[a][i] = from.Gradient[a][i]
	}
}
