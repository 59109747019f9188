package traveltime

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/pages"
	"github.com/kirchhoff-lsm/lsm/survey"
	"golang.org/x/sync/errgroup"
)

// threads is the number of workers for the given number of independent jobs.
func (o Options) threads(jobs int) int {
	n := o.Threads
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	return max(1, min(n, jobs))
}

// pool runs jobs 0..n-1 on a number of workers, each with its own scratch made
// by newWorker. Jobs are taken in rising order; the first error stops all.
func pool(ctx context.Context, workers, n int, newWorker func() (job func(i int) error, done func())) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range workers {
		group.Go(func() error {
			job, done := newWorker()
			defer done()
			for {
				if err := ctx.Err(); err != nil {
					return err
				}
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if err := job(i); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// counter calls progress once per finished place, one call at a time.
type counter struct {
	mu       sync.Mutex
	done     int
	total    int
	progress func(done, total int)
}

func (c *counter) add() {
	if c.progress == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done++
	c.progress(c.done, c.total)
}

// room is one worker's scratch, made at first use: a field, and what a method adds.
type room struct {
	pages.Arena
	field Field
	part  [][]float32 // of Coarse
	line  []float32
}

// eachPlace solves place by place: fill computes the field of one place into
// that of the room, whose slices it may overwrite but not keep.
func eachPlace(ctx context.Context, g grid.Grid, p *survey.Positions, places []int, opt Options,
	fill func(r *room, place int) error, sink func(place int, f Field) error) error {
	checkPlaces(g, p, places)
	count := counter{total: len(places), progress: opt.Progress}
	return pool(ctx, opt.threads(len(places)), len(places), func() (func(int) error, func()) {
		r := &room{}
		return func(i int) (err error) {
			if r.field.Time == nil {
				if r.field, err = fieldIn(&r.Arena, g, opt.Gradient); err != nil {
					return fmt.Errorf("traveltime: %w", err)
				}
			}
			if err := fill(r, places[i]); err != nil {
				return err
			}
			if err := sink(places[i], r.field); err != nil {
				return err
			}
			count.add()
			return nil
		}, r.Free
	})
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
