package traveltime

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/pages"
	"github.com/kirchhoff-lsm/lsm/internal/workers"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// scratch is a worker's memory. It is outside Go's heap, where the memory of one Solve
// could remain during the next.
type scratch struct {
	memory   pages.Arena
	counting bool  // no memory is taken, its bytes are counted alone
	bytes    int64 // requested so far
	err      error // the first
}

// take allocates n zeroed elements. It returns nil if s only counts, and after an error.
func take[T any](s *scratch, n int) []T {
	var t T
	s.bytes += int64(n) * int64(unsafe.Sizeof(t))
	if s.counting || s.err != nil {
		return nil
	}
	v, err := pages.Make[T](&s.memory, n)
	if err != nil {
		s.err = fmt.Errorf("traveltime: %w", err)
	}
	return v
}

// takeBranch makes an arrival with room for the given number of points of dim axes.
func takeBranch(s *scratch, points, dim int, opt Options) (b Branch) {
	b.Time = take[float64](s, points)
	for range dim {
		if opt.Gradient {
			b.Gradient = append(b.Gradient, take[float64](s, points))
		}
	}
	if opt.Spreading != NoSpreading {
		b.Spreading = take[float64](s, points)
	}
	if opt.Takeoff {
		b.Takeoff = take[float64](s, points)
	}
	return b
}

// each returns an arrival with what do makes of each array that b has.
func (b Branch) each(do func(v []float64) []float64) Branch {
	b.Gradient = slices.Clone(b.Gradient)
	all := []*[]float64{&b.Time, &b.Spreading, &b.Takeoff}
	for a := range b.Gradient {
		all = append(all, &b.Gradient[a])
	}
	for _, v := range all {
		if *v != nil {
			*v = do(*v)
		}
	}
	return b
}

// on returns an arrival at the given number of points, in the memory of b.
func (b Branch) on(points int) Branch {
	return b.each(func(v []float64) []float64 { return v[:points] })
}

func (s *scratch) free() { s.memory.Free() }

// job is a number of places that are solved together. Eikonal does it in a batch of the
// given number of lanes, in a window of the model.
type job struct {
	places []int
	lanes  int
	model  Window
}

// worker solves jobs one after another. It makes its scratch at first use and keeps it.
type worker interface {
	solve(ctx context.Context, j job) error
	field(lane, place int) (Field, error) // of the job solved last, valid until the next call
	free()
}

// threads is the number of workers for the given number of independent jobs.
func (o Options) threads(jobs int) int {
	n := o.Threads
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	return max(1, min(n, jobs))
}

// distributeJobs distributes the jobs to workers, in ascending order, and passes the fields on. The
// first error stops all workers.
func distributeJobs(ctx context.Context, jobs []job, opt Options, newWorker func() worker, sink func(place int, f Field) error) error {
	solve := func(ctx context.Context, w worker, j job) error {
		if err := w.solve(ctx, j); err != nil {
			return err
		}
		for lane, place := range j.places {
			f, err := w.field(lane, place)
			if err == nil {
				err = sink(place, f)
			}
			if err != nil {
				return err
			}
			if opt.Progress != nil {
				opt.Progress()
			}
		}
		return nil
	}
	group, ctx := workers.WithContext(ctx)
	var next atomic.Int64
	for range opt.threads(len(jobs)) {
		group.Go(func() error {
			w := newWorker()
			defer w.free()
			for {
				if err := ctx.Err(); err != nil {
					return err
				}
				i := int(next.Add(1)) - 1
				if i >= len(jobs) {
					return nil
				}
				if err := solve(ctx, w, jobs[i]); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// placewise is the common part of methods. Most of them know each place's field by
// itself, wherever the place lies.
type placewise struct {
	name  string
	g     grid.Grid
	whole bool // fill is given memory for the whole grid whatever the window
	tau   bool // fill needs room.part and room.line

	velocity float64 // m/s, of NewAnalytic

	// fill sets the arrival of a place, one of r.p, on a window.
	fill func(b *Branch, w Window, r *room, place int) error
}

// Name implements Method.
func (m *placewise) Name() string { return m.name }

// Grid implements Method.
func (m *placewise) Grid() grid.Grid { return m.g }

// Domain implements Method: positions may lie anywhere.
func (m *placewise) Domain() *grid.Grid { return nil }

// ScratchBytes implements Method.
func (m *placewise) ScratchBytes(p *survey.Positions, places []int, opt Options) int64 {
	r := m.room(p, places, opt)
	r.counting = true
	r.allocate()
	return r.bytes
}

// room is the worker of such a method.
type room struct {
	scratch
	*placewise
	p   *survey.Positions
	opt Options

	points int         // of the largest field
	out    Branch      // of points points
	part   [][]float32 // τ and its slopes, [points]
	line   []float32   // [points along z]
}

func (m *placewise) room(p *survey.Positions, places []int, opt Options) *room {
	r := &room{placewise: m, p: p, opt: opt, points: m.g.Len()}
	if !m.whole {
		r.points = opt.mostColumns(m.g, places) * m.g.Shape[m.g.Dim()-1]
	}
	return r
}

func (r *room) allocate() {
	dim := r.g.Dim()
	r.out = takeBranch(&r.scratch, r.points, dim, r.opt)
	if r.tau {
		for range 1 + len(r.out.Gradient) {
			r.part = append(r.part, take[float32](&r.scratch, r.points))
		}
		r.line = take[float32](&r.scratch, r.g.Shape[dim-1])
	}
}

func (r *room) solve(context.Context, job) error {
	if r.out.Time == nil {
		r.allocate()
	}
	return r.err
}

func (r *room) field(_, place int) (Field, error) {
	w := r.opt.Window(r.g, place)
	points := r.points
	if !r.whole {
		points = w.count() * r.g.Shape[r.g.Dim()-1]
	}
	b := r.out.on(points)
	err := r.fill(&b, w, r, place)
	return Field{w, []Branch{b}}, err
}

// Solve implements Method, place by place.
func (m *placewise) Solve(ctx context.Context, p *survey.Positions, places []int, opt Options, sink func(place int, f Field) error) error {
	checkPlaces(m.g, p, places, opt)
	if err := checkSpreads(m, opt); err != nil {
		return err
	}
	jobs := make([]job, len(places))
	for i := range jobs {
		jobs[i].places = places[i : i+1]
	}
	return distributeJobs(ctx, jobs, opt, func() worker { return m.room(p, places, opt) }, sink)
}

func checkPlaces(g grid.Grid, p *survey.Positions, places []int, opt Options) {
	if p.Dim != g.Dim() {
		panic(fmt.Sprintf("traveltime: positions have %d columns, the grid %d axes", p.Dim, g.Dim()))
	}
	if opt.Windows != nil && (len(opt.Windows) != p.Len() || !(opt.Margin >= 0)) {
		panic(fmt.Sprintf("traveltime: %d windows with a margin of %g m for %d positions", len(opt.Windows), opt.Margin, p.Len()))
	}
	for _, i := range places {
		if i < 0 || i >= p.Len() {
			panic(fmt.Sprintf("traveltime: place %d is not one of the %d positions", i, p.Len()))
		}
		if w := opt.Window(g, i); w.empty() || !w.inside(Whole(g)) {
			panic(fmt.Sprintf("traveltime: window %v of place %d is empty or reaches outside that of the grid, %v", w, i, Whole(g)))
		}
	}
}
