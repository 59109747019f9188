package traveltime

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/pages"
	"github.com/kirchhoff-lsm/lsm/survey"
	"golang.org/x/sync/errgroup"
)

// scratch is a worker's memory. It lies outside Go's heap, which would let that of one
// Solve stand beside that of the next.
type scratch struct {
	memory   pages.Arena
	counting bool  // no memory is taken, its bytes are counted alone
	bytes    int64 // asked for so far
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

// takeField makes a field on g.
func takeField(s *scratch, g grid.Grid, gradient bool) (f Field) {
	f.Time = take[float64](s, g.Len())
	for range g.Dim() {
		if gradient {
			f.Gradient = append(f.Gradient, take[float64](s, g.Len()))
		}
	}
	return f
}

func (s *scratch) free() { s.memory.Free() }

// job is a number of places that are solved together. Eikonal does it in a batch of so
// many lanes.
type job struct {
	places []int
	lanes  int
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

// work distributes the jobs to workers, in ascending order, and passes the fields on. The
// first error stops all workers.
func work(ctx context.Context, jobs []job, opt Options, newWorker func() worker, sink func(place int, f Field) error) error {
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
	group, ctx := errgroup.WithContext(ctx)
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

// placewise is what methods share, most of which know each place's field by itself,
// wherever the place lies.
type placewise struct {
	name string
	g    grid.Grid
	fill func(r *room, p *survey.Positions, place int) error // sets the field of a place
}

// Name implements Method.
func (m *placewise) Name() string { return m.name }

// Grid implements Method.
func (m *placewise) Grid() grid.Grid { return m.g }

// Domain implements Method: positions may lie anywhere.
func (m *placewise) Domain() *grid.Grid { return nil }

// ScratchBytes implements Method: a field.
func (m *placewise) ScratchBytes(gradient bool) int64 {
	if gradient {
		return 8 * int64(m.g.Len()) * int64(1+m.g.Dim())
	}
	return 8 * int64(m.g.Len())
}

// room is the worker of such a method.
type room struct {
	scratch
	*placewise
	p        *survey.Positions
	gradient bool

	out  Field
	part [][]float32 // of Coarse
	line []float32
}

func (r *room) solve(context.Context, job) error {
	if r.out.Time == nil {
		r.out = takeField(&r.scratch, r.g, r.gradient)
	}
	return r.err
}

func (r *room) field(_, place int) (Field, error) { return r.out, r.fill(r, r.p, place) }

// Solve implements Method, place by place.
func (m *placewise) Solve(ctx context.Context, p *survey.Positions, places []int, opt Options, sink func(place int, f Field) error) error {
	checkPlaces(m.g, p, places)
	jobs := make([]job, len(places))
	for i := range jobs {
		jobs[i].places = places[i : i+1]
	}
	return work(ctx, jobs, opt, func() worker { return &room{placewise: m, p: p, gradient: opt.Gradient} }, sink)
}

func checkPlaces(g grid.Grid, p *survey.Positions, places []int) {
	if p.Dim != g.Dim() {
		panic(fmt.Sprintf("traveltime: positions have %d columns, the grid %d axes", p.Dim, g.Dim()))
	}
	for _, i := range places {
		if i < 0 || i >= p.Len() {
			panic(fmt.Sprintf("traveltime: place %d is not one of the %d positions", i, p.Len()))
		}
	}
}
