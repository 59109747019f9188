package forecast

import (
	"fmt"
	"time"

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

// Rates is how fast this machine is, measured on small problems of the same kind.
type Rates struct {
	Pair  float64 // ns for a forward and an adjoint at one trace and image point
	Point float64 // ms for the traveltimes from one place, of one thread, at one point of the model
}

// Duration scales rates up to the run. It knows nothing of what else the machine will be
// doing, nor how far the tables will outgrow its caches, nor of the network; reading is
// what one reading of a rank's traces took. With a GPU it is zero: not known.
func (f *Forecast) Duration(r Rates, reading time.Duration) Duration {
	p := f.plan
	if p.Card != nil {
		return Duration{}
	}
	d := Duration{Iteration: time.Duration(r.Pair * float64(f.Work[1]))}
	if n := len(p.Classes.Windows); n > 0 {
		d.Iteration *= time.Duration(n) // each class of angles takes every trace
	}
	rounds := p.Config.Solver.Iterations + 1
	if p.TwoLevel() {
		if c := p.Coarsened(); c != nil { // on which tiles are wide and a point takes twice as long
			d.Iteration += time.Duration(2 * float64(p.Config.Solver.CoarseIterations) / c.Volume() * float64(d.Iteration))
		}
		rounds++
	}
	if p.Matches() {
		rounds = 3 // three adjoints, two forwards
	}
	if g := p.Times.Domain(); g != nil {
		d.Traveltimes = time.Duration(r.Point * 1e6 * float64(g.Len()) * float64(p.Places.Len()) / float64(p.Threads))
	}
	m := f.Memory
	if m.Recompute && m.Coarse == 0 {
		d.Iteration += d.Traveltimes // a pass makes tables once for both directions
		if !m.Stream {
			d.Iteration += d.Traveltimes
		}
	}
	d.Total = d.Traveltimes + time.Duration(rounds)*d.Iteration
	if m.Stream {
		d.Reading, d.Readings = reading, p.Readings()
		d.Total += time.Duration(d.Readings-1)*d.Iteration + time.Duration(d.Readings)*max(0, d.Reading-d.Iteration)
	}
	return d
}
