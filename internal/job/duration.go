package job

import (
	"context"
	"fmt"
	"time"

	"github.com/kirchhoff-lsm/lsm/internal/bench"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// Duration is about what a run takes on this machine.
type Duration struct {
	Traveltimes time.Duration
	Iteration   time.Duration // one forward and one adjoint
	Reading     time.Duration // of all traces once, where they are streamed
	Readings    int           // how often they are read
	Total       time.Duration
}

func (d Duration) String() string {
	if d == (Duration{}) {
		return "not estimated for a GPU"
	}
	r := func(t time.Duration) time.Duration {
		switch {
		case t < 100*time.Millisecond:
			return t.Round(100 * time.Microsecond)
		case t < 10*time.Second:
			return t.Round(10 * time.Millisecond)
		case t < 10*time.Minute:
			return t.Round(time.Second)
		}
		return t.Round(time.Minute)
	}
	s := fmt.Sprintf("about %v: traveltimes %v, %v an iteration", r(d.Total), r(d.Traveltimes), r(d.Iteration))
	if d.Readings > 0 {
		s += fmt.Sprintf("; traces are read %s, each in an iteration more and in no less than %v", readable.Count(d.Readings, "time"), r(d.Reading))
	}
	return s
}

// EstimateDuration measures the engine and the eikonal solver on small problems
// of the same kind, which takes part of a second, and scales them up. It knows
// nothing of what else the machine will be doing, nor how far the tables will
// outgrow its caches, nor of the network. With a GPU it is zero: not known.
func (j *Job) EstimateDuration(ctx context.Context, plan *Plan) (Duration, error) {
	if j.card != nil {
		return Duration{}, nil
	}
	dim, threads := j.Image.Dim(), j.Host.Threads()
	shape, times := []int{96, 96}, []int{96, 96}
	if dim == 3 {
		shape, times = []int{24, 24, 24}, []int{24, 24, 24}
	}
	k, err := bench.Kernel(ctx, bench.KernelSize{
		Shape: shape, Sources: 8, Receivers: 32, Samples: 500, Wavelet: len(j.Wavelet.Samples),
		Dynamic: j.Config.Kirchhoff.Dynamic, Engine: j.Engine, Threads: threads, Runs: 1,
	})
	if err != nil {
		return Duration{}, err
	}
	d := Duration{Iteration: time.Duration((k.Forward + k.Adjoint) * float64(plan.Work[1]))}
	if n := len(j.windows); n > 0 {
		d.Iteration *= time.Duration(n) // each class of angles takes every trace
	}
	rounds := j.Config.Solver.Iterations + 1
	if j.twoLevels() {
		if c := j.coarsened(); c != nil { // on which tiles are wide and a point takes twice as long
			d.Iteration += time.Duration(2 * float64(j.Config.Solver.CoarseIterations) / c.Volume() * float64(d.Iteration))
		}
		rounds++
	}
	if j.matches() {
		rounds = 3 // three adjoints, two forwards
	}
	if g := j.Times.Domain(); g != nil {
		e, err := bench.Traveltimes(ctx, times, 16*threads, threads, 1)
		if err != nil {
			return Duration{}, err
		}
		points := float64(g.Len()) / float64(e.Points)
		d.Traveltimes = time.Duration(e.PerSource * 1e6 * points * float64(j.Places.Len()) / float64(threads))
	}
	m := plan.Memory
	if m.Recompute && m.Coarse == 0 {
		d.Iteration += d.Traveltimes // a pass makes tables once for both directions
		if !m.Stream {
			d.Iteration += d.Traveltimes
		}
	}
	d.Total = d.Traveltimes + time.Duration(rounds)*d.Iteration
	if m.Stream {
		d.Reading, d.Readings = j.found.took, j.readings()
		d.Total += time.Duration(d.Readings-1)*d.Iteration + time.Duration(d.Readings)*max(0, d.Reading-d.Iteration)
	}
	return d, nil
}
